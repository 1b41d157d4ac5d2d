"""A captured change is exact: its patch turns the starting state into what the session left, in every backend."""

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from workspace_builders import (
    Session,
    State,
    build,
    commit_exactly,
    committed,
    make_repository,
    open_backend,
    state_of,
    write_files,
)

from bench.suite import Asset
from bench.workspace import Change, Template, Workspaces, capture, choose_workspaces
from bench.workspace.choosing import can_clone

LIMIT = 10_000_000
NAMES = [
    b"a",
    b"b.py",
    b"dir",
    b"sp ace",
    b"tab\t",
    b"new\nline",
    b'quo"te',
    b"back\\slash",
    b"\xff\xfe",
    "ü".encode(),
]
NAMES += [b"-dash", b"*", b".gitignore", b".gitattributes", b"a -> b", b" x"]
CONTENTS = [
    b"",
    b"\n",
    b"one\ntwo\nthree\n",
    b"one\nTWO\nthree\n",
    b"one\r\ntwo\r\n",
    b"no end",
    b"\x00\x01binary",
    b"\xff\n",
]
CONTENTS += [
    b"* text=auto eol=crlf\n*.py ident filter=evil diff=evil\n",
    b"*\n",
    b"$Id$\n",
    b"line\n" * 300,
    bytes(range(256)) * 40,
]
START = {
    b"a": b"one\ntwo\nthree\n",
    b"b.py": b"$Id$\n",
    b"dir/a": b"1\r\n",
    b"dir/dir/b.py": b"\x00",
    b"sp ace": b"no end",
}
START |= {
    b"new\nline": b"x\n",
    b"\xff\xfe/a": b"y\n",
    b"crlf.txt": b"1\r\n2\r\n",
    b".gitattributes": b"*.txt text eol=crlf\n",
}

path = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map(b"/".join)
some_path = st.one_of(st.sampled_from(sorted(START)), path)
content = st.one_of(st.sampled_from(CONTENTS), st.binary(max_size=40))
operation = st.one_of(
    st.tuples(st.just("write"), some_path, content, st.booleans()),
    st.tuples(st.just("edit"), some_path, content),
    st.tuples(st.just("link"), some_path, st.sampled_from([b"a", b"no/where", b"/etc", b"\xff", b"dir"])),
    st.tuples(st.just("delete"), some_path),
    st.tuples(st.just("mode"), some_path, st.sampled_from([0o755, 0o644, 0o600, 0o111, 0o000])),
    st.tuples(st.just("touch"), some_path),
    st.tuples(st.just("folder"), some_path),
    st.tuples(st.just("again"), some_path),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("capture")


@pytest.fixture(scope="module")
def template(folder: Path) -> Template:
    """Committed, uncommitted and copied files together make the starting state."""
    repository = make_repository(folder / "repository", {})
    write_files(repository, START)
    commit_exactly(repository)
    (folder / "asset").write_bytes(b"asset\n")
    patch = b"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\n-two\n+uncommitted\n three\n"
    assets = (Asset(folder / "asset", "asset", "digest"),)
    return build(folder, committed(repository), change=patch, assets=assets, setup="echo made > made")


@pytest.fixture(scope="module")
def everywhere(folder: Path) -> tuple[Session, list[Workspaces]]:
    sandbox = open_backend("bubblewrap", folder)
    ways = [choose_workspaces("overlay", sandbox, folder), choose_workspaces("copy", sandbox, folder)]
    if can_clone(folder):
        ways.append(choose_workspaces("reflink", sandbox, folder))
    return Session(sandbox), ways


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(operations=st.lists(operation, min_size=1, max_size=8))
def test_a_patch_reproduces_any_change_and_every_backend_gives_the_same(
    folder: Path,
    template: Template,
    everywhere: tuple[Session, list[Workspaces]],
    operations: list[tuple[Any, ...]],
) -> None:
    session, ways = everywhere
    start = state_of(template.tree)
    changes: list[tuple[Change, State]] = []
    with TemporaryDirectory(dir=folder) as place:
        for way in ways:
            copy = way.create(template, Path(place) / way.name)
            session.act(copy, operations)
            change = capture(copy, template, LIMIT)
            changes.append((change, applied(template, change.patch, Path(place) / "applied")))
            assert [copy.leaf(each) is None for each in change.paths] == [
                each not in changes[-1][1] for each in change.paths
            ]
            after = left_by(way, Path(place) / way.name)
            assert after is None or changes[-1][1] == after
            copy.remove()
    assert all(other == changes[0] for other in changes[1:])
    change, after = changes[0]
    assert not change.truncated
    assert change.paths == tuple(sorted(each for each in start | after if start.get(each) != after.get(each)))


def left_by(way: Workspaces, cell: Path) -> State | None:
    """What a session left, where that can be seen without a mount."""
    return None if way.name == "overlay" else state_of(cell / "workspace")


def applied(template: Template, patch: bytes, place: Path) -> State:
    """What the patch makes of the starting state, applied by git in a plain folder without its conversions."""
    shutil.copytree(template.tree, place, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    subprocess.run(["git", "init", "--quiet", place], check=True)
    (place / ".git" / "info" / "attributes").write_bytes(b"* !text !eol !ident !filter\n")
    if patch:
        subprocess.run(["git", "apply", "--whitespace=nowarn"], input=patch, cwd=place, check=True)
    try:
        return state_of(place)
    finally:
        shutil.rmtree(place)


def test_a_change_is_told_against_the_starting_state_and_not_against_the_commit(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session
) -> None:
    copy = workspaces.create(template, tmp_path / "cell")
    session.act(
        copy, [("write", b"a", b"one\nmine\nthree\n", False), ("delete", b"asset"), ("delete", b"made")]
    )
    change = capture(copy, template, LIMIT)
    assert change.paths == (b"a", b"asset", b"made")
    assert b"-uncommitted\n+mine\n" in change.patch
    assert (change.insertions, change.deletions) == (1, 3)


def test_no_program_is_started_when_nothing_changed(
    tmp_path: Path,
    template: Template,
    workspaces: Workspaces,
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copy = workspaces.create(template, tmp_path / "cell")
    session.act(copy, [("touch", b"a"), ("folder", b"empty")])
    monkeypatch.setenv("PATH", str(tmp_path))
    change = capture(copy, template, LIMIT)
    assert change.empty
    assert (change.patch, change.insertions, change.deletions, change.truncated) == (b"", 0, 0, False)


@pytest.mark.parametrize("limit", [0, 1, 400])
def test_a_patch_is_cut_at_its_limit_and_all_else_is_whole(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session, limit: int
) -> None:
    copy = workspaces.create(template, tmp_path / "cell")
    session.act(copy, [("write", b"large", b"line\n" * 100_000, False), ("write", b"a", b"x", True)])
    whole, cut = capture(copy, template, LIMIT), capture(copy, template, limit)
    assert (whole.truncated, cut.truncated) == (False, True)
    assert cut.patch == whole.patch[:limit]
    assert (cut.paths, cut.fingerprint, cut.insertions) == (whole.paths, whole.fingerprint, whole.insertions)
    assert whole.insertions == 100_001
    exact = capture(copy, template, len(whole.patch))
    assert exact == whole


@pytest.mark.parametrize(
    "operations",
    [
        [("write", b"a", b"one\n", False)],
        [("write", b"a", b"two\n", True)],
        [("delete", b"a")],
        [("link", b"a", b"two\n")],
        [("write", b"b", b"two\n", False)],
        [("write", b"a", b"two\n", False), ("delete", b"made")],
    ],
)
def test_a_fingerprint_changes_with_the_content_the_mode_and_the_path(
    tmp_path: Path, template: Template, everywhere: tuple[Session, list[Workspaces]], operations: list[Any]
) -> None:
    session, ways = everywhere
    prints = []
    for number, each in enumerate(([("write", b"a", b"two\n", False)], operations)):
        copy = ways[0].create(template, tmp_path / str(number))
        session.act(copy, each)
        prints.append(capture(copy, template, LIMIT).fingerprint)
    assert prints[0] != prints[1]


def test_a_fingerprint_does_not_depend_on_how_the_change_was_made(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session
) -> None:
    direct = workspaces.create(template, tmp_path / "1")
    session.act(direct, [("write", b"dir/new", b"x", False), ("delete", b"a")])
    roundabout = workspaces.create(template, tmp_path / "2")
    assert session.shell(
        roundabout, "git mv -f a c; git commit -qm x; rm c; mkdir t; printf x > t/y"
    ).succeeded
    assert session.shell(roundabout, "mv t/y dir/new; rmdir t; cp -R dir d2; rm -r dir; mv d2 dir").succeeded
    assert capture(direct, template, LIMIT) == capture(roundabout, template, LIMIT)


@pytest.mark.parametrize("name", [b"inner/.git/HEAD", b"inner/.GIT", b"blank /empty"])
def test_a_path_that_no_patch_can_carry_is_told_and_the_rest_is_carried(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session, name: bytes
) -> None:
    copy = workspaces.create(template, tmp_path / "cell")
    session.act(copy, [("write", name, b"", False), ("write", b"new/file", b"y\n", False)])
    change = capture(copy, template, LIMIT)
    assert change.paths == (name, b"new/file")
    assert change.truncated
    assert set(applied(template, change.patch, tmp_path / "applied")) - set(state_of(template.tree)) == {
        b"new/file"
    }
    session.act(copy, [("write", name, b"other", False)])
    assert capture(copy, template, LIMIT).fingerprint != change.fingerprint


def test_nothing_that_a_session_leaves_in_its_repository_is_executed_by_a_capture(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session
) -> None:
    copy = workspaces.create(template, tmp_path / "cell")
    marker = tmp_path / "executed"
    script = (
        f"git config core.fsmonitor 'touch {marker}'; git config diff.external 'touch {marker}'; "
        f"git config filter.evil.clean 'touch {marker}'; echo '* filter=evil diff=evil' > .gitattributes; "
        f"git config diff.evil.textconv 'touch {marker}'; mkdir .git/hooks; echo 'touch {marker}' > .git/hooks/pre-commit; "
        f"git config core.hooksPath .git/hooks; chmod +x .git/hooks/*; ln -s /nowhere .git/index.lock; echo x >> a"
    )
    assert session.shell(copy, script).succeeded
    assert capture(copy, template, LIMIT).paths == (b".gitattributes", b"a")
    assert not marker.exists()


def test_no_more_is_read_than_there_is_room_for(
    tmp_path: Path, template: Template, workspaces: Workspaces, session: Session
) -> None:
    copy = workspaces.create(template, tmp_path / "cell")
    session.act(copy, [("write", name, b"12345678", False) for name in (b"n1", b"n2", b"n3")])
    change = capture(copy, template, LIMIT, room=10)
    assert change.paths == (b"n1", b"n2", b"n3")
    assert change.truncated
    assert sorted(
        set(applied(template, change.patch, tmp_path / "applied")) - set(state_of(template.tree))
    ) == [
        b"n1",
        b"n2",
    ]
