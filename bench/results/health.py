"""Whether the harness measured anything, arm by arm. Pure, and blind to whether an answer was right."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from bench.config import Role
from bench.exits import ExitCode
from bench.results.row import Row

State = Literal["UNKNOWN", "OK", "DEGRADED", "UNUSABLE"]
StopCause = Literal["cancelled", "budget-exhausted", "deadline", "breaker"]

_EXIT_OF_STOP: dict[StopCause, ExitCode] = {
    "cancelled": ExitCode.INTERRUPTED,
    "budget-exhausted": ExitCode.BUDGET,
    "deadline": ExitCode.BUDGET,
    "breaker": ExitCode.UNUSABLE,
}


class ArmHealth(Struct, frozen=True, kw_only=True):
    """One arm over all its fresh attempts: how many there were and were measured, what broke the others.

    A stopped attempt says nothing about the arm and is no attempt here; a reused row says nothing about today's
    environment and is none either.
    """

    arm: str
    role: Role
    state: State
    attempts: int
    measured: int
    broken: dict[str, int]


def health(rows: Iterable[Row], arms: Mapping[str, Role]) -> tuple[ArmHealth, ...]:
    """The health of each arm, in the order of `arms`; an arm without any fresh row is UNKNOWN."""
    rows = tuple(rows)
    return tuple(
        _arm_health(arm, role, [row for row in rows if row.identity.arm == arm]) for arm, role in arms.items()
    )


def exit_code(healths: Sequence[ArmHealth], stop_cause: StopCause | None) -> ExitCode:
    """The exit code of a sweep: what stopped it, else whether an arm other than a candidate is UNUSABLE.

    A candidate alone that cannot be measured is the candidate's failure: that is a verdict.
    """
    if stop_cause is not None:
        return _EXIT_OF_STOP[stop_cause]
    unusable = any(each.state == "UNUSABLE" and each.role != "candidate" for each in healths)
    return ExitCode.UNUSABLE if unusable else ExitCode.VERDICT


def _arm_health(arm: str, role: Role, rows: Sequence[Row]) -> ArmHealth:
    attempted = [row for row in rows if row.outcome.status != "stopped" and row.reuse is None]
    broken = Counter(str(row.outcome.kind) for row in attempted if row.outcome.status != "measured")
    measured = sum(row.outcome.status == "measured" for row in attempted)
    return ArmHealth(
        arm=arm,
        role=role,
        state=_state(measured, broken.total()),
        attempts=len(attempted),
        measured=measured,
        broken=dict(sorted(broken.items())),
    )


def _state(measured: int, broken: int) -> State:
    if measured == 0:
        return "UNUSABLE" if broken else "UNKNOWN"
    return "DEGRADED" if broken else "OK"
