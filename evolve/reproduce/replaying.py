"""The sweep of a generation once more, answered from its cassettes: into a new run, of which nobody takes a promotion."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, structs

from bench.agents import create_agent
from bench.arms import Arm
from bench.cli_run import open_events
from bench.commandline import cancel_on_signals
from bench.config import BudgetConfig, Config, config_digest, saved_again
from bench.digest import canonical_json, digest_json
from bench.disk import write_whole
from bench.errors import NotReproducible, UserError
from bench.project import RunFolder, removed_if_refused, start_run
from bench.skills import freeze_overlay
from bench.sweep import (
    CASSETTES,
    Ground,
    Plan,
    Sealed,
    SweepResult,
    make_arms,
    measure_plan,
    open_ground,
    read_sealed,
)
from bench.watch import RunFinished, RunStarted
from evolve.errors import LockError
from evolve.gate import Promotion
from evolve.lock import (
    LOCK,
    Drift,
    Located,
    Observed,
    Parent,
    cassettes_in,
    finished,
    observe,
    observed_drifts,
    read_lock,
    seal_generation,
)
from evolve.promoted import PromotedGeneration, rebuild
from evolve.reproduce.rows import row_drifts
from evolve.reproduce.standing import Stand, stand_of, without


class Again(Struct, frozen=True, kw_only=True):
    """What came out in a new run."""

    run: RunFolder
    promotion: Promotion
    results: tuple[Drift, ...]


def replay(
    options: argparse.Namespace,
    located: Located,
    config: Config,
    generation: PromotedGeneration,
    observed: Observed,
) -> Again:
    """Measure again without a provider. NotReproducible if the cassettes, the skills or the tasks are not those of then."""
    place = located.place
    replayed = _replaying(located, config, observed, options.cassettes)
    stand = stand_of(located, config, generation)
    with (
        cancel_on_signals(quiet=options.quiet) as cancellation,
        open_ground(replayed, place.root, place.config_dirs, cancellation) as ground,
        open_events(options, sys.stderr) as watcher,
        start_run(place.root, config_digest(replayed), "evolve reproduce") as hold,
    ):
        run, folder = hold.run, hold.run.generation(generation.number)
        with removed_if_refused(run):
            _save(located, replayed, run)
            arms = _arms(ground, located, generation, stand)
            sealed = _sealed(located, generation, replayed)
            freeze_overlay(generation.overlay, folder / "overlay")
            parent = Parent(located.name, located.lock.digest)
            seal_generation(ground, run, folder, sealed.plan, stand.canonical, parent, {})
        watcher.see(
            RunStarted(
                run=run.id, folder=str(run.path), root=str(place.root), configuration=config_digest(replayed)
            )
        )
        result = measure_plan(ground, sealed, arms, run, folder, watcher, cancellation)
        promotion = _judged(located, config, generation, sealed.plan, result)
        observe(run, folder, result.rows, promotion.verdict)
        hold.finish(0)
        watcher.see(RunFinished(run=run.id, code=0))
    lock = folder / LOCK
    served = observed_drifts(observed, finished(lock, read_lock(lock)))
    return Again(run=run, promotion=promotion, results=(*served, *row_drifts(generation.rows, result.rows)))


def _replaying(located: Located, config: Config, observed: Observed, named: str | None) -> Config:
    """The configuration with answers from the cassettes; it costs nothing and belongs to no campaign."""
    free = without(
        config,
        campaign=None,
        budget=BudgetConfig(confirm=False),
        reuse=structs.replace(config.reuse, source="none"),
    )
    if named is not None and not Path(named).is_dir():
        raise NotReproducible(f"--cassettes {named}: there is no such folder")
    if not create_agent(config.agent, located.place.root).calls_model:
        return free
    folder = located.place.folder / CASSETTES if named is None else Path(named).resolve()
    _check_cassettes(located, folder, observed)
    model = structs.replace(
        config.model, upstream="replay", cassettes=str(folder), script=None, key=None, record=False
    )
    return without(free, model=model)


def _check_cassettes(located: Located, folder: Path, observed: Observed) -> None:
    """LockError unless the folder holds exactly what was recorded of this generation."""
    if not observed.cassettes:
        raise LockError(
            f"nothing was recorded of {located.name}: there are no cassettes to answer from\n"
            "  record the next one (model.record=true), or pay again: --rerun"
        )
    there = cassettes_in(folder)
    others = sorted(
        name for name in {*observed.cassettes, *there} if observed.cassettes.get(name) != there.get(name)
    )
    if others:
        raise LockError(
            f"{folder} does not hold the cassettes of {located.name}: {others[0]} is of another generation, "
            f"damaged or missing ({len(others)} of {len(observed.cassettes)} files)\n"
            "  name the folder that was recorded with it: --cassettes DIR"
        )


def _save(located: Located, config: Config, run: RunFolder) -> None:
    document = saved_again(located.place.run.path / "config.json", config)
    write_whole(run.path / "config.json", canonical_json(document) + b"\n")


def _arms(
    ground: Ground, located: Located, generation: PromotedGeneration, stand: Stand
) -> Mapping[str, Arm]:
    plan = generation.plan
    missing = sorted({*plan.tasks} - {task.id for task in ground.tasks})
    if missing:
        raise NotReproducible(
            f"{located.name} cannot be run again: its suite has no task {missing[0]} any more\n"
            "  put the suite back as it was: evolve lock verify names what changed"
        )
    return make_arms(ground, plan.arms, stand.incumbents, stand.candidates, generation.overlay.digest)


def _sealed(located: Located, generation: PromotedGeneration, config: Config) -> Sealed:
    """The plan of then under the configuration of now, with the earlier rows that stood for cells. What is known of
    drift stays with the run that measured it.
    """
    rows = read_sealed(located.place.folder, generation.plan).rows
    return Sealed(plan=structs.replace(generation.plan, configuration=config_digest(config)), rows=rows)


def _judged(
    located: Located, config: Config, generation: PromotedGeneration, plan: Plan, result: SweepResult
) -> Promotion:
    """The verdict on the new rows, as the policy of then reaches it."""
    if result.stopped is not None:
        raise NotReproducible(
            f"the sweep was stopped ({result.stopped}) before every cell was lived through again\n"
            f"  begin again: evolve reproduce {located.name} --replay"
        )
    again = structs.replace(generation, rows=result.rows, plan=plan, plan_digest=digest_json(plan))
    try:
        return rebuild(config, located.place.run.id, again)
    except (ValueError, UserError) as error:
        raise NotReproducible(f"no verdict follows from the new rows: {error}") from error
