"""A candidate whose skill was hardly used is not promoted, whatever its cells measured (measurement.md)."""

from collections.abc import Sequence

import evidence_builders
import msgspec
import pytest
import work_builders
from hypothesis import given
from hypothesis import strategies as st

from evolve.gate import ArmEvidence, Evidence, Policy, TaskEvidence

REVIEW = (evidence_builders.policy(), evidence_builders.evidence(evidence_builders.better()))
COST = (work_builders.policy(), evidence_builders.evidence(work_builders.cheaper()))
POLICIES = pytest.mark.parametrize(("policy", "promoting"), [REVIEW, COST], ids=["review", "cost"])


def used(promoting: Evidence, tasks: Sequence[Sequence[bool | None]]) -> Evidence:
    """As many copies of the evidence's task as given, the candidate's cells using their skill as given."""
    (only,) = promoting.pairs[0].tasks
    return evidence_builders.evidence(
        *(_task(only, f"{only.task}{number}", uses) for number, uses in enumerate(tasks))
    )


def _task(only: TaskEvidence, name: str, uses: Sequence[bool | None]) -> TaskEvidence:
    assert only.candidate is not None
    rows = tuple(
        msgspec.structs.replace(row, skill_invoked=use)
        for row, use in zip(only.candidate.rows, uses, strict=True)
    )
    return msgspec.structs.replace(
        only, task=name, candidate=ArmEvidence(aggregate=only.candidate.aggregate, rows=rows)
    )


@POLICIES
def test_a_candidate_that_used_its_skill_in_no_cell_is_not_promoted(
    policy: Policy, promoting: Evidence
) -> None:
    assert policy.decide(used(promoting, [[True] * 3])).decision == "promote"
    verdict = policy.decide(used(promoting, [[False] * 3]))
    assert verdict.decision == "keep_incumbent"
    assert "the candidate used its skill in 0 of 3 measured cells, fewer than half" in "\n".join(
        verdict.reasons
    )


@POLICIES
@given(
    tasks=st.lists(
        st.lists(st.sampled_from((True, False, None)), min_size=3, max_size=3), min_size=1, max_size=4
    )
)
def test_only_a_skill_that_was_used_in_half_of_all_cells_is_promoted(
    policy: Policy, promoting: Evidence, tasks: list[list[bool | None]]
) -> None:
    cells = [use for task in tasks for use in task]
    enough = 2 * cells.count(True) >= len(cells)
    decision = policy.decide(used(promoting, tasks)).decision
    assert decision == ("promote" if enough else "keep_incumbent")
