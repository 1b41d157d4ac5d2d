"""From rows to a policy's input. Pure: the order of rows, tasks and pairs does not matter."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from bench.digest import digest_json
from bench.results import Row, aggregate, by_cell
from evolve.gate.mixture import mixture_faults, repeated_tasks
from evolve.gate.model import ArmEvidence, Evidence, PairEvidence, RowEvidence, TaskEvidence

EVIDENCE_VERSION = 1

TaskFacts = tuple[str, str, str, bool]  # id, class, split, critical
Cells = Mapping[tuple[str, str], Sequence[Row]]


def collect_evidence(
    rows: Iterable[Row],
    *,
    tasks: Iterable[TaskFacts],
    pairs: Iterable[tuple[str, str]],
    model: str | None,
    deterministic: bool,
    stopped: str | None,
    split: str,
) -> Evidence:
    """All that a policy may know. `tasks` are all that were planned, `pairs` (incumbent arm, candidate arm).

    The latest attempt of a cell counts. ValueError for rows that do not belong together (of two plans, agents,
    models, overlays, prompts…), for a task with two sets of facts, and for a row of a paired arm on a task that
    was not planned: none of them may vanish.
    """
    rows, planned, arms = tuple(rows), sorted(tasks), sorted(set(pairs))
    faults = [*mixture_faults(rows, arms), *repeated_tasks(facts[0] for facts in planned)]
    if faults:
        raise ValueError("\n".join(faults))
    cells = by_cell(rows)
    paired = {arm for pair in arms for arm in pair}
    unplanned = {task for task, arm in cells if arm in paired} - {facts[0] for facts in planned}
    if unplanned:
        raise ValueError(f"rows of tasks that were not planned: {sorted(unplanned)}")
    return Evidence(
        schema_version=EVIDENCE_VERSION,
        model=model,
        deterministic=deterministic,
        stopped=stopped,
        split=split,
        pairs=tuple(_pair(incumbent, candidate, planned, cells) for incumbent, candidate in arms),
    )


def with_drift(evidence: Evidence, drift: str | None) -> Evidence:
    """The evidence with what the sweep's canaries showed: it counts where any row is reused, and only there."""
    return replace(evidence, drift=drift if evidence.sources()[1] else None)


def digest_rows(rows: Iterable[Row]) -> str:
    """Digest of a set of rows, in whatever order they come."""
    return digest_json(sorted(digest_json(row) for row in rows))


def _pair(incumbent: str, candidate: str, tasks: Sequence[TaskFacts], cells: Cells) -> PairEvidence:
    return PairEvidence(
        incumbent_arm=incumbent,
        candidate_arm=candidate,
        tasks=tuple(
            TaskEvidence(
                task=task,
                task_class=task_class,
                split=split,
                critical=critical,
                incumbent=_arm(cells.get((task, incumbent), ())),
                candidate=_arm(cells.get((task, candidate), ())),
            )
            for task, task_class, split, critical in tasks
        ),
    )


def _arm(rows: Sequence[Row]) -> ArmEvidence | None:
    """Null without any row; `rows` are in the order of their repeats."""
    if not rows:
        return None
    measured = tuple(_row(row) for row in rows if row.outcome.status == "measured")
    return ArmEvidence(aggregate=aggregate(rows), rows=measured)


def _row(row: Row) -> RowEvidence:
    return RowEvidence(
        row=digest_json(row),
        repeat=row.identity.repeat,
        fresh=row.reuse is None,
        resolved=row.outcome.resolved,
        skill_invoked=row.outcome.skill_invoked,
        score=row.score,
        cost_usd=row.usage.cost_usd,
        turns=row.usage.turns,
        seconds=row.timings.sessions,
        output=row.usage.output,
    )
