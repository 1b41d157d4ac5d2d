"""A template holds exactly what a task may show, as a repository with one commit and no past."""

import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from workspace_builders import (
    SECRET,
    build,
    commit_all,
    commit_exactly,
    committed,
    everything_readable,
    git,
    head,
    make_repository,
    make_task,
    plain,
    run_on_host,
    state_of,
    text,
    write_files,
)

from bench.errors import WorkspaceError
from bench.sandbox import ProcessResult
from bench.suite import Asset, Source, Task
from bench.workspace import Templates
from bench.workspace.base import verify_repository
from bench.workspace.git import Repository

FILES = {b"a.py": b"one\ntwo\n", b"src/b.py": b"x = 1\n", b"docs/c.md": b"# Text\n"}
PATCH = b"""\
diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1,2 +1,2 @@
 one
-two
+TWO
diff --git a/docs/c.md b/docs/c.md
deleted file mode 100644
--- a/docs/c.md
+++ /dev/null
@@ -1 +0,0 @@
-# Text
diff --git a/new/run.sh b/new/run.sh
new file mode 100755
--- /dev/null
+++ b/new/run.sh
@@ -0,0 +1 @@
+exit 0
"""
# Of the same size as the original, so that only the time of the file tells git to look.


def test_a_template_is_one_parentless_commit_on_a_clean_branch_without_a_past(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository", FILES)
    git(repository, "commit", "--quiet", "--allow-empty", "--message", "second")
    template = build(tmp_path, committed(repository))
    assert state_of(template.tree) == {path: ("file", content) for path, content in FILES.items()}
    assert text(git(template.tree, "rev-list", "--all", "--parents")) == template.commit
    assert text(git(template.tree, "symbolic-ref", "HEAD")) == "refs/heads/main"
    assert git(template.tree, "status", "--porcelain") == b""
    assert (
        git(template.tree, "remote") + git(template.tree, "reflog") + git(template.tree, "stash", "list")
        == b""
    )
    assert not (template.tree / ".git" / "hooks").exists()
    assert template.base_commit == text(git(repository, "rev-parse", "HEAD")) != template.commit


def test_equal_content_gives_an_equal_commit_whatever_its_history(tmp_path: Path) -> None:
    one = make_repository(tmp_path / "one", FILES)
    other = make_repository(tmp_path / "other", {b"gone": b"x"})
    (other / "gone").unlink()
    write_files(other, FILES)
    commit_all(other)
    folder = tmp_path / "plain"
    folder.mkdir()
    write_files(folder, FILES)
    sources: list[Source] = [committed(one), committed(other), plain(folder)]
    commits = {build(tmp_path / str(number), source).commit for number, source in enumerate(sources)}
    assert len(commits) == 1


def test_nothing_of_the_past_of_a_repository_can_be_found_in_its_template(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository", {**FILES, b"past": SECRET + b" earlier"})
    git(repository, "tag", "--annotate", "v1", "--message", "tag " + SECRET.decode())
    (repository / "past").unlink()
    now = commit_all(repository)
    (repository / "a.py").write_bytes(SECRET + b" stashed")
    git(repository, "stash")
    (repository / "a.py").write_bytes(SECRET + b" dropped")
    commit_all(repository)
    git(repository, "reset", "--quiet", "--hard", now)
    git(repository, "hash-object", "-w", "--stdin", stdin=SECRET + b" unreachable")
    git(repository, "remote", "add", "origin", "https://example.invalid/" + SECRET.decode())
    git(repository, "notes", "add", "--message", SECRET.decode())
    git(repository, "branch", SECRET.decode())
    git(repository, "repack", "-a", "-d", "-k")
    (repository / "uncommitted").write_bytes(SECRET)
    template = build(tmp_path, committed(repository, now))
    assert SECRET not in everything_readable(template)
    assert SECRET in git(repository, "cat-file", "--batch-all-objects", "--batch"), (
        "the secret was never there"
    )


def test_a_repository_that_holds_more_than_its_commit_is_refused(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository", FILES)
    template = build(tmp_path, committed(repository))
    sanitized = Repository(template.tree / ".git", work_tree=template.tree)
    verify_repository(sanitized, template.commit)
    blob = text(git(template.tree, "hash-object", "-w", "--stdin", stdin=SECRET))
    with pytest.raises(WorkspaceError, match="1 objects that differ"):
        verify_repository(sanitized, template.commit)
    place = template.tree / ".git" / "objects" / blob[:2] / blob[2:]
    place.unlink()
    place.parent.rmdir()
    (template.tree / ".git" / "ORIG_HEAD").write_text(head(repository))
    with pytest.raises(WorkspaceError, match=r"not clean.*ORIG_HEAD"):
        verify_repository(sanitized, template.commit)


def test_a_machine_without_git_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = make_repository(tmp_path / "repository", FILES)
    source = committed(repository)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorkspaceError, match="git is not installed"):
        build(tmp_path, source)


def test_excluded_paths_are_neither_in_the_tree_nor_among_the_objects(tmp_path: Path) -> None:
    hidden = {b"suites/wild/labels.json": SECRET, b".claude/skills/x/SKILL.md": SECRET, b"runs/1": SECRET}
    shown = {b"suites/readme": b"1", b".claude/settings": b"2", b"runs2/x": b"3"}
    repository = make_repository(tmp_path / "repository", {**hidden, **shown})
    templates = Templates(tmp_path / "templates", None, (".claude/skills",))
    for source in (committed(repository), plain(repository)):
        template = templates.build(make_task(source), ("suites/wild/", "runs"))
        assert SECRET not in everything_readable(template)
        assert sorted(state_of(template.tree)) == sorted(shown)


def test_git_leaves_skills_alone_that_are_put_into_a_template_later(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository", FILES)
    templates = Templates(tmp_path / "templates", None, (".claude/skills", "odd[1]*/skills"))
    tree = templates.build(make_task(committed(repository))).tree
    for root in (".claude/skills", "odd[1]*/skills"):
        write_files(tree, {f"{root}/review/SKILL.md".encode(): b"skill"})
    write_files(tree, {b"odd1x/skills/other": b"not a skill"})
    assert text(git(tree, "status", "--porcelain", "--untracked-files=all")) == "?? odd1x/skills/other"


def test_bytes_modes_links_and_names_are_exact(tmp_path: Path) -> None:
    files = {
        b"crlf.txt": b"one\r\ntwo\r\n",
        b"mixed.txt": b"one\r\ntwo\n",
        b"id.txt": b"$Id$\n",
        b"wide.txt": "text".encode("utf-16"),
        b"pointer.bin": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n",
        b"odd \xff\xfe name": b"1",
        b'new\nline "quoted" \\ \t': b"2",
        b"deep/er/and/deeper": b"",
        b"binary": bytes(range(256)),
    }
    repository = make_repository(tmp_path / "repository", files)
    write_files(
        repository,
        {
            b".gitattributes": b"*.txt text eol=crlf\nid.txt ident\nwide.txt working-tree-encoding=UTF-16\n"
            b"*.bin filter=lfs diff=lfs merge=lfs -text\n"
        },
    )
    (repository / "run.sh").write_bytes(b"exit\n")
    (repository / "run.sh").chmod(0o755)
    (repository / "dangling").symlink_to("no/where")
    (repository / "absolute").symlink_to("/etc/passwd")
    commit_exactly(repository)
    template = build(tmp_path, committed(repository))
    assert state_of(template.tree) == state_of(repository)
    assert git(template.tree, "status", "--porcelain") == b""
    listed = git(template.tree, "ls-tree", "-r", "-z", "HEAD")
    assert listed == git(repository, "ls-tree", "-r", "-z", "HEAD")


def test_submodules_are_empty_folders(tmp_path: Path) -> None:
    inner = make_repository(tmp_path / "inner", {b"file": SECRET})
    repository = make_repository(tmp_path / "repository", FILES)
    git(repository, "submodule", "--quiet", "add", str(inner), "vendor/inner")
    commit_all(repository)
    template = build(tmp_path, committed(repository))
    assert (template.tree / "vendor" / "inner").is_dir()
    assert list((template.tree / "vendor" / "inner").iterdir()) == []
    assert SECRET not in everything_readable(template)
    assert git(template.tree, "status", "--porcelain") == b""


@pytest.mark.parametrize("kind", ["shallow", "bare", "shared", "worktree", "submodule", "sha256"])
def test_every_kind_of_repository_can_be_a_source(tmp_path: Path, kind: str) -> None:
    origin = make_repository(
        tmp_path / "origin", {b"first": b"1"}, *(["--object-format=sha256"] if kind == "sha256" else [])
    )
    write_files(origin, FILES)
    commit = commit_all(origin)
    place = tmp_path / "source"
    match kind:
        case "shallow":
            git(tmp_path, "clone", "--quiet", "--depth=1", origin.as_uri(), str(place))
        case "bare":
            git(tmp_path, "clone", "--quiet", "--bare", str(origin), str(place))
        case "shared":
            git(tmp_path, "clone", "--quiet", "--shared", str(origin), str(place))
        case "worktree":
            git(origin, "worktree", "add", "--quiet", "--detach", str(place))
        case "submodule":
            outer = make_repository(tmp_path / "outer", {b"x": b"x"})
            git(outer, "submodule", "--quiet", "add", str(origin), "inner")
            place = outer / "inner"
        case _:
            place = origin
    template = build(tmp_path, committed(place, commit))
    assert sorted(state_of(template.tree)) == sorted([b"first", *FILES])
    assert template.base_commit == commit
    assert len(template.commit) == 40


def test_a_repository_of_another_owner_is_read_and_its_template_is_ours(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    repository = make_repository(tmp_path / "repository", FILES)
    commit = committed(repository)
    for path in (repository, *repository.rglob("*")):
        os.lchown(path, 65534, 65534)
    template = build(tmp_path, commit)
    assert {path.lstat().st_uid for path in template.tree.rglob("*")} == {os.geteuid()}


def test_nothing_that_a_repository_configures_is_executed(tmp_path: Path) -> None:
    repository = make_repository(
        tmp_path / "repository", {**FILES, b".gitattributes": b"* filter=evil diff=evil\n"}
    )
    marker = tmp_path / "executed"
    evil = f"touch {marker}; cat"
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\n{evil}\n")
    script.chmod(0o755)
    included = tmp_path / "included"
    included.write_text(f"[core]\n\tpager = {evil}\n\teditor = {evil}\n")
    for name, value in {
        "core.fsmonitor": str(script),
        "core.hooksPath": str(tmp_path / "hooks"),
        "core.sshCommand": str(script),
        "core.alternateRefsCommand": str(script),
        "core.gitProxy": str(script),
        "filter.evil.clean": evil,
        "filter.evil.smudge": evil,
        "filter.evil.process": str(script),
        "filter.evil.required": "true",
        "diff.evil.command": str(script),
        "diff.evil.textconv": str(script),
        "diff.external": str(script),
        "remote.origin.url": f"ext::{script}",
        "remote.origin.uploadpack": str(script),
        "remote.origin.promisor": "true",
        "protocol.ext.allow": "always",
        "include.path": str(included),
        "extensions.partialClone": "origin",
        "core.repositoryFormatVersion": "1",
    }.items():
        git(repository, "config", name, value)
    for folder in (tmp_path / "hooks", repository / ".git" / "hooks"):
        folder.mkdir(exist_ok=True)
        for hook in (
            "post-checkout",
            "post-index-change",
            "reference-transaction",
            "pre-auto-gc",
            "post-commit",
        ):
            (folder / hook).write_text(script.read_text())
            (folder / hook).chmod(0o755)
    commit = text((repository / ".git" / "refs" / "heads" / "trunk").read_bytes())
    template = build(tmp_path, committed(repository, commit), change=PATCH)
    assert state_of(template.tree)[b"a.py"] == ("file", b"one\nTWO\n")
    assert not marker.exists()


def test_a_missing_file_of_a_partial_clone_is_said_and_not_fetched(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository", FILES)
    commit = committed(repository)
    marker = tmp_path / "executed"
    for name, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": str(repository),
        "remote.origin.uploadpack": f"touch {marker}; git-upload-pack",
    }.items():
        git(repository, "config", name, value)
    blob = text(git(repository, "rev-parse", "HEAD:a.py"))
    (repository / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(WorkspaceError, match=r"not complete.*fetch --refetch"):
        build(tmp_path, commit)
    assert not marker.exists()


def test_the_environment_and_configuration_of_the_caller_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = make_repository(tmp_path / "repository", FILES)
    source = committed(repository)
    expected = build(tmp_path / "1", source, change=PATCH)
    (tmp_path / ".gitconfig").write_text(
        "[core]\n\tautocrlf = true\n\teol = crlf\n[apply]\n\twhitespace = fix\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"):
        monkeypatch.setenv(name, str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.autocrlf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "true")
    template = build(tmp_path / "2", source, change=PATCH)
    assert template.commit == expected.commit
    assert state_of(template.tree) == state_of(expected.tree)


@pytest.mark.parametrize(
    ("path", "mode"), [(b"..", b"40000"), (b".git", b"40000"), (b".GIT", b"40000"), (b".", b"40000")]
)
def test_a_tree_that_leads_out_of_its_folder_is_refused(tmp_path: Path, path: bytes, mode: bytes) -> None:
    repository = make_repository(tmp_path / "repository", {b"config": b"[core]\n"})
    inner = bytes.fromhex(text(git(repository, "rev-parse", "HEAD^{tree}")))
    commit = _commit_of(repository, mode + b" " + path + b"\0" + inner)
    with pytest.raises(WorkspaceError, match="not a path inside a tree"):
        build(tmp_path, committed(repository, commit))


def test_a_tree_with_a_link_and_a_folder_of_one_name_writes_nothing_through_the_link(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository", {b"file": b"pwned"})
    outside = tmp_path / "outside"
    outside.mkdir()
    link = bytes.fromhex(text(git(repository, "hash-object", "-w", "--stdin", stdin=os.fsencode(outside))))
    inner = bytes.fromhex(text(git(repository, "rev-parse", "HEAD^{tree}")))
    commit = _commit_of(repository, b"120000 a\0" + link + b"40000 a\0" + inner)
    with pytest.raises(WorkspaceError, match="cannot be written here"):
        build(tmp_path, committed(repository, commit))
    assert list(outside.iterdir()) == []


def _commit_of(repository: Path, tree: bytes) -> str:
    name = text(git(repository, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=tree))
    return text(git(repository, "commit-tree", "-m", "hostile", name))


@pytest.mark.parametrize(
    ("commit", "message"), [("0" * 40, "cannot be read.*fetch it"), ("f" * 64, "cannot be read.*fetch it")]
)
def test_a_commit_that_is_not_there_is_said(tmp_path: Path, commit: str, message: str) -> None:
    repository = make_repository(tmp_path / "repository", FILES)
    with pytest.raises(WorkspaceError, match=message):
        build(tmp_path, committed(repository, commit))


def test_what_is_no_repository_or_no_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="is not a git repository"):
        build(tmp_path, committed(tmp_path, "0" * 40))
    with pytest.raises(WorkspaceError, match="is not a folder"):
        build(tmp_path, plain(tmp_path / "nowhere"))


def test_a_plain_folder_loses_every_git_folder_and_is_left_as_it_was(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "folder", FILES)
    make_repository(folder / "vendor" / "inner", {b"kept": b"kept", b"past": SECRET})
    (folder / "vendor" / "inner" / "past").unlink()
    commit_all(folder / "vendor" / "inner")
    (folder / "closed").mkdir()
    (folder / "closed" / "file").write_bytes(b"x")
    (folder / "closed").chmod(0o555)
    before = {path: path.lstat().st_mode for path in folder.rglob("*")}
    template = build(tmp_path, plain(folder))
    assert sorted(state_of(template.tree)) == sorted([*FILES, b"closed/file", b"vendor/inner/kept"])
    assert SECRET not in everything_readable(template)
    assert {path: path.lstat().st_mode for path in folder.rglob("*")} == before
    assert template.base_commit == "digest-of-the-folder"


def test_a_pipe_in_a_plain_folder_is_refused_and_not_opened(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    with pytest.raises(WorkspaceError, match=r"pipe.*no file, link or folder"):
        build(tmp_path, plain(folder))


def test_a_change_is_left_uncommitted_and_git_sees_all_of_it(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository", FILES)
    template = build(tmp_path, committed(repository), change=PATCH)
    assert state_of(template.tree) == {
        b"a.py": ("file", b"one\nTWO\n"),
        b"src/b.py": ("file", b"x = 1\n"),
        b"new/run.sh": ("program", b"exit 0\n"),
    }
    assert not (template.tree / "docs").exists()
    status = git(template.tree, "status", "--porcelain", "--untracked-files=all")
    assert status == b" M a.py\n D docs/c.md\n?? new/run.sh\n"
    assert git(template.tree, "show", "HEAD:a.py") == FILES[b"a.py"]
    assert b"TWO" not in git(template.tree, "cat-file", "--batch-all-objects", "--batch")


def test_a_change_of_everything_leaves_all_files_untracked_over_an_empty_commit(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository", FILES)
    template = build(tmp_path, committed(repository), change="all")
    assert git(template.tree, "ls-tree", "-r", "HEAD") == b""
    status = git(template.tree, "status", "--porcelain", "--untracked-files=all")
    assert sorted(status.splitlines()) == sorted(b"?? " + path for path in FILES)
    assert state_of(template.tree) == {path: ("file", content) for path, content in FILES.items()}


def test_conversions_that_a_source_asks_for_do_not_touch_a_change(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository", {b"a.py": b"one\ntwo\n", b"docs/c.md": b"# Text\n"})
    write_files(repository, {b".gitattributes": b"* text eol=crlf ident\n"})
    commit_all(repository)
    template = build(tmp_path, committed(repository), change=PATCH.replace(b"+TWO", b"+$Id$"))
    assert state_of(template.tree)[b"a.py"] == ("file", b"one\n$Id$\n")
    assert state_of(template.tree)[b"new/run.sh"] == ("program", b"exit 0\n")


def test_a_change_can_swap_files_folders_and_links(tmp_path: Path) -> None:
    repository = make_repository(
        tmp_path / "repository", {b"file": b"1", b"folder/inner/x": b"2", b"other/y": b"3", b"kept": b"4"}
    )
    source = committed(repository)
    (repository / "file").unlink()
    write_files(repository, {b"file/inside": b"5"})
    for name in ("folder/inner/x", "other/y"):
        (repository / name).unlink()
    (repository / "folder" / "inner").rmdir()
    (repository / "folder").rmdir()
    (repository / "other").rmdir()
    (repository / "folder").write_bytes(b"6")
    (repository / "other").symlink_to("kept")
    git(repository, "add", "--all")
    patch = git(repository, "diff", "--cached", "--binary", "--full-index", "--no-renames")
    assert state_of(build(tmp_path, source, change=patch).tree) == state_of(repository)


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (PATCH.replace(b"-two", b"-three"), r"'a-task' does not apply.*a\.py:1"),
        (PATCH.replace(b"docs/c.md", b"docs/d.md"), r"docs/d\.md: does not exist"),
        (PATCH[:72], "corrupt patch at line"),
        (b"no patch at all", "No valid patches"),
        (PATCH.replace(b"new/run.sh", b".git/hooks/post-checkout"), "invalid path"),
        (PATCH.replace(b"new/run.sh", b"../outside"), "invalid path"),
    ],
)
def test_a_change_that_does_not_fit_is_said_with_its_place(
    tmp_path: Path, patch: bytes, message: str
) -> None:
    repository = make_repository(tmp_path / "repository", FILES)
    with pytest.raises(WorkspaceError, match=message):
        build(tmp_path, committed(repository), change=patch)


def test_parts_of_a_change_for_excluded_paths_are_left_out(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository", FILES)
    template = build(tmp_path, committed(repository), ("docs", "new"), change=PATCH)
    assert sorted(state_of(template.tree)) == [b"a.py", b"src/b.py"]
    assert state_of(template.tree)[b"a.py"] == ("file", b"one\nTWO\n")
    nothing_left = build(tmp_path / "2", committed(repository), ("docs", "new", "a.py"), change=PATCH)
    assert sorted(state_of(nothing_left.tree)) == [b"src/b.py"]


def test_assets_are_copied_in_place_of_what_is_at_their_target(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository", FILES)
    (tmp_path / "data").mkdir()
    write_files(tmp_path / "data", {b"one": b"1", b"deep/two": b"2"})
    (tmp_path / "data" / "link").symlink_to("one")
    (tmp_path / "tool").write_bytes(b"tool")
    (tmp_path / "tool").chmod(0o755)
    assets = (
        Asset(tmp_path / "data", "docs", "d1"),
        Asset(tmp_path / "tool", "src/b.py", "d2"),
        Asset(tmp_path / "tool", "bin/new/tool", "d3"),
    )
    template = build(tmp_path, committed(repository), assets=assets)
    assert state_of(template.tree) == {
        b"a.py": ("file", b"one\ntwo\n"),
        b"docs/one": ("file", b"1"),
        b"docs/deep/two": ("file", b"2"),
        b"docs/link": ("link", b"one"),
        b"src/b.py": ("program", b"tool"),
        b"bin/new/tool": ("program", b"tool"),
    }
    assert text(git(template.tree, "status", "--porcelain", "src")) == "M src/b.py"


@pytest.mark.parametrize("target", ["../out", "/out", ".git/config", "a/./b", "", "away/file"])
def test_an_asset_cannot_be_put_outside_the_tree(tmp_path: Path, target: str) -> None:
    repository = make_repository(tmp_path / "repository", FILES)
    outside = tmp_path / "outside"
    outside.mkdir()
    (repository / "away").symlink_to(outside)
    commit_all(repository)
    (tmp_path / "tool").write_bytes(b"tool")
    with pytest.raises(WorkspaceError):
        build(tmp_path, committed(repository), assets=(Asset(tmp_path / "tool", target, "d"),))
    assert list(outside.iterdir()) == []


def test_a_setup_command_changes_the_files_and_never_the_repository(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository", FILES)
    templates = Templates(tmp_path / "templates", run_on_host)
    before = templates.build(make_task(committed(repository)))
    setup = (
        "echo made > made && echo more >> a.py && git add -A && git -c user.name=x -c user.email=y commit -qm x "
        "&& git config core.fsmonitor evil && echo hook > .git/hooks-x && mkdir closed && chmod 000 closed"
    )
    after = templates.build(make_task(committed(repository), setup=setup))
    assert state_of(after.tree)[b"a.py"] == ("file", b"one\ntwo\nmore\n")
    assert after.commit == before.commit == text(git(after.tree, "rev-list", "--all"))
    assert git(after.tree, "status", "--porcelain") == b" M a.py\n?? made\n"
    for name in ("config", "index", "HEAD"):
        assert (after.tree / ".git" / name).read_bytes() == (before.tree / ".git" / name).read_bytes()
    assert not (after.tree / ".git" / "hooks-x").exists()
    assert state_of(before.tree)[b"a.py"] == ("file", b"one\ntwo\n"), "the setup wrote into a shared file"


@pytest.mark.parametrize(
    ("setup", "message"),
    [
        ("echo broken >&2; exit 3", "'a-task' failed.*exit 3.*broken"),
        ("mkfifo pipe", "no file, link or folder.*pipe"),
    ],
)
def test_a_setup_that_fails_or_leaves_a_pipe_is_said(tmp_path: Path, setup: str, message: str) -> None:
    repository = make_repository(tmp_path / "repository", FILES)
    with pytest.raises(WorkspaceError, match=message):
        build(tmp_path, committed(repository), setup=setup)


def test_a_setup_without_anything_to_run_it_in_is_said(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository", FILES)
    with pytest.raises(WorkspaceError, match="has a setup command"):
        Templates(tmp_path / "templates").build(make_task(committed(repository), setup="true"))


def test_many_cells_at_once_get_one_template_that_was_built_once(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository", FILES)
    runs: list[str] = []
    all_asking = threading.Barrier(8)

    def setup(task: Task, tree: Path) -> ProcessResult:
        runs.append(task.id)
        return run_on_host(task, tree)

    templates = Templates(tmp_path / "templates", setup)
    task = make_task(committed(repository), setup="echo x > x")

    def ask(_: int) -> tuple[str, Path]:
        all_asking.wait()
        template = templates.build(task)
        return template.digest, template.tree

    with ThreadPoolExecutor(8) as pool:
        built = set(pool.map(ask, range(8)))
    assert len(built) == 1
    assert runs == ["a-task"]


def test_a_build_that_failed_fails_again_in_the_same_way_and_leaves_nothing(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository", FILES)
    templates = Templates(tmp_path / "templates", run_on_host)
    task = make_task(committed(repository), setup=f"echo once >> {tmp_path}/ran; exit 1")
    messages = set()
    for _ in range(2):
        with pytest.raises(WorkspaceError) as caught:
            templates.build(task)
        messages.add(str(caught.value))
    assert len(messages) == 1
    assert (tmp_path / "ran").read_text() == "once\n"
    assert [path.name for path in (tmp_path / "templates").iterdir()] == ["1"], "only the base is left"


def test_the_digest_depends_on_all_that_goes_in_and_on_no_place(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository", FILES)
    source = committed(repository)
    git(tmp_path, "clone", "--quiet", str(repository), "moved")
    (tmp_path / "asset").write_bytes(b"x")
    asset = Asset(tmp_path / "asset", "asset", "digest")
    ingredients: list[tuple[tuple[str, ...], dict[str, Any]]] = [
        ((), {}),
        (("docs",), {}),
        ((), {"change": PATCH}),
        ((), {"change": "all"}),
        ((), {"setup": "true"}),
        ((), {"assets": (asset,)}),
    ]
    digests = [
        build(tmp_path / str(number), source, excluded, **fields).digest
        for number, (excluded, fields) in enumerate(ingredients)
    ]
    with_roots = Templates(tmp_path / "roots", None, (".claude/skills",)).build(make_task(source)).digest
    assert len({*digests, with_roots}) == 7
    moved = committed(tmp_path / "moved")
    assert build(tmp_path / "again", moved, prompt="other", id="other").digest == digests[0]


def test_the_place_of_a_template_tells_nothing_about_its_task(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository", FILES)
    templates = Templates(tmp_path / "t", run_on_host)
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "1").mkdir()
    tree = templates.build(make_task(committed(repository), change=PATCH)).tree
    assert tree.relative_to(tmp_path).as_posix() == "t/3/tree"


@pytest.mark.parametrize("path", ["", ".", "/etc", "a/../b", ".git"])
def test_a_path_to_exclude_that_is_not_inside_is_refused(tmp_path: Path, path: str) -> None:
    repository = make_repository(tmp_path / "repository", FILES)
    with pytest.raises(WorkspaceError, match="not a path inside a tree"):
        build(tmp_path, committed(repository), (path,))


def test_file_modes_do_not_depend_on_the_umask(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository", FILES)
    before = os.umask(0o077)
    try:
        template = build(tmp_path, committed(repository), change=PATCH)
    finally:
        os.umask(before)
    modes = {
        stat.S_IMODE((template.tree / os.fsdecode(path)).lstat().st_mode) for path in state_of(template.tree)
    }
    assert modes == {0o644, 0o755}
