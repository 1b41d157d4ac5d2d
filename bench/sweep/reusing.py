"""Finds the earlier rows that stand for cells of a plan, before it is sealed."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from msgspec import structs

from bench.arms import Arm, Cell, Journal, Workbench, identity, provenance
from bench.cancellation import Cancellation
from bench.errors import MeasurementError, RunError
from bench.harness import first_difference
from bench.project import objects_of
from bench.results import ObjectStore, ReuseKey, class_of, reuse_fields, reuse_values
from bench.reuse import (
    NONE,
    UNKNOWN,
    DriftState,
    Limits,
    Prior,
    Selection,
    Wanted,
    all_fresh,
    all_retired,
    find_priors,
    key_digest,
    latest_pool,
    project_drift,
    retired_classes,
    select,
    with_canaries,
)
from bench.spend import OpenPurse
from bench.suite import Task
from bench.sweep.foundation import foundation
from bench.sweep.ground import Ground, open_workbench
from bench.sweep.model import Plan, Sealed
from bench.sweep.pool import run_ordered
from bench.workspace import Template

HARNESS = "provenance.harness"
_REPEAT = reuse_fields().index("identity.repeat")


def with_reuse(ground: Ground, plan: Plan, arms: Mapping[str, Arm], cancellation: Cancellation) -> Sealed:
    """The plan with the source of each cell, and the earlier rows that it names. RunError for a named run that
    cannot be used.
    """
    founded = structs.replace(plan, foundation=foundation(_workbench(ground, plan, arms), plan))
    return _sealed(ground, founded, arms, cancellation)


def _sealed(ground: Ground, plan: Plan, arms: Mapping[str, Arm], cancellation: Cancellation) -> Sealed:
    if ground.config.reuse.source == NONE:
        return _with(plan, None, all_fresh(plan.cells, "reuse-off"), None)
    notes: list[str] = []
    priors = find_priors(ground.root, ground.config, notes.append)
    try:
        states = project_drift(ground.root)
    except RunError as error:
        unknown = all_fresh(plan.cells, "drift-unknown", str(error).splitlines()[0])
        return _with(plan, None, unknown, DriftState(), (str(error),))
    bench = _workbench(ground, plan, arms)
    drift = DriftState(pool=latest_pool(states, _class(bench, plan)), retired=all_retired(states))
    chosen = _most_fitting(bench, plan, priors, drift, cancellation)
    if chosen is None:
        drift = DriftState(retired=drift.retired)
        return _with(plan, None, all_fresh(plan.cells, "no-prior"), drift, tuple(notes))
    prior, wanted, selection = chosen
    selection = _naming_harness(selection, first_difference(prior.harness, ground.harness))
    selection = _remeasuring(ground, prior, wanted, selection, drift)
    return _with(plan, prior, selection, drift, tuple(notes))


def _with(
    plan: Plan,
    prior: Prior | None,
    selection: Selection,
    drift: DriftState | None,
    notes: tuple[str, ...] = (),
) -> Sealed:
    name = None if prior is None else prior.name
    sources = structs.replace(plan, reuse_from=name, sources=selection.sources)
    return Sealed(plan=sources, rows=selection.rows, drift=drift, notes=notes)


def _most_fitting(
    bench: Workbench, plan: Plan, priors: Iterable[Prior], drift: DriftState, cancellation: Cancellation
) -> tuple[Prior, Sequence[Wanted], Selection] | None:
    """Of the priors the one whose rows stand for the most cells, then a finished one, then the newest.

    Cells are compared by what they depend on: an older generation may have more rows by name, none of which fits.
    Nothing older is read once every cell of the comparators has its row.
    """
    limits = Limits(
        now=datetime.now(UTC), max_age_days=bench.config.reuse.max_age_days, retired=retired_classes(drift)
    )
    comparators = [index for index, cell in enumerate(plan.cells) if cell.role != "candidate"]
    best: tuple[Prior, Sequence[Wanted], Selection] | None = None
    most = (-1, False)
    for prior in priors:
        wanted = _wanted(bench, plan, _templates(bench, plan, prior, cancellation))
        selection = select(wanted, prior.rows, prior.plan, limits, bench.store.damage)
        worth = (sum(source.kind == "reused" for source in selection.sources), prior.finished)
        if worth > most:
            best, most = (prior, wanted, selection), worth
        if all(selection.sources[index].kind == "reused" for index in comparators):
            break
    return best


def _remeasuring(
    ground: Ground, prior: Prior, wanted: Sequence[Wanted], selection: Selection, drift: DriftState
) -> Selection:
    """The same with canaries; what another point of the same multirun has just measured needs none."""
    if prior.name.partition("/")[0] in ground.means.siblings:
        return selection
    looks = {key: pair.look for key, pair in drift.pool.pairs.items()} if drift.pool else {}
    return with_canaries(
        wanted,
        selection,
        ground.config.reuse.canaries,
        f"{ground.config.seed}/{prior.plan}",
        lambda cell: looks.get(key_digest(cell.key), 0) if looks and cell.key else 0,
    )


def _class(bench: Workbench, plan: Plan) -> ReuseKey:
    """What measures every cell of the plan; it is the same for all of them, and for no template."""
    first = plan.cells[0]
    return class_of(_key(bench, first, None))


def _naming_harness(selection: Selection, difference: str | None) -> Selection:
    """The same, with what of the harness is another one beside the digests that differ."""
    if difference is None:
        return selection
    sources = (
        structs.replace(source, detail=difference) if source.field == HARNESS else source
        for source in selection.sources
    )
    return Selection(tuple(sources), selection.rows)


def _workbench(ground: Ground, plan: Plan, arms: Mapping[str, Arm]) -> Workbench:
    """A workbench that nothing is measured at."""
    store, purse = ObjectStore(objects_of(ground.root)), OpenPurse(ground.config.timeout)
    journal = Journal(ground.scratch / "journal.jsonl", plan.suite)
    return open_workbench(ground, plan, arms, store, journal, purse)


def _templates(bench: Workbench, plan: Plan, prior: Prior, cancellation: Cancellation) -> dict[str, Template]:
    """The starting states of the tasks that the earlier generation measured, as far as they can be built."""
    measured = {row.identity.task for row in prior.rows}
    built: dict[str, Template] = {}

    def fold(task: Task, template: Template | None) -> None:
        if template is not None:
            built[task.id] = template

    run_ordered(
        [bench.tasks[task] for task in plan.tasks if task in measured],
        lambda task: _built(bench, task),
        fold,
        workers=bench.config.workers,
        window=2 * bench.config.workers,
        cancellation=cancellation,
    )
    return built


def _built(bench: Workbench, task: Task) -> Template | None:
    """The task's template; None where there is none, which the row of its cells will explain."""
    try:
        return bench.templates.build(task)
    except MeasurementError:
        return None


def _wanted(bench: Workbench, plan: Plan, templates: Mapping[str, Template]) -> Sequence[Wanted]:
    """What the measurement of each cell would depend on."""
    keys: dict[tuple[str, str], ReuseKey | None] = {}
    repeats: list[Wanted] = []
    for cell in plan.cells:
        pair = (cell.task, cell.arm)
        if pair not in keys:
            template = templates.get(cell.task)
            keys[pair] = None if template is None else _key(bench, cell, template)
        repeats.append(Wanted(*cell.key, _of_repeat(keys[pair], cell.repeat)))
    return repeats


def _key(bench: Workbench, cell: Cell, template: Template | None) -> ReuseKey:
    """The key of a cell; a model that is called but not named is unknown."""
    named = identity(bench, cell, 0)
    if bench.agent.calls_model and named.model is None:
        named = structs.replace(named, model=UNKNOWN)
    return reuse_values(named, provenance(bench, bench.arms[cell.arm], bench.tasks[cell.task], template))


def _of_repeat(key: ReuseKey | None, repeat: int) -> ReuseKey | None:
    return None if key is None else (*key[:_REPEAT], repeat, *key[_REPEAT + 1 :])
