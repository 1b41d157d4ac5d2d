"""Whatever an agent does in its cell, its row says what happened, and nothing of it is left."""

import secrets
from pathlib import Path

import pytest
from msgspec import Struct, structs

from bench.config import LimitsConfig
from bench.results import Kind, Outcome, Status
from tests.tampering import bad_agents, honesty
from tests.tampering.tiny_project import Range

BAD, HONEST = Path(bad_agents.__file__), Path(honesty.__file__)
SHORT = 3.0  # seconds, for what does not end


class Case(Struct, frozen=True, kw_only=True):
    """What is expected of the row of a bad agent, and in which circumstances."""

    status: Status = "measured"
    kind: Kind | None = None
    told: str = ""
    arm: str = "work"
    seconds: float = 20.0
    limits: dict[str, int | None] = {}


CASES = {
    "print-a-gigabyte": Case(status="failed", kind="session-error", told="session work: output-overflow: printed more than"),
    "print-a-long-line": Case(status="failed", kind="session-error", told="line 1 is longer than 1048576 bytes"),
    "print-no-text": Case(status="failed", kind="session-error", told="line 1 is not JSON"),
    "hang": Case(kind="agent-timeout", told="session work: timeout: still running after 3 s", seconds=SHORT),
    "hang-deaf": Case(kind="agent-timeout", told="session work: timeout: still running after 3 s", seconds=SHORT),
    "kill-its-parent": Case(status="failed", kind="session-error", told="session work: killed: killed by SIGKILL"),
    "leave-children": Case(),
    "fill-a-file": Case(status="failed", kind="session-error", told="File too large", limits={"file_mb": 8}),
    "fill-the-memory-disk": Case(
        status="failed", kind="session-error", told="No space left on device", limits={"memory_mb": 256}
    ),
    "delete-all": Case(kind="tampered", told="deleted tests (tests/__init__.py, tests/test_parse.py, tests/test_total.py)"),
    "forbid-writing": Case(),
    "forbid-all": Case(),
    "leave-notes-as-a-folder": Case(),
    "leave-a-plan-as-a-folder": Case(kind="plan-missing", told="session plan left no plan", arm="plan_work"),
    "leave-a-plan-as-a-pipe": Case(kind="plan-missing", told="session plan left no plan", arm="plan_work"),
    "fix-and-leave-things": Case(limits={"file_mb": None}),
    "fail-and-leave-things": Case(kind="oracle-failed", told="the hidden oracle failed", limits={"file_mb": None}),
}  # fmt: skip


def outcome_of(cells: Range, program: Path, deed: str, case: Case, task: str = "tiny") -> Outcome:
    """The outcome of a cell, once nothing of it is left running."""
    token = secrets.token_hex(8)
    sandbox = cells.ground.config.sandbox
    limits: LimitsConfig = structs.replace(sandbox.limits, **case.limits)
    row = cells.measure(
        program,
        deed,
        token,
        task=task,
        arm=case.arm,
        timeout=case.seconds,
        sandbox=structs.replace(sandbox, limits=limits),
    )
    assert running(token) == []
    return row.outcome


def running(token: str) -> list[str]:
    """The processes of this host, confined or not, that have `token` among their arguments."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if token.encode() in arguments:
            found.append(folder.name)
    return found


def test_every_bad_agent_is_expected() -> None:
    known = {"hang", *CASES} | set(honesty.deeds_of(vars(honesty))) | {"leave-things"}
    assert set(honesty.deeds_of(vars(bad_agents))) - known == set()


@pytest.mark.parametrize("deed", CASES)
def test_a_bad_agent_is_measured_as_what_it_was(deed: str, cells: Range) -> None:
    case = CASES[deed]
    outcome = outcome_of(cells, BAD, deed, case)
    assert (outcome.status, outcome.kind) == (case.status, case.kind), outcome
    assert case.told in outcome.detail


@pytest.mark.parametrize(
    "deed", ["delete-all", "forbid-all", "fix-and-leave-things", "fail-and-leave-things"]
)
def test_a_bad_agent_is_measured_alike_in_a_copied_tree(deed: str, copied: Range) -> None:
    case = CASES[deed]
    outcome = outcome_of(copied, BAD, deed, case)
    assert (outcome.status, outcome.kind) == (case.status, case.kind), outcome


def test_a_planning_session_that_works_breaks_its_boundary(cells: Range) -> None:
    outcome = outcome_of(cells, HONEST, "fix", Case(arm="plan_work"))
    assert (outcome.status, outcome.kind) == ("unusable", "boundary-violated")
    assert outcome.detail == "1 paths outside the session's boundary: shelf/prices.py"


def test_a_visible_check_that_never_ends_has_failed_and_says_why(cells: Range) -> None:
    outcome = outcome_of(cells, HONEST, "fix", Case(seconds=SHORT), task="tiny-endless")
    assert (outcome.status, outcome.kind, outcome.oracle_passed) == ("measured", "verify-failed", True)
    assert outcome.detail == "the visible check did not end within the time limit"
