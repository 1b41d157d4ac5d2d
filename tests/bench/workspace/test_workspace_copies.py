"""Working copies of every kind show the same template, keep what a session does, and tell what it changed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from workspace_builders import (
    Session,
    as_ordinary_user,
    build,
    commit_all,
    committed,
    git,
    make_repository,
    make_task,
    open_backend,
    state_of,
    text,
)

from bench.errors import WorkspaceError
from bench.workspace import (
    Entry,
    Template,
    Templates,
    Workspaces,
    capture,
    choose_workspaces,
    remove_tree,
    snapshot,
)
from bench.workspace.copies import CopyWorkspaces
from bench.workspace.folders import copy_folder, read_small
from bench.workspace.tree import LARGEST

FILES = {
    b"a.py": b"one\ntwo\n",
    b"src/b.py": b"x = 1\n",
    b"src/deep/c.py": b"y = 2\n",
    b"docs/d.md": b"# Text\n",
    b"docs/e.md": b"more\n",
}
ODD = b"odd \xff\n name"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """One for all tests: no copy ever changes it."""
    folder = tmp_path_factory.mktemp("template")
    repository = make_repository(folder / "repository", FILES | {ODD: b"odd"})
    (repository / "link").symlink_to("docs")
    (repository / "run.sh").write_bytes(b"exit\n")
    (repository / "run.sh").chmod(0o755)
    commit_all(repository)
    return build(folder, committed(repository))


def kinds(entries: tuple[Entry, ...]) -> dict[bytes, str]:
    return {entry.path: entry.kind for entry in entries}


def test_a_new_copy_is_the_template_and_has_no_changes(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session
) -> None:
    copy = workspaces.create(template, tmp_path / "cell")
    assert copy.entries() == ()
    listing = session.shell(copy, "git status --porcelain --branch && cat a.py link/d.md && ./run.sh")
    assert listing.succeeded, listing.stderr.text()
    assert listing.stdout.text() == "## main\none\ntwo\n# Text\n"
    assert copy.entries() == ()
    assert capture(copy, template, 1000).empty


def test_changes_are_kept_from_session_to_session_and_the_template_stays_as_it_was(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session
) -> None:
    before = state_of(template.tree)
    copy = workspaces.create(template, tmp_path / "cell")
    assert session.shell(copy, "echo three >> a.py; rm -r docs; mkdir new; echo x > new/file").succeeded
    seen = session.shell(
        copy, "cat a.py new/file; test ! -e docs; chmod +x a.py; rm new/file; ln -s a.py new/link"
    )
    assert seen.stdout.text() == "one\ntwo\nthree\nx\n"
    assert kinds(copy.entries()) == {
        b"a.py": "modified",
        b"docs/d.md": "deleted",
        b"docs/e.md": "deleted",
        b"new/link": "added",
    }
    assert state_of(template.tree) == before


@pytest.mark.parametrize(
    "script",
    [
        "touch a.py src/b.py",
        "chmod 600 a.py; chmod 755 src",
        "cp a.py b && mv b a.py",
        "echo other > a.py; printf 'one\\ntwo\\n' > a.py",
        "mkdir -p empty/folders",
        "cp -R docs kept && rm -r docs && mv kept docs",
        "rm -r src && mkdir -p src/deep && printf 'x = 1\\n' > src/b.py && printf 'y = 2\\n' > src/deep/c.py",
        "echo new > new && rm new",
        "rm link && ln -s docs link",
        "git config x.y z; echo hook > .git/hooks; git checkout -q -b other; rm .git/index",
        "rm -r .git && echo nothing > .git",
    ],
)
def test_what_changes_no_bytes_modes_or_links_is_no_change(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session, script: str
) -> None:
    copy = workspaces.create(template, tmp_path / "cell")
    assert session.shell(copy, script).succeeded
    assert copy.entries() == ()


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("rm a.py && mkdir a.py && echo x > a.py/x", {b"a.py": "deleted", b"a.py/x": "added"}),
        ("rm -r src && echo x > src", {b"src": "added", b"src/b.py": "deleted", b"src/deep/c.py": "deleted"}),
        (
            "rm -r src && ln -s docs src",
            {b"src": "added", b"src/b.py": "deleted", b"src/deep/c.py": "deleted"},
        ),
        ("rm link && mkdir link && echo '# Text' > link/d.md", {b"link": "deleted", b"link/d.md": "added"}),
        ("rm link && echo docs > link", {b"link": "modified"}),
        ("ln -sfn /etc/passwd link; ln -s / root", {b"link": "modified", b"root": "added"}),
        ("chmod +x a.py; chmod -x run.sh", {b"a.py": "modified", b"run.sh": "modified"}),
        (
            "mv docs papers",
            {
                b"docs/d.md": "deleted",
                b"docs/e.md": "deleted",
                b"papers/d.md": "added",
                b"papers/e.md": "added",
            },
        ),
        ("rm -r docs && mkdir docs && echo more > docs/e.md", {b"docs/d.md": "deleted"}),
        ("ln a.py hard; echo x >> hard", {b"a.py": "modified", b"hard": "added"}),
        (
            "git init -q inner && rm -r inner/.git/hooks",
            {b"inner/.git/HEAD": "added", b"inner/.git/config": "added"},
        ),
        ("rm -r ./* && rm -rf .git", None),
    ],
)
def test_every_path_that_is_different_is_told_with_its_kind(
    tmp_path: Path,
    template: Template,
    workspaces: Workspaces,
    session: Session,
    script: str,
    expected: dict[bytes, str] | None,
) -> None:
    copy = workspaces.create(template, tmp_path / "cell")
    result = session.shell(copy, script)
    assert result.succeeded, result.stderr.text()
    found = kinds(copy.entries())
    wanted = dict.fromkeys(state_of(template.tree), "deleted") if expected is None else expected
    assert {path: kind for path, kind in found.items() if b".git/" not in path or path in wanted} == wanted


def test_committed_work_is_measured_like_uncommitted_work(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session
) -> None:
    work = "echo three >> a.py; git rm -q docs/d.md; echo new > new"
    ways = {
        "plain": "",
        "committed": "git add -A; git commit -q -m work",
        "branched": "git checkout -q -b topic; git add -A; git commit -q -m work; git tag v1; git gc -q",
        "amended": "git add -A; git commit -q --amend -m other; git update-ref -d refs/heads/main",
        "ignored": "echo new > .git/info/exclude; git update-index --assume-unchanged a.py",
    }
    changes = []
    for name, way in ways.items():
        copy = workspaces.create(template, tmp_path / name)
        result = session.shell(copy, f"set -e; {work}; {way}")
        assert result.succeeded, result.stderr.text()
        changes.append(capture(copy, template, 10_000))
    assert [change == changes[0] for change in changes] == [True] * len(ways)
    assert changes[0].paths == (b"a.py", b"docs/d.md", b"new")


def test_work_that_was_committed_and_left_behind_on_a_branch_is_no_change(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session
) -> None:
    copy = workspaces.create(template, tmp_path / "cell")
    script = "set -e; git checkout -q -b topic; echo x >> a.py; rm -r src; git add -A; git commit -q -m x; git checkout -q main"
    assert session.shell(copy, script).succeeded
    assert copy.entries() == ()


def test_an_edit_that_keeps_size_and_time_is_a_change(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session
) -> None:
    copy = workspaces.create(template, tmp_path / "cell")
    session.act(copy, [("edit", b"a.py", b"ONE")])
    assert kinds(copy.entries()) == {b"a.py": "modified"}


def test_pipes_sockets_and_endless_files_are_special_and_never_read(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session
) -> None:
    copy = workspaces.create(template, tmp_path / "cell")
    script = f"rm a.py src/b.py; mkfifo a.py docs/pipe; truncate -s {LARGEST + 1} huge src/b.py; truncate -s 900G endless"
    result = session.shell(copy, script)
    assert result.succeeded, result.stderr.text()
    names = [b"a.py", b"docs/pipe", b"endless", b"huge", b"src/b.py"]
    assert kinds(copy.entries()) == dict.fromkeys(names, "special")
    change = capture(copy, template, 1000)
    assert change.paths == tuple(names)
    assert change.truncated
    assert change.patch == b""
    assert [copy.leaf(name) for name in names] == [None] * 5
    assert copy.read("a.py") is None


def test_a_nest_of_folders_deeper_than_any_path_is_told_and_removed(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session
) -> None:
    copy = workspaces.create(template, tmp_path / "cell")
    script = f"for i in $(seq 60); do mkdir {'n' * 200}; cd {'n' * 200}; done; echo x > x"
    result = session.shell(copy, script)
    assert result.succeeded, result.stderr.text()
    (entry,) = copy.entries()
    assert entry.kind == "special"
    assert set(entry.path) == set(b"n/")
    assert capture(copy, template, 1000).truncated
    copy.remove()
    assert [path.name for path in (tmp_path / "cell").rglob("*")] == []


def test_files_put_into_a_copy_are_seen_there_and_are_no_change(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session
) -> None:
    copy = workspaces.create(template, tmp_path / "cell")
    copy.write({".claude/skills/review/SKILL.md": b"skill", "docs/e.md": b"placed", "run.sh": b"placed"})
    copy.write({"docs/e.md": b"placed again"})
    assert copy.entries() == ()
    seen = session.shell(
        copy, "cat .claude/skills/review/SKILL.md docs/e.md docs/d.md; git status --porcelain"
    )
    assert seen.stdout.text() == "skillplaced again# Text\n M docs/e.md\n M run.sh\n?? .claude/\n"
    assert session.shell(copy, "echo more >> .claude/skills/review/SKILL.md; rm run.sh").succeeded
    assert copy.entries() == ()
    assert copy.read(".claude/skills/review/SKILL.md") == b"skillmore\n"
    assert copy.read("run.sh") is None
    assert session.shell(
        copy, "echo x > .claude/skills/review/other; rm -r .claude/skills/review/SKILL.md"
    ).succeeded
    assert kinds(copy.entries()) == {b".claude/skills/review/other": "added"}
    assert state_of(template.tree)[b"docs/e.md"] == ("file", b"more\n")


@pytest.mark.parametrize(
    "path", ["link/file", "a.py/file", "src", "../out", "/out", ".git/config", "x/.git/config"]
)
def test_a_file_cannot_be_put_where_something_is_in_its_way(
    tmp_path: Path, template: Template, workspaces: Workspaces, path: str
) -> None:
    copy = workspaces.create(template, tmp_path / "cell")
    with pytest.raises(WorkspaceError):
        copy.write({path: b"x"})
    assert copy.entries() == ()


def test_reading_never_goes_through_a_link_and_sees_what_the_session_sees(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session
) -> None:
    (tmp_path / "outside").write_bytes(b"secret of the host")
    copy = workspaces.create(template, tmp_path / "cell")
    assert copy.read("a.py") == b"one\ntwo\n"
    assert copy.read("link/d.md") is None
    assert copy.read("nowhere/at/all") is None
    assert copy.read("src") is None
    script = (
        f"ln -s {tmp_path}/outside away; ln -s {tmp_path} folder; echo x > docs/d.md; rm docs/e.md; "
        "rm -r src; mkdir src; echo new > src/new; rm a.py; mkdir a.py; chmod 000 docs/d.md"
    )
    assert session.shell(copy, script).succeeded
    assert [copy.read(path) for path in ("away", "folder/outside", "link")] == [None] * 3
    assert [copy.read(path) for path in ("docs/e.md", "src/b.py", "src/deep/c.py", "a.py")] == [None] * 4
    assert copy.read("docs/d.md") == b"x\n"
    assert copy.read("src/new") == b"new\n"


def test_only_where_nothing_is_and_nothing_was_does_it_say_that_it_has_nothing(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session
) -> None:
    copy = workspaces.create(template, tmp_path / "cell")
    absent = (".git/hooks", ".git/config.worktree", "nowhere/at/all", "a.py/b")
    assert not any(copy.has(path) for path in absent)
    script = "rm -r docs; mkdir .git/hooks; echo x > .git/hooks/update; ln -s nowhere new; chmod 000 .git src"
    assert session.shell(copy, script).succeeded
    there = ("docs/d.md", ".git", ".git/config", ".git/hooks", ".git/hooks/update", "new", "src/b.py", "a.py")
    assert all(copy.has(path) for path in there)
    assert not copy.has("nowhere/at/all")


def test_a_read_only_copy_shows_the_work_and_refuses_to_be_written(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session
) -> None:
    copy = workspaces.create(template, tmp_path / "cell")
    assert session.shell(copy, "echo x > a.py; rm -r docs").succeeded
    mount = copy.live("/workspace", writable=False)
    assert session.run(mount, "/bin/sh", "-c", "cat a.py; ls -d docs").stdout.text() == "x\n"
    assert not session.run(mount, "/bin/sh", "-c", "echo y > a.py").succeeded
    assert not session.run(mount, "/bin/sh", "-c", "echo y > new").succeeded
    assert kinds(copy.entries()) == {b"a.py": "modified", b"docs/d.md": "deleted", b"docs/e.md": "deleted"}


def test_what_is_written_to_a_throwaway_view_vanishes_with_its_command(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session
) -> None:
    copy = workspaces.create(template, tmp_path / "cell")
    assert session.shell(
        copy, "echo x > a.py; rm -r docs; mkdir -p src/deep; rm src/b.py; echo n > src/n"
    ).succeeded
    before = capture(copy, template, 10_000)
    for _ in range(2):
        result = session.run(
            copy.throwaway("/workspace"),
            "/bin/sh",
            "-c",
            "cat a.py; ls src; ls docs; echo y > a.py; rm -r src; touch new",
        )
        assert result.stdout.text() == "x\ndeep\nn\n"
    assert capture(copy, template, 10_000) == before
    assert copy.read("a.py") == b"x\n"


def test_a_throwaway_view_without_layers_is_a_copy_of_the_captured_state(
    tmp_path: Path, template: Template, session: Session
) -> None:
    copy = CopyWorkspaces("copy", layered=False).create(template, tmp_path / "cell")
    script = "echo x > a.py; mkfifo pipe; truncate -s 100G huge; mkdir shut; echo y > shut/y; chmod 000 shut; rm docs/e.md"
    assert session.shell(copy, script).succeeded
    mount = copy.throwaway("/workspace")
    result = session.run(mount, "/bin/sh", "-c", "cat a.py shut/y; git status --porcelain; echo z > a.py")
    assert result.stdout.text() == "x\ny\n M a.py\n D docs/e.md\n?? shut/\n"
    assert copy.read("a.py") == b"x\n"
    copy.remove()
    assert list((tmp_path / "cell").iterdir()) == []


def test_a_small_template_copied_from_memory_is_like_one_copied_from_disk(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "deep" / "empty").mkdir(parents=True)
    (source / "deep" / "closed").write_bytes(b"x\0y" * 1000)
    (source / "deep" / "closed").chmod(0o444)
    (source / "run.sh").write_bytes(b"exit\n")
    (source / "run.sh").chmod(0o755)
    os.utime(source / "run.sh", ns=(1, 2))
    small = read_small(source)
    assert small is not None
    small.write(os.fsencode(tmp_path / "memory"))
    copy_folder(os.fsencode(source), os.fsencode(tmp_path / "disk"))

    def looks(folder: Path) -> list[tuple[str, int, int, bytes]]:
        return [
            (str(path.relative_to(folder)), path.stat().st_mode, *_content(path))
            for path in sorted(folder.rglob("*"))
        ]

    assert looks(tmp_path / "memory") == looks(tmp_path / "disk") == looks(source)


def _content(path: Path) -> tuple[int, bytes]:
    return (0, b"") if path.is_dir() else (path.stat().st_mtime_ns, path.read_bytes())


def test_a_large_folder_or_one_with_links_is_not_kept_in_memory(tmp_path: Path) -> None:
    large, linked = tmp_path / "large", tmp_path / "linked"
    large.mkdir()
    (large / "a").write_bytes(b"x" * 300_000)
    linked.mkdir()
    (linked / "a").symlink_to("b")
    assert (read_small(large), read_small(linked)) == (None, None)


def test_the_last_view_without_layers_is_the_copy_itself_unless_it_holds_something_special(
    tmp_path: Path, template: Template, session: Session
) -> None:
    plain = CopyWorkspaces("copy", layered=False)
    copy = plain.create(template, tmp_path / "cell")
    assert session.shell(copy, "echo x > a.py").succeeded
    assert copy.last("/workspace", copy.entries()) == copy.live("/workspace", writable=True)
    special = plain.create(template, tmp_path / "special")
    assert session.shell(special, "mkfifo pipe").succeeded
    assert special.last("/workspace", special.entries()) != special.live("/workspace", writable=True)


def test_closed_and_strangely_owned_folders_are_read_and_removed(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session
) -> None:
    copy = workspaces.create(template, tmp_path / "cell")
    script = (
        "mkdir -p shut/inner; echo x > shut/inner/x; chmod 000 shut/inner/x shut/inner shut; echo y >> docs/d.md; "
        "chmod 000 docs; chmod 0 run.sh; chmod 111 src; chmod 000 ."
    )
    assert session.shell(copy, script).succeeded
    assert kinds(copy.entries()) == {
        b"docs/d.md": "modified",
        b"run.sh": "modified",
        b"shut/inner/x": "added",
    }
    assert not capture(copy, template, 10_000).truncated
    copy.remove()
    assert list((tmp_path / "cell").iterdir()) == []


ORDINARY = """
import os, subprocess, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from workspace_builders import Session, build, committed, make_repository, open_backend
from bench.workspace import capture, choose_workspaces
here = Path.cwd()
repository = make_repository(here / "repository", {b"a.py": b"one", b"docs/d.md": b"two", b"run.sh": b"x"})
sandbox = open_backend("bubblewrap", here)
template = build(here, committed(repository), setup="mkdir shut; echo s > shut/s; chmod 000 shut/s shut")
for mode in ("overlay", "copy"):
    copy = choose_workspaces(mode, sandbox, here).create(template, here / mode)
    script = "mkdir n; echo x > n/x; chmod 000 n/x n; echo y >> docs/d.md; rm a.py; cat shut/s; chmod 0 docs docs/d.md run.sh; chmod 0 ."
    result = Session(sandbox).shell(copy, script)
    assert result.succeeded, result.stderr.text()
    assert copy.read("docs/d.md") == b"twoy\\n"
    change = capture(copy, template, 10000)
    assert change.paths == (b"a.py", b"docs/d.md", b"n/x"), change.paths
    assert not change.truncated
    copy.remove()
    assert list((here / mode).iterdir()) == []
    print(change.fingerprint)
