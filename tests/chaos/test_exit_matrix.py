"""What stops a command names its exit code, whichever command it is and whether earlier rows stand for its cells."""

from pathlib import Path

import pytest

from bench.exits import ExitCode
from tests.chaos.case import NEVER, Case, Point

pytestmark = pytest.mark.e2e
CODES = {
    "outage": ExitCode.UNUSABLE,
    "SIGINT": ExitCode.INTERRUPTED,
    "SIGTERM": ExitCode.INTERRUPTED,
    "budget": ExitCode.BUDGET,
}
# what every plan here needs at the least fits, but not all that its cells may need
BUDGETS = {("bench", False): 5, ("evolve", False): 7, ("bench", True): 1, ("evolve", True): 5}


def ended(case: Case, program: str, point: Point, *words: str) -> int:
    return told(case, program, point, *words)[0]


def told(case: Case, program: str, point: Point, *words: str) -> tuple[int, str]:
    done = case.run(program, point, *words)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


def stopping(cause: str, case: Case) -> Point:
    """What stops a command for this cause; a budget is one of its words."""
    if cause == "outage":
        case.project.breaks("all")
    return Point("session", "running", 1, cause) if cause.startswith("SIG") else NEVER


def a_case(cause: str, folder: Path) -> Case:
    """In bubblewrap, where an agent cannot be told from outside to break."""
    return Case(folder, "host" if cause == "outage" else "bubblewrap", kinds=("work",))


def words_of(case: Case, program: str) -> list[str]:
    """`bench` has no proposer and no promotion."""
    own = ("proposer", "promotion")
    return [word for word in case.project.words if program == "evolve" or not word.startswith(own)]


def newest(case: Case) -> str:
    return max(
        case.project.root.glob("runs/2*"), key=lambda run: (run / "config.json").stat().st_mtime_ns
    ).name


def begun(case: Case, program: str, *, reuse: bool) -> list[str]:
    """The words of a run of which some cells have earlier rows, if asked for."""
    words = [*words_of(case, program), "breaker=2", "retries=0"]
    if not reuse:
        return [*words, "reuse=none"]
    assert (
        ended(case, "bench", NEVER, *words_of(case, "bench"), "breaker=2", "retries=0", "tasks.id=one") == 0
    )
    return [*words, "reuse.canaries=0"]


@pytest.mark.parametrize("reuse", [False, True], ids=["all-measured", "some-reused"])
@pytest.mark.parametrize("program", ["bench", "evolve"])
@pytest.mark.parametrize("cause", CODES)
def test_a_run_that_is_stopped_exits_with_the_code_of_its_cause(
    cause: str, program: str, *, reuse: bool, tmp_path: Path
) -> None:
    case = a_case(cause, tmp_path / "case")
    words = begun(case, program, reuse=reuse)
    if cause == "budget":
        words.append(f"budget.sessions={BUDGETS[program, reuse]}")
    assert ended(case, program, stopping(cause, case), *words) == CODES[cause]


@pytest.mark.parametrize("program", ["bench", "evolve"])
@pytest.mark.parametrize("cause", CODES)
def test_a_run_that_goes_on_exits_with_the_code_of_what_stops_it_then(
    cause: str, program: str, tmp_path: Path
) -> None:
    case = a_case(cause, tmp_path / "case")
    # one worker: where two were at work, one of their cells may be done before the other is stopped
    words = [*begun(case, program, reuse=True), "workers=1"]
    if cause == "budget":
        words.append(f"budget.sessions={BUDGETS[program, True] + 1}")
    assert ended(case, program, Point("session", "running", 1, "SIGINT"), *words) == ExitCode.INTERRUPTED
    run = newest(case)
    code, said = told(case, program, stopping(cause, case), "resume", run)
    assert code == CODES[cause]
    if cause == "budget":  # resume takes no overrides: what it cannot do is not advised
        assert "start a new one" in said or "run it again with a higher limit" in said
        assert f"resume {run}" not in said


@pytest.mark.parametrize("cause", CODES)
def test_a_topup_exits_with_the_code_of_what_stops_it(cause: str, tmp_path: Path) -> None:
    case = Case(tmp_path / "case", "host", kinds=("work",))
    outage = cause == "outage"  # measured successes between failures are none: for one, all have to fail
    case.project.breaks("work" if outage else "work brief")
    limit = ["budget.sessions=11"] if cause == "budget" else []
    code, said = told(case, "evolve", NEVER, *words_of(case, "evolve"), "breaker=5", "retries=0", *limit)
    assert code == (ExitCode.UNUSABLE if outage else ExitCode.VERDICT)
    assert outage or f"evolve topup {newest(case)}" in said
    assert outage or f"evolve topup {newest(case)}" in (case.project.run / "gen-1" / "report.md").read_text()
    case.project.breaks(None)
    assert ended(case, "evolve", stopping(cause, case), "topup", newest(case)) == CODES[cause]


@pytest.mark.parametrize("program", ["bench", "evolve"])
def test_a_run_of_which_nothing_is_left_to_measure_needs_no_budget_and_no_agent(
    program: str, tmp_path: Path
) -> None:
    case = Case(tmp_path / "case", "host", kinds=("work",))
    words = [*words_of(case, program), "breaker=2", "retries=0", "reuse.canaries=0"]
    again = [*words, "proposer.unapplied=ignore"] if program == "evolve" else words
    assert ended(case, program, NEVER, *words) == ExitCode.VERDICT
    case.project.breaks("all")
    assert ended(case, program, NEVER, *again, "budget.sessions=1") == ExitCode.VERDICT
