"""Files of the project that cells see as they lie: no row stands under the digest of what it did not see."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from cell_project import CellProject
from hypothesis import given
from hypothesis import strategies as st

from bench.arms import LiveFiles, Shown
from bench.digest import digest_tree
from bench.project import list_runs
from bench.results import read_rows

LATER = 2**62  # nothing was written after it
HOST = ("sandbox=host", "sandbox.accept_no_containment=true")


class Reader:
    """Reads a folder again, and counts how often."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.times = folder, 0

    def __call__(self) -> str:
        self.times += 1
        return digest_tree(self.folder)


def watched(folder: Path, began: int = LATER) -> tuple[LiveFiles, Reader]:
    reader = Reader(folder)
    shown = Shown("the tool", folder, digest_tree(folder), reader)
    return LiveFiles(lambda *_: (shown,), began), reader


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tool" / "sub").mkdir(parents=True)
    (tmp_path / "tool" / "sub" / "a").write_text("one")
    (tmp_path / "tool" / "b").write_text("two")
    return tmp_path / "tool"


def rewritten(folder: Path) -> None:
    (folder / "sub" / "a").write_text("eno")


def replaced(folder: Path) -> None:
    (folder / "new").write_text("eno")
    (folder / "new").rename(folder / "sub" / "a")


def removed(folder: Path) -> None:
    (folder / "sub" / "a").unlink()


@pytest.mark.parametrize("change", [rewritten, replaced, removed])
def test_a_change_is_named_by_its_file(folder: Path, change: Callable[[Path], None]) -> None:
    live, _ = watched(folder)
    assert live.look("arm", "task").changed is None
    change(folder)
    found = live.look("arm", "task").changed
    assert found == f"the tool was changed while the run used it: {folder / 'sub' / 'a'}"
    assert live.changed == found


def test_a_file_that_was_added_is_a_change(folder: Path) -> None:
    live, _ = watched(folder)
    live.look("arm", "task")
    (folder / "sub" / "c").write_text("")
    assert str(folder / "sub" / "c") in str(live.look("arm", "task").changed)


def test_what_nobody_touches_is_never_read_again(folder: Path) -> None:
    live, reader = watched(folder)
    looks = {live.look("arm", "task") for _ in range(5)}
    assert (len(looks), reader.times) == (1, 0)


def test_a_touched_file_is_read_again_once_and_stands(folder: Path) -> None:
    live, reader = watched(folder)
    live.look("arm", "task")
    os.utime(folder / "b", (1, 1))
    assert [live.look("arm", "task").changed for _ in range(3)] == [None] * 3
    assert reader.times == 1


def test_what_was_changed_and_put_back_is_seen_by_whoever_looked_before(folder: Path) -> None:
    live, _ = watched(folder)
    before = live.look("arm", "task")
    rewritten(folder)
    (folder / "sub" / "a").write_text("one")
    after = live.look("arm", "task")
    assert after.changed is None
    assert after.stamps != before.stamps


def test_what_was_written_between_hashing_and_the_first_look_is_read_again(folder: Path) -> None:
    live, reader = watched(folder, began=0)
    rewritten(folder)
    assert str(folder) in str(live.look("arm", "task").changed)
    assert reader.times == 1


@given(before=st.binary(max_size=4), after=st.binary(max_size=4))
def test_a_file_is_changed_exactly_if_its_bytes_are(
    tmp_path_factory: pytest.TempPathFactory, before: bytes, after: bytes
) -> None:
    folder = tmp_path_factory.mktemp("tool")
    (folder / "file").write_bytes(before)
    live, _ = watched(folder)
    live.look("arm", "task")
    (folder / "new").write_bytes(after)
    (folder / "new").rename(folder / "file")
    assert (live.look("arm", "task").changed is not None) == (before != after)


def with_tool(project: CellProject) -> Path:
    project.tree({"a.txt": "a\n"})
    for name in ("one", "two", "three"):
        project.task(name, "test -e new")
    project.arm(
        "tooled", tools={"notes": {"kind": "folder", "source": "tools/notes", "target": "/opt/notes"}}
    )
    return project.write("tools/notes/note.txt", "a note\n")


def test_a_tool_that_changes_in_a_session_breaks_the_cell_and_stops_the_run(project: CellProject) -> None:
    note = with_tool(project)
    project.agent(f"open('new', 'w').write('x'); open({str(note)!r}, 'w').write('b note\\n')")
    measured = project.measure(*HOST, "retries=2", "breaker=0")
    first, *others = [row.outcome for row in measured.rows.values()]
    assert (first.status, first.kind) == ("failed", "infra-error")
    assert first.detail == f"the tool 'notes' of arm tooled was changed while the run used it: {note}"
    assert {other.status for other in others} <= {"stopped"}


def test_a_tool_that_is_put_back_breaks_only_the_attempt_that_used_it(
    project: CellProject, tmp_path: Path
) -> None:
    note, once = with_tool(project), tmp_path / "once"
    project.agent(
        f"open('new', 'w').write('x')\n"
        f"if not os.path.exists({str(once)!r}):\n"
        f"    open({str(once)!r}, 'w').close(); open({str(note)!r}, 'w').write('b note\\n')\n"
        f"    open({str(note)!r}, 'w').write('a note\\n')"
    )
    project.measure(*HOST, "retries=1")
    rows, _ = read_rows(list_runs(project.root)[-1].path / "results.jsonl")
    assert [row.outcome.status for row in rows] == ["failed", "measured", "measured", "measured"]
    assert "was written while the cell used it" in rows[0].outcome.detail


def test_an_agent_that_changes_its_own_program_breaks_the_cell(project: CellProject) -> None:
    project.tree({"a.txt": "a\n"})
    for name in ("one", "two"):
        project.task(name, "test -e new")
    project.arm("plain")
    program = project.root / "agent.py"
    project.agent(f"open('new', 'w').write('x'); open({str(program)!r}, 'a').write('# more\\n')")
    first, *others = [row.outcome for row in project.measure(*HOST).rows.values()]
    assert first.detail == f"the agent was changed while the run used it: {program}"
    assert {other.status for other in others} <= {"stopped"}
