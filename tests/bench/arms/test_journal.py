"""What an interrupted sweep remembers from its journal, whatever had been stopped before."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench.arms import CellEnded, Entry, Journal, SessionEnded, open_journal
from bench.arms.model import Cell
from bench.digest import canonical_json
from bench.errors import RunError
from bench.line_file import LineFile
from bench.measured import End, SessionReport, Usage
from bench.results import Artifact, Row
from tests.bench.results.row_builders import make_row

PLAN = "p" * 64
CELL = Cell(index=0, task="t", arm="a", role="incumbent", repeat=0, twice=False)


def session(name: str, attempt: int = 1, *, again: bool = False) -> SessionEnded:
    return SessionEnded(
        task="t", arm="a", repeat=0, attempt=attempt, again=again, name=name,
        started_at=datetime(2026, 1, 1, tzinfo=UTC), end=End.EXITED, code=0, detail="", seconds=1.0,
        peak_memory=None, stderr="", survivors=0,
        report=SessionReport(status="completed", detail="", usage=Usage(), skills_used=frozenset()),
        transcript=Artifact("0" * 64, 1), artifact=None, finding=None, state=None, restorable=True,
        provenance=make_row().provenance,
    )  # fmt: skip


def row(kind: str | None, attempt: int) -> Row:
    return make_row("t", "a", kind=kind, attempt=attempt)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def write(path: Path, entries: Sequence[Entry]) -> None:
    journal = Journal(path, PLAN)
    for entry in entries:
        assert isinstance(entry, SessionEnded | CellEnded)
        journal.write(entry)
    journal.close()


def recalled(path: Path, rows: Sequence[Row] = ()) -> list[tuple[str, int]]:
    journal, _ = open_journal(path, PLAN, rows)
    return [(each.name, each.attempt) for each in journal.recall(CELL, again=False)]


def test_what_two_stopped_attempts_paid_is_all_taken_up(path: Path) -> None:
    write(path, [session("plan", 1), session("work", 2)])
    assert recalled(path, [row("cancelled", 1), row("cancelled", 2)]) == [("plan", 1), ("work", 2)]


def test_a_cell_that_began_again_is_not_mixed_with_what_it_began_with(path: Path) -> None:
    write(path, [session("plan", 1), session("work", 1), session("plan", 2)])
    assert recalled(path, [row("cancelled", 1)]) == [("plan", 2)]


def test_sessions_of_a_failed_attempt_are_not_taken_up(path: Path) -> None:
    write(path, [session("plan", 1)])
    assert recalled(path, [row("session-error", 1)]) == []


def test_sessions_are_recalled_once(path: Path) -> None:
    write(path, [session("plan")])
    journal, _ = open_journal(path, PLAN, ())
    assert journal.recall(CELL, again=False)
    assert not journal.recall(CELL, again=False)


def test_the_second_measurement_of_a_cell_is_remembered_apart(path: Path) -> None:
    write(path, [session("plan"), session("plan", again=True)])
    journal, _ = open_journal(path, PLAN, ())
    assert [each.again for each in journal.recall(CELL, again=True)] == [True]
    assert [each.again for each in journal.recall(CELL, again=False)] == [False]


def test_rows_of_all_attempts_that_wait_are_kept_whichever_process_wrote_them(path: Path) -> None:
    first, second, third = row("session-error", 1), row("session-error", 2), row(None, 3)
    write(path, [CellEnded(rows=(first, second)), CellEnded(rows=(third,))])
    _, remembered = open_journal(path, PLAN, [first])
    assert remembered.rows == {CELL.key: (second, third)}


def test_a_torn_line_is_cut_off_and_the_next_one_is_whole(path: Path) -> None:
    write(path, [session("plan")])
    with path.open("ab") as file:
        file.write(b'{"type":"session","task":')
    journal, _ = open_journal(path, PLAN, ())
    journal.write(session("work"))
    assert [name for name, _ in recalled(path)] == ["plan", "work"]


def test_a_torn_head_begins_a_journal(path: Path) -> None:
    path.write_bytes(b'{"type":"jour')
    journal, _ = open_journal(path, PLAN, ())
    journal.write(session("plan"))
    assert [name for name, _ in recalled(path)] == ["plan"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"{}", "line 1 is no entry of a journal"),
        (
            b'{"type":"journal","schema_version":7,"plan":"x"}',
            "schema_version 7 of the journal is not supported",
        ),
        (b'{"type":"journal","schema_version":1,"plan":"x"}', "belongs to plan x, not to pppppppppppp"),
        (b'{"type":"cell","rows":[]}', "line 1 is no entry of a journal"),
        (canonical_json(session("plan")), "line 1 does not say which plan"),
    ],
)
def test_a_journal_that_is_not_of_this_run_is_refused_with_its_place(
    path: Path, line: bytes, told: str
) -> None:
    LineFile(path).append(line)
    with pytest.raises(RunError) as refused:
        open_journal(path, PLAN, ())
    assert f"{path}" in str(refused.value)
    assert told in str(refused.value)
    assert "\n  " in str(refused.value), "says what to do"


def test_rows_of_a_cell_that_are_there_twice_count_once(path: Path) -> None:
    write(path, [CellEnded(rows=(row(None, 0),)), CellEnded(rows=(row(None, 0),))])
    _, remembered = open_journal(path, PLAN, ())
    assert remembered.rows == {CELL.key: (row(None, 0),)}


@pytest.mark.parametrize("written", [True, False])
def test_two_different_rows_of_one_attempt_are_refused(path: Path, written: bool) -> None:
    one, other = row(None, 0), row("oracle-failed", 0)
    write(path, [CellEnded(rows=(each,)) for each in ([other] if written else [one, other])])
    with pytest.raises(RunError, match="another row of t/a/0, attempt 0"):
        open_journal(path, PLAN, (one,) if written else ())
