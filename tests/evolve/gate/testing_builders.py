"""Evidence for the policies that test, from plain tables of outcomes; and the policies as conf/promotion has them."""

from collections.abc import Sequence
from typing import Any

import msgspec
import yaml
from hypothesis import strategies as st

from bench.config import conf_folder
from evolve.certify import arm_of, evidence_of, outcome_row
from evolve.gate import ANYTIME, EXACT, Evidence, Policy, RowEvidence, TaskEvidence

FACTORIES = {"exact": EXACT, "anytime": ANYTIME}
RANKS = {"insufficient_evidence": 0, "keep_incumbent": 1, "promote": 2}
Table = Sequence[Sequence[tuple[bool | None, bool | None]]]


def options(name: str = "exact") -> dict[str, Any]:
    """As they are committed, for a release test on outcomes."""
    chosen = yaml.safe_load((conf_folder() / "promotion" / f"{name}.yaml").read_text("utf-8"))["options"]
    return chosen | {"tier": "release", "endpoint": "resolved"}


def policy(name: str = "exact", **changes: Any) -> Policy:
    return FACTORIES[name].create(options(name) | changes)


def search(name: str = "exact", **changes: Any) -> Policy:
    return policy(name, tier="search", search_alpha=0.05, **changes)


def task(name: str, pairs: Sequence[tuple[bool | None, bool | None]], **changes: Any) -> TaskEvidence:
    """(incumbent, candidate) for each repeat; None could not be measured."""
    rows = [
        [
            outcome_row(repeat, resolved=pair[arm])
            for repeat, pair in enumerate(pairs)
            if pair[arm] is not None
        ]
        for arm in (0, 1)
    ]
    made = TaskEvidence(
        task=name, task_class="implementation", split="train", critical=False,
        incumbent=arm_of(rows[0], len(pairs)), candidate=arm_of(rows[1], len(pairs)),
    )  # fmt: skip
    return msgspec.structs.replace(made, **changes)


def outcomes(table: Table, **changes: Any) -> Evidence:
    made = evidence_of([task(f"t{number}", pairs) for number, pairs in enumerate(table)])
    return msgspec.structs.replace(made, **changes)


def with_rows(evidence: Evidence, arm: str, change: Any) -> Evidence:
    """The evidence with every row of one arm changed; `change(task, row)` gives the new row, or None to lose it."""
    (pair,) = evidence.pairs
    tasks = []
    for each in pair.tasks:
        old = getattr(each, arm)
        rows: list[RowEvidence] = [
            row for row in (change(each.task, row) for row in old.rows) if row is not None
        ]
        tasks.append(msgspec.structs.replace(each, **{arm: arm_of(rows, old.aggregate.runs)}))
    return msgspec.structs.replace(evidence, pairs=(msgspec.structs.replace(pair, tasks=tuple(tasks)),))


@st.composite
def tables(draw: st.DrawFn, *, missing: bool = False, most_tasks: int = 8) -> list[list[tuple[Any, Any]]]:
    """Tasks with as many repeats each; a cell may be missing."""
    cell = st.sampled_from((True, False, True, False, True, False, None) if missing else (True, False))
    repeats = draw(st.integers(2, 4))
    return [
        [(draw(cell), draw(cell)) for _ in range(repeats)] for _ in range(draw(st.integers(1, most_tasks)))
    ]
