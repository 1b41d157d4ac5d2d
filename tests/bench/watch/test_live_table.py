"""The live table, drawn by rich on a terminal that is only text."""

import io
import re
import threading

from rich.console import Console

from bench.watch import (
    CellFinished,
    CellStarted,
    GenerationStarted,
    Noted,
    SweepFinished,
    SweepStarted,
)
from bench.watch.table import LiveTable

STARTED = SweepStarted(generation=1, cells=4, tasks=2, arms=("review", "no_skill"), plan="p")
FINISHED = SweepFinished(generation=1, rows=4, cells=4, stopped=None)


def cell(arm: str = "review", status: str = "measured", *, weighted_f1: float | None = None) -> CellFinished:
    return CellFinished(
        cell=f"t/{arm}/0",
        task="t",
        arm=arm,
        status=status,
        kind=None if status == "measured" else "infra-error",
        resolved=status == "measured",
        weighted_f1=weighted_f1,
        cost_usd=None,
        seconds=1.0,
        detail="the disk is full",
        done=1,
        cells=4,
    )


def terminal(width: int = 100) -> tuple[LiveTable, io.StringIO]:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=width, height=40, highlight=False, _environ={})
    return LiveTable(console), out


def drawn(table: LiveTable) -> list[list[str]]:
    """The table as it stands, as words."""
    out = io.StringIO()
    Console(file=out, width=100, color_system=None, _environ={}).print(table)
    return [line.split() for line in out.getvalue().splitlines()]


def test_the_table_counts_what_was_measured_resolved_and_lost_per_arm() -> None:
    table, _ = terminal()
    table.see(STARTED)
    try:
        for event in (
            cell(weighted_f1=0.5),
            cell(weighted_f1=1.0),
            cell(status="failed"),
            cell("no_skill", "unusable"),
        ):
            table.see(event)
        rows = drawn(table)
    finally:
        table.close()

    assert rows[0] == ["arm", "measured", "reused", "resolved", "lost", "mean", "weighted", "F1"]
    assert rows[1] == ["review", "2", "0", "2", "1", "0.750"]
    assert rows[2] == ["no_skill", "0", "0", "0", "1", "n/a"]
    assert "4/4" in rows[3]


def test_the_table_names_the_cells_that_run_now() -> None:
    table, _ = terminal()
    table.see(STARTED)
    try:
        table.see(CellStarted(cell="t/review/0"))
        table.see(CellStarted(cell="t/no_skill/0"))
        both = drawn(table)[-1]
        table.see(cell())
        one = drawn(table)[-1]
        table.see(cell("no_skill"))
        none = drawn(table)[-1]
    finally:
        table.close()

    assert both == ["running:", "t/review/0,", "t/no_skill/0"]
    assert one == ["running:", "t/no_skill/0"]
    assert none == ["running:", "-"]


def test_a_whole_run_is_drawn_and_a_lost_cell_and_a_note_stay_above_the_table() -> None:
    table, out = terminal()
    for event in (
        GenerationStarted(generation=1, idea="idea", overlay="o"),
        STARTED,
        CellStarted(cell="t/review/0"),
        Noted(message="slow"),
        cell(status="failed"),
        FINISHED,
    ):
        table.see(event)
    table.close()
    said = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue())

    assert "generation 1: idea" in said
    assert "measuring 4 cells: 2 tasks x 2 arms" in said
    assert "note: slow" in said
    assert "t/review/0: failed, infra-error, 1.0 s: the disk is full" in said


def test_the_cursor_is_shown_again_however_the_run_ends() -> None:
    table, out = terminal()
    table.see(STARTED)

    table.close()
    table.close()

    assert out.getvalue().rindex("\x1b[?25h") > out.getvalue().rindex("\x1b[?25l")


def test_a_second_sweep_starts_from_nothing() -> None:
    table, _ = terminal()
    for event in (STARTED, cell(), FINISHED, STARTED):
        table.see(event)
    try:
        assert drawn(table)[1] == ["review", "0", "0", "0", "0", "n/a"]
    finally:
        table.close()


def test_a_stopped_sweep_says_what_stopped_it() -> None:
    table, out = terminal()
    table.see(STARTED)
    table.see(SweepFinished(generation=1, rows=1, cells=4, stopped="deadline"))

    assert "stopped by deadline: 1 of 4 cells have rows" in out.getvalue()


def test_no_name_drives_the_terminal_or_is_read_as_markup() -> None:
    table, out = terminal()
    wild = "\x1b[2J[red]x[/nothing]"
    table.see(SweepStarted(generation=1, cells=1, tasks=1, arms=(wild,), plan="p"))
    table.see(CellStarted(cell=wild))
    table.see(cell(wild, "failed"))
    table.see(Noted(message=wild))
    table.see(FINISHED)
    table.close()

    assert "\x1b[2J" not in out.getvalue()
    assert r"\x1b[2J[red]x[/nothing]" in out.getvalue()


def test_events_of_many_threads_are_all_counted() -> None:
    table, _ = terminal()

    def work() -> None:
        for _ in range(20):
            table.see(cell())

    table.see(STARTED)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert drawn(table)[1][:3] == ["review", "80", "0"]
    finally:
        table.close()
