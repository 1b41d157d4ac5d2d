"""The outage breaker against a model of it: a list of all rows so far."""

from datetime import UTC, datetime

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from bench.agents import Usage
from bench.results import SCHEMA_VERSION, Identity, Outcome, Provenance, Row, Status, Timings
from bench.sweep import Breaker

KIND_OF = {"measured": None, "failed": "infra-error", "unusable": "review-invalid", "stopped": "cancelled"}
STATUSES: tuple[Status, ...] = ("measured", "failed", "unusable", "stopped")
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def row(status: Status) -> Row:
    return Row(
        schema_version=SCHEMA_VERSION,
        identity=Identity(
            task="t",
            task_class="review-defect",
            split="train",
            arm="review",
            role="incumbent",
            repeat=0,
            generation=0,
            plan="",
            attempt=0,
            agent="rulebook",
            agent_version="1",
            model=None,
            effort=None,
            seed=0,
        ),
        provenance=msgspec.convert(dict.fromkeys(Provenance.__struct_fields__, ""), Provenance),
        outcome=Outcome(status=status, kind=KIND_OF[status], resolved=status == "measured"),  # type: ignore[arg-type]
        score=None,
        usage=Usage(),
        sessions={},
        timings=Timings(),
        change=None,
        artifacts={},
        started_at=MOMENT,
        finished_at=MOMENT,
    )


ROWS = {status: row(status) for status in STATUSES}


def streak(statuses: list[Status]) -> int:
    """How many rows at the end were lost to an outage; what was stopped says nothing either way."""
    telling = [status for status in statuses if status != "stopped"]
    lost = 0
    while telling and telling.pop() != "measured":
        lost += 1
    return lost


class BreakerMachine(RuleBasedStateMachine):
    """Any sequence of rows, taken by a breaker with any limit."""

    @initialize(limit=st.integers(0, 4))
    def set_limit(self, limit: int) -> None:
        self.limit = limit
        self.breaker = Breaker(limit)
        self.taken: list[Status] = []

    @rule(status=st.sampled_from(STATUSES))
    def take(self, status: Status) -> None:
        self.taken.append(status)
        tripped = self.breaker.take(ROWS[status])
        assert tripped == (self.limit > 0 and streak(self.taken) >= self.limit)


TestBreakerTripsExactlyAtItsLimit = BreakerMachine.TestCase


@given(st.lists(st.sampled_from(["failed", "unusable"]), min_size=5, max_size=5))
def test_it_trips_at_the_limit_and_not_before(lost: list[Status]) -> None:
    breaker = Breaker(5)

    assert [breaker.take(ROWS[status]) for status in lost] == [False, False, False, False, True]


def test_a_measured_row_resets_it_and_a_stopped_one_does_not() -> None:
    breaker = Breaker(2)
    rows: tuple[Status, ...] = ("failed", "measured", "failed", "stopped", "unusable")

    assert [breaker.take(ROWS[status]) for status in rows] == [False, False, False, False, True]


@given(st.lists(st.sampled_from(STATUSES), max_size=30))
def test_a_limit_of_0_never_trips(statuses: list[Status]) -> None:
    breaker = Breaker(0)

    assert not any(breaker.take(ROWS[status]) for status in statuses)