"""


def test_an_ordinary_user_needs_no_privileges_for_any_of_this(tmp_path: Path) -> None:
    done = as_ordinary_user(tmp_path, ORDINARY, str(Path(__file__).parent))
    assert done.returncode == 0, done.stderr
    assert len(set(done.stdout.split())) == 1


def test_a_copy_that_was_deleted_or_replaced_counts_as_deleted_files(
    tmp_path: Path, template: Template
) -> None:
    workspaces = choose_workspaces("copy", open_backend("host", tmp_path), tmp_path)
    for number, replacement in enumerate((None, "link", "file")):
        copy = workspaces.create(template, tmp_path / str(number))
        place = tmp_path / str(number) / "workspace"
        shutil.rmtree(place)
        if replacement == "link":
            place.symlink_to(template.tree)
        elif replacement == "file":
            place.write_bytes(b"x")
        assert kinds(copy.entries()) == dict.fromkeys(state_of(template.tree), "deleted")
        assert copy.read("a.py") is None
        copy.remove()
        assert not place.is_symlink()
        assert not place.exists()
    assert state_of(template.tree)


def test_the_work_of_one_copy_is_not_seen_in_another(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session
) -> None:
    first = workspaces.create(template, tmp_path / "1")
    second = workspaces.create(template, tmp_path / "2")
    assert session.shell(
        first, "echo x > new; git checkout -q -b topic; git add -A; git commit -q -m x"
    ).succeeded
    seen = session.shell(
        second, "git branch --all; git rev-list --all --count; ls new; git cat-file -e topic"
    )
    assert seen.stdout.text() == "* main\n1\n"
    assert second.entries() == ()


def test_a_session_never_reaches_a_file_that_two_templates_share(
    tmp_path: Path, workspaces: Workspaces, session: Session
) -> None:
    repository = make_repository(tmp_path / "repository", FILES)
    templates = Templates(tmp_path / "templates")
    patch = b"diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n"
    bare = templates.build(make_task(committed(repository)))
    changed = templates.build(make_task(committed(repository), change=patch))
    before = state_of(bare.tree), state_of(changed.tree)
    assert (bare.tree / "a.py").samefile(changed.tree / "a.py")
    copy = workspaces.create(changed, tmp_path / "cell")
    session.act(copy, [("edit", b"a.py", b"ONE"), ("mode", b"src/b.py", 0o755), ("delete", b"new")])
    assert kinds(copy.entries()) == {b"a.py": "modified", b"new": "deleted", b"src/b.py": "modified"}
    assert (state_of(bare.tree), state_of(changed.tree)) == before


def test_removing_names_what_it_cannot_remove_and_removes_the_rest(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "kept").write_bytes(b"x")
    (folder / "deep" / "gone").write_bytes(b"x")
    kept = folder / "deep" / "er" / "kept"
    if subprocess.run(["chattr", "+i", kept], capture_output=True, check=False).returncode:
        pytest.skip("no file can be made immutable here")
    try:
        with pytest.raises(
            WorkspaceError, match=r"1 entries of .*/folder cannot be removed: 'deep/er/kept' \(Oper"
        ):
            remove_tree(folder)
        (left,) = (path for path in folder.rglob("*") if path.is_file())
        assert left.name == "kept"
    finally:
        for path in folder.rglob("kept"):
            subprocess.run(["chattr", "-i", path], check=True)


def test_removing_follows_no_link_and_accepts_what_is_not_there(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(b"x")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to(outside)
    os.mkfifo(folder / "pipe")
    (folder / os.fsdecode(ODD)).write_bytes(b"x")
    (tmp_path / "link").symlink_to(outside)
    for path in (folder, tmp_path / "link", tmp_path / "nowhere"):
        remove_tree(path)
        assert not path.is_symlink()
        assert not path.exists()
    assert (outside / "file").read_bytes() == b"x"


def test_git_knows_every_file_of_a_new_copy_without_reading_it(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session
) -> None:
    copy = workspaces.create(template, tmp_path / "cell")
    unsure = session.shell(copy, "git diff-files")
    assert unsure.succeeded
    assert unsure.stdout.text() == "", "git would have to read these files"


def test_git_in_a_copy_knows_the_one_commit_and_can_commit(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session
) -> None:
    copy = workspaces.create(template, tmp_path / "cell")
    seen = session.shell(
        copy, "git rev-parse HEAD; echo x > x; git add x; git commit -q -m x; git rev-list --count HEAD"
    )
    assert seen.stdout.text().split() == [template.commit, "2"]
    assert text(git(template.tree, "rev-list", "--all")) == template.commit


WORK = """
echo new > added; mkdir -p made/deep; echo x > made/deep/x; chmod +x a.py; echo more >> docs/d.md
rm docs/e.md; rm -r src/deep; rm src/b.py; mkdir src/b.py; echo y > src/b.py/y; rm link; ln -s a.py link
git config user.name me; git config user.email me@here; git add -A; git commit -qm work; git tag here; echo after > after
"""


def test_a_state_can_be_restored_in_a_new_copy(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session
) -> None:
    first = workspaces.create(template, tmp_path / "first")
    assert session.shell(first, WORK).succeeded
    state = snapshot(first, first.entries(), 1 << 20)
    assert state
    second = workspaces.create(template, tmp_path / "second")
    second.restore(state)
    assert second.entries() == first.entries()
    assert capture(second, template, 1 << 20) == capture(first, template, 1 << 20)
    look = "git log --format=%s -1 && git tag && git status --porcelain && find . -not -type d -not -path './.git*' | sort && cat after"
    seen = [session.shell(copy, look) for copy in (first, second)]
    assert seen[0].succeeded, seen[0].stderr.text()
    assert seen[1].stdout.text() == seen[0].stdout.text()


def test_a_new_copy_has_no_state(tmp_path: Path, template: Template, workspaces: Workspaces) -> None:
    assert snapshot(workspaces.create(template, tmp_path / "cell"), (), 0) == ()


@pytest.mark.parametrize("script", ["mkfifo pipe", "head -c 5000 /dev/zero > large"])
def test_what_cannot_be_restored_is_no_state(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session, script: str
) -> None:
    copy = workspaces.create(template, tmp_path / "cell")
    assert session.shell(copy, script).succeeded
    assert snapshot(copy, copy.entries(), 4000) is None
