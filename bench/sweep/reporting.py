"""A measured plan as a report: the numbers, what was left out, and what they depend on."""

from collections.abc import Collection, Sequence

from bench import __version__
from bench.arms import CellKey
from bench.results import Report, ReportReuse, ReportVerdict, Row, health
from bench.reuse import miss_words
from bench.skills import ArmChange, identical_changes
from bench.sweep.ground import Ground
from bench.sweep.model import Plan
from bench.sweep.sweep import SweepResult


def sweep_report(
    ground: Ground,
    plan: Plan,
    result: SweepResult,
    verdict: ReportVerdict | None = None,
    spared: Collection[CellKey] = (),
) -> Report:
    """All that `report.md` says of one plan; `verdict` is the gate's, where there was one, `spared` are the cells
    that a look of it did not let begin.
    """
    return Report(
        title=f"{ground.suite.name}: {len(plan.tasks)} tasks, {len(plan.arms)} arms",
        rows=result.rows,
        health=health(result.rows, ground.roles(plan.arms)),
        provenance=_provenance(ground, plan),
        skipped=plan.left_out,
        verdict=verdict,
        stopped=result.stopped,
        not_begun=len(plan.cells) - len({row.key for row in result.rows} | {*spared}),
        spared=len(spared),
        because=result.because,
        spend=None if result.account is None else result.account.report(),
        reuse=_reuse(plan, result),
        alarms=() if ground.agent.deterministic else _alarms(result.rows),
    )


def _reuse(plan: Plan, result: SweepResult) -> ReportReuse | None:
    if plan.reuse_from is None:
        return None
    counts = plan.counts()
    return ReportReuse(
        origin=plan.reuse_from,
        fresh=counts["fresh"],
        canaries=counts["canary"],
        reused=counts["reused"],
        misses={miss_words(reason): count for reason, count in plan.misses().most_common()},
        drift=result.drift,
    )


def _provenance(ground: Ground, plan: Plan) -> dict[str, str]:
    sandbox = ", ".join(f"{key} {value}" for key, value in ground.sandbox.describe().items())
    return {
        "incumbent": __version__,
        "agent": f"{ground.agent.name} {ground.agent.version} ({ground.agent.digest[:12]})",
        "model": ground.measured_model or "not pinned",
        "effort": ground.config.effort or "n/a",
        "suite": f"{ground.suite.name} ({ground.suite.digest[:12]})",
        "overlay": plan.overlay or "none",
        "configuration": plan.configuration,
        "sandbox": sandbox,
        "working copies": ground.workspaces.name,
        "harness": ground.harness.digest,
        "seed": str(plan.seed),
    }


def _alarms(rows: Sequence[Row]) -> tuple[str, ...]:
    """Two arms with the very same change may have seen each other's work: a sign of a leak. (Not where a
    deterministic agent works: arms that share a rule make the same change.)
    """
    changes = [
        ArmChange(*row.key, row.change.fingerprint if row.change and row.change.files else None)
        for row in rows
    ]
    return tuple(
        f"task {each.task}: the same change ({each.fingerprint[:12]}) was left by "
        + " and ".join(f"{arm} repeat {repeat}" for arm, repeat in each.cells)
        for each in identical_changes(changes)
    )
