"""What a log says of a run."""

import io
import threading
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.watch import (
    CellFinished,
    CellStarted,
    Event,
    GenerationStarted,
    Noted,
    PlainLines,
    RunFinished,
    RunStarted,
    SweepFinished,
    SweepStarted,
    VerdictReached,
)


def finished(
    cell: str = "t/review/0",
    status: str = "measured",
    kind: str | None = None,
    *,
    detail: str = "",
    weighted_f1: float | None = None,
) -> CellFinished:
    return CellFinished(
        cell=cell,
        task="t",
        arm="review",
        status=status,
        kind=kind,
        resolved=kind is None,
        weighted_f1=weighted_f1,
        cost_usd=None,
        seconds=1.25,
        detail=detail,
        done=1,
        cells=9,
    )


def told(*events: Event, quiet: bool = False) -> list[str]:
    out = io.StringIO()
    watcher = PlainLines(out, quiet=quiet)
    for event in events:
        watcher.see(event)
    watcher.close()
    return out.getvalue().split("\n")[:-1]


RUN: tuple[Event, ...] = (
    RunStarted(run="r-1", folder="/p/runs/r-1", root="/p", configuration="c" * 64),
    Noted(message="task slow is left out: expensive"),
    GenerationStarted(generation=1, idea="swallowed-exception", overlay="0123456789abcdef"),
    SweepStarted(generation=1, cells=9, tasks=3, arms=("review", "no_skill"), plan="p" * 64),
    CellStarted(cell="t/review/0"),
    finished(weighted_f1=0.5),
    finished(kind="oracle-failed", detail="1 found, 2 missed", weighted_f1=1 / 3),
    finished(status="failed", kind="session-error", detail="no result\nstderr: Traceback"),
    SweepFinished(generation=1, rows=4, cells=9, stopped="breaker"),
    VerdictReached(generation=1, decision="keep_incumbent", reasons=("no gain",), report="/p/report.md"),
    RunFinished(run="r-1", code=0),
)


def test_a_log_tells_a_run_in_lines_for_people() -> None:
    assert told(*RUN) == [
        "run r-1 in /p/runs/r-1",
        "note: task slow is left out: expensive",
        "generation 1: swallowed-exception (overlay 0123456789ab)",
        "measuring 9 cells: 3 tasks x 2 arms (review, no_skill)",
        "[1/9] t/review/0: measured, resolved, weighted F1 0.500, 1.2 s",
        "[1/9] t/review/0: measured, unresolved (oracle-failed), weighted F1 0.333, 1.2 s",
        "[1/9] t/review/0: failed, session-error, 1.2 s: no result",
        "stopped by breaker: 4 of 9 cells have rows; 5 cells not begun",
    ]


def test_a_quiet_log_tells_only_what_went_wrong() -> None:
    assert told(*RUN, quiet=True) == [
        "[1/9] t/review/0: failed, session-error, 1.2 s: no result",
        "stopped by breaker: 4 of 9 cells have rows; 5 cells not begun",
    ]


def test_a_sweep_that_ran_to_its_end_is_not_said_to_be_stopped() -> None:
    assert told(SweepFinished(generation=1, rows=9, cells=9, stopped=None)) == []


@pytest.mark.parametrize("detail", ["", "\n", " \n\n"])
def test_a_lost_cell_without_a_reason_is_told_all_the_same(detail: str) -> None:
    assert told(finished(status="failed", kind="infra-error", detail=detail)) == [
        "[1/9] t/review/0: failed, infra-error, 1.2 s: "
    ]


WILD = st.text(st.sampled_from("ab \n\t\r\x00\x07\x1b[31m\x7f\x9b\x85\u2028\u202e\udcff"), max_size=12)


@given(WILD)
def test_no_name_or_message_drives_the_terminal_or_forges_a_line(text: str) -> None:
    events: list[Event] = [
        RunStarted(run=text, folder=text, root=text, configuration=text),
        Noted(message=text),
        GenerationStarted(generation=1, idea=text, overlay=text),
        SweepStarted(generation=1, cells=1, tasks=1, arms=(text,), plan=text),
        finished(text, "failed", "infra-error", detail=text),
        SweepFinished(generation=1, rows=0, cells=1, stopped=text),
    ]

    lines = told(*events)

    assert len(lines) == len(events)
    said = "".join(lines)
    assert not [each for each in said if unicodedata.category(each) in ("Cc", "Cs") and each != "\t"]
    assert "\u202e" not in said


def test_lines_of_many_threads_do_not_mix() -> None:
    out = io.StringIO()
    watcher = PlainLines(out)

    def speak() -> None:
        for _ in range(50):
            watcher.see(Noted(message="x" * 50))

    threads = [threading.Thread(target=speak) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert out.getvalue().split("\n")[:-1] == ["note: " + "x" * 50] * 400
