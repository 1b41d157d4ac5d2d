"""How a run ends on the screen."""

import shlex
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bench.exits import ExitCode
from evolve.history import Judgement
from evolve.loop import RunResult
from evolve.summary import aligned, closing_lines, offer_lines, summarise

CELLS = st.text("abc1.", max_size=5)
TABLES = st.integers(1, 6).flatmap(
    lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=5)
)


@given(TABLES)
def test_every_row_of_a_table_is_a_line_that_holds_its_cells_in_order(rows: list[list[str]]) -> None:
    lines = aligned(rows)

    assert [line.split() for line in lines] == [[cell for cell in row if cell] for row in rows]
    assert all(line.startswith("  ") and line[2:] == line[2:].rstrip() for line in lines)


def test_names_are_aligned_to_the_left_and_numbers_to_the_right() -> None:
    rows = [("task", "split", "old", "new", "effect"), ("a", "train", "0.5", "0.25", "worse")]

    assert aligned(rows) == [
        "  task  split  old   new  effect",
        "  a     train  0.5  0.25  worse",
    ]


def test_the_command_that_takes_a_promotion_over_can_be_pasted_into_a_shell() -> None:
    folder, root = Path("/my project/runs/r"), Path("/my project")
    result = RunResult(generations=(), champion=folder / "champion", code=ExitCode.VERDICT)

    command = next(
        line
        for line in closing_lines(result, folder, root, contained=True, again="evolve")
        if "evolve apply" in line
    )

    words = shlex.split(command[command.index("evolve apply") :])
    assert words == ["evolve", "apply", "r", "--root", "/my project"]


def pending(*, searched: bool) -> Judgement:
    return Judgement(
        agent="rulebook/1",
        policy="exact",
        contained=True,
        run="r",
        generation=2,
        idea="an idea",
        idea_digest="",
        suite="starter",
        base="A",
        result="B",
        decision="promote",
        complete=True,
        searched=searched,
    )


COMMANDS = ("evolve suite=wild", "evolve experiment=release")


def test_an_unapplied_promotion_is_offered_with_all_three_ways_to_go_on() -> None:
    said = "\n".join(offer_lines(pending(searched=False), ["an idea"], Path("/p"), COMMANDS))

    assert "/p/runs/r/gen-2/report.md" in said
    assert "evolve apply r --root /p " in said
    assert "evolve suite=wild proposer.unapplied=build_on" in said
    assert "evolve suite=wild proposer.unapplied=ignore" in said
    assert "experiment=release" not in said


def test_a_champion_is_offered_for_a_release_test_and_not_for_applying() -> None:
    said = "\n".join(offer_lines(pending(searched=True), ["an idea"], Path("/p"), COMMANDS))

    assert "evolve experiment=release " in said
    assert "evolve suite=wild proposer.unapplied=build_on" in said
    assert "evolve apply" not in said


def test_a_run_without_a_generation_decided_nothing() -> None:
    summary = summarise("r", Path("/r"), RunResult(generations=(), champion=None, code=ExitCode.VERDICT))

    assert (summary.decision, summary.champion, summary.code) == (None, None, 0)


def test_a_run_that_was_stopped_before_its_first_cell_says_how_it_goes_on() -> None:
    result = RunResult(generations=(), champion=None, code=ExitCode.INTERRUPTED)
    assert "evolve resume r " in closing_lines(result, Path("r"), Path(), contained=True, again="")[-1]
