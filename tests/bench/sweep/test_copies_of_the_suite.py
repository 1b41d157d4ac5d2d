"""No working copy holds the suite or a proposal, wherever in a source a copy of it lies and whatever it is called."""

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bench.cancellation import Cancellation
from bench.config import load_config
from bench.errors import WorkspaceError
from bench.project import unpack_starter
from bench.sweep import open_ground

GIT = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
REVIEW, WORK = "review-expiry-alerts", "fix-late-orders"
SUITE = Path("suites/starter")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return unpack_starter(tmp_path)


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@t")
    subprocess.run(["git", *identity, *arguments], cwd=folder, env=GIT, check=True)


def commit_as_base(root: Path) -> None:
    """What lies there is the commit that every task starts from."""
    git(root, "add", "-A", "-f", ".")
    git(root, "commit", "-qm", "copies")
    git(root, "tag", "-f", "starter-base")


def template(root: Path, task: str, *overrides: str) -> Path:
    """The working tree of a task's template."""
    command = "evolve" if overrides else "bench"
    words = ["arms=implementation", *overrides] if task == WORK else overrides
    words = [*words, f"sandbox.scratch={root.parent}"]
    config, _ = load_config(words, root=root, command=command)
    with Cancellation() as cancellation, open_ground(config, root, (), cancellation) as ground:
        built = ground.templates.build(next(each for each in ground.tasks if each.id == task))
        kept = root.parent / "kept"
        shutil.copytree(built.tree, kept, symlinks=True)
    return kept


def paths_with(tree: Path, contents: Sequence[bytes]) -> list[str]:
    files = (path for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(path.relative_to(tree).as_posix() for path in files if path.read_bytes() in contents)


def hidden_files(root: Path) -> list[bytes]:
    return [path.read_bytes() for path in [root / SUITE / "suite.yaml", *(root / SUITE / "labels").iterdir()]]


def rename_whole(root: Path) -> None:
    shutil.copytree(root / SUITE, root / "larder" / "data")


def rename_and_edit(root: Path) -> None:
    """An older state of the suite under another name: its labels are not those of today."""
    old = root / "old"
    shutil.copytree(root / SUITE, old)
    manifest = old / "suite.yaml"
    manifest.write_text(
        manifest.read_text().replace("name: starter", "name: ours").replace("train", "holdout")
    )
    for labels in (old / "labels").iterdir():
        labels.write_text(labels.read_text().replace("critical", "high") + "\n")


def scatter(root: Path) -> None:
    for number, content in enumerate(hidden_files(root)):
        (root / "larder" / f"part{number}.bin").write_bytes(content)


COPIES: tuple[Callable[[Path], None], ...] = (rename_whole, rename_and_edit, scatter)


@pytest.mark.parametrize("copy", COPIES)
def test_a_committed_copy_of_the_suite_is_in_no_template(root: Path, copy: Callable[[Path], None]) -> None:
    copy(root)
    commit_as_base(root)
    shown = template(root, REVIEW)
    assert paths_with(shown, hidden_files(root)) == []
    assert list(shown.rglob("labels")) == []
    assert list(shown.rglob("part*.bin")) == []
    assert (shown / "larder" / "stock.py").is_file()
    assert (shown / "tests" / "__init__.py").read_bytes() == (root / "tests" / "__init__.py").read_bytes()


def test_another_clone_as_the_source_shows_no_label(root: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(root), "clone")
    manifest = root / SUITE / "suite.yaml"
    manifest.write_text(
        manifest.read_text().replace("repository: ../..", f"repository: {tmp_path / 'clone'}")
    )
    shown = template(root, REVIEW)
    assert not (shown / "suites").exists()
    assert (shown / "larder" / "stock.py").is_file()


def test_a_copy_in_a_plain_folder_is_in_no_template(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root, tmp_path / "plain", ignore=shutil.ignore_patterns(".git", "runs", ".claude"))
    manifest = root / SUITE / "suite.yaml"
    source = "{repository: ../.., ref: starter-base}"
    manifest.write_text(manifest.read_text().replace(source, f"{{tree: {tmp_path / 'plain'}}}"))
    shown = template(root, REVIEW)
    assert not (shown / "suites").exists()
    assert (shown / "larder" / "stock.py").is_file()


def test_a_hidden_test_that_lies_open_in_its_own_source_is_refused(root: Path) -> None:
    for name in ("check.py", f"{WORK}.toml"):
        shutil.copy(root / SUITE / "oracles" / name, root / "tools")
    commit_as_base(root)
    with pytest.raises(WorkspaceError, match=f"hidden test of task '{WORK}' lies open.*tools/check.py"):
        template(root, WORK)


def test_a_file_that_a_hidden_test_shares_with_its_source_stays(root: Path) -> None:
    shutil.copy(root / SUITE / "oracles" / "check.py", root / "tools")
    commit_as_base(root)
    assert (template(root, WORK) / "tools" / "check.py").is_file()


def test_a_committed_overlay_is_in_no_template(root: Path) -> None:
    skill = Path(".claude/skills/code-review/SKILL.md")
    text = (root / skill).read_text() + "\nLook for the needle in every haystack.\n"
    for place in ("ideas/mine", "larder/spare"):
        (root / place / skill).parent.mkdir(parents=True)
        (root / place / skill).write_text(text)
    (root / "ideas" / "proposal.md").write_text("Why the needle is looked for.\n")
    commit_as_base(root)
    shown = template(root, REVIEW, "proposer=manual", "proposer.options.overlay=ideas/mine")
    assert paths_with(shown, [text.encode()]) == []
    assert not (shown / "ideas").exists()
