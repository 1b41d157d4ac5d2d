"""A generation once more, paid again: a run like any other, whose parent is the lock of then."""

import argparse
import sys
from collections.abc import Callable

from msgspec import structs

from bench.cli_run import confirmed, open_events
from bench.commandline import cancel_on_signals
from bench.config import Config, config_digest, saved_again
from bench.digest import canonical_json
from bench.disk import write_whole
from bench.errors import NotReproducible
from bench.project import RunFolder, removed_if_refused, start_run
from bench.sweep import counting_work, open_ground, paying_campaign, refuse_solved
from bench.watch import RunFinished, RunStarted
from evolve.forecast import forecast_lines, make_forecast
from evolve.gate import load_policy, read_promotion
from evolve.generation import Conditions
from evolve.lock import LOCK, Located, Observed, Parent, finished, observed_drifts, read_lock
from evolve.loop import RunResult, run_generations
from evolve.promoted import PromotedGeneration
from evolve.release import release_campaign
from evolve.reproduce.replaying import Again
from evolve.reproduce.standing import Recorded, proposal_of, stand_of, without
from evolve.run import deciding

Say = Callable[[str], None]


def rerun(
    options: argparse.Namespace,
    located: Located,
    config: Config,
    generation: PromotedGeneration,
    observed: Observed,
    say: Say,
) -> Again | None:
    """Pay for every cell again, with the recorded configuration and the recorded idea; None if nobody wanted to."""
    place = located.place
    again = without(config, generations=1, reuse=structs.replace(config.reuse, source="none"))
    _, promoting = deciding(again)
    policy = load_policy(promoting)
    campaign = release_campaign(again, policy, place.root)
    stand = stand_of(located, config, generation)
    with (
        cancel_on_signals(quiet=options.quiet) as cancellation,
        open_ground(again, place.root, place.config_dirs, cancellation) as ground,
        paying_campaign(again, place.root, ground.means),
    ):
        refuse_solved(ground, cancellation)
        forecast = make_forecast(ground, policy, promoting.split, stand.incumbents, cancellation)
        for line in forecast_lines(forecast):
            say(line)
        if forecast.cost_high != 0 and not confirmed(again, forecast.cost, cancellation):
            return None
        with (
            open_events(options, sys.stderr) as watcher,
            start_run(place.root, config_digest(again), "evolve reproduce") as hold,
        ):
            run = hold.run
            document = saved_again(place.run.path / "config.json", again)
            write_whole(run.path / "config.json", canonical_json(document) + b"\n")
            watcher.see(
                RunStarted(
                    run=run.id, folder=str(run.path), root=str(place.root), configuration=config_digest(again)
                )
            )
            conditions = Conditions(
                ground=ground,
                policy=policy,
                run=run,
                watcher=watcher,
                cancellation=cancellation,
                campaign=campaign,
            )
            parent = Parent(located.name, located.lock.digest)
            proposer = Recorded(proposal_of(located, generation))
            with removed_if_refused(run), counting_work(ground, run):
                result = run_generations(conditions, proposer, stand.canonical, stand.before, 1, parent)
            hold.finish(int(result.code))
            watcher.see(RunFinished(run=run.id, code=int(result.code)))
    return _came_out(located, run, result, observed)


def _came_out(located: Located, run: RunFolder, result: RunResult, observed: Observed) -> Again:
    """What the new run's files say."""
    if not result.generations or result.generations[0].evidence.stopped is not None:
        raise NotReproducible(
            f"the new run of {located.name} did not come to its end: nothing can be compared"
        )
    folder = result.generations[0].folder
    lock = folder / LOCK
    served = observed_drifts(observed, finished(lock, read_lock(lock)))
    return Again(run=run, promotion=read_promotion(folder / "promotion.json"), results=tuple(served))
