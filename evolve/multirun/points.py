"""One point of a multirun of `evolve`: a run like any other, which shares budget, rows and proposals with its siblings."""

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct, structs

from bench.cancellation import Cancellation
from bench.certificate import require_certificate
from bench.cli_resume import tidy
from bench.config import Config
from bench.digest import digest_json
from bench.exits import ExitCode
from bench.multirun import Turn
from bench.project import RUNS, Hold, RunFolder, hold_run, removed_if_refused, start_run
from bench.skills import Overlay, Skill
from bench.sweep import Ground, canonical_skills, counting_work, open_ground, paying_campaign, refuse_solved
from bench.watch import RunFinished, RunStarted, Watcher
from evolve.campaign import Campaign
from evolve.desk import Errands, open_errands, was_proposing
from evolve.gate import Policy, load_policy
from evolve.generation import Conditions
from evolve.loop import run_generations
from evolve.multirun.proposing import share
from evolve.propose import Proposer, create_proposer
from evolve.release import release_campaign
from evolve.resume import Extent, rest_of, start_of
from evolve.run import deciding

_RESUMED = "evolve resume"


class Shared(Struct, frozen=True, kw_only=True):
    """What all points are run with; `start` is an earlier promotion that each is built on."""

    root: Path
    watcher: Watcher
    cancellation: Cancellation
    start: Overlay | None
    say: Callable[[str], None]


class _Deciding(Struct, frozen=True, kw_only=True):
    """What decides in one point, and on which skills; `asked` is the proposer once no sibling has a proposal more."""

    policy: Policy
    proposer: Proposer
    asked: Proposer
    campaign: Campaign | None
    canonical: Mapping[str, Skill]


def run_point(turn: Turn, shared: Shared) -> ExitCode:
    """Run a point, or go on with the run that an earlier process began for it."""
    run = None if turn.earlier is None else RunFolder(shared.root / RUNS / turn.earlier)
    if run is None or not _can_go_on(run, turn.loaded.config):
        return _anew(turn, shared)
    return _further(turn, shared, run)


def _can_go_on(run: RunFolder, config: Config) -> bool:
    """Whether anything of a run was sealed: before that, nothing was paid, and it is begun anew."""
    if not (run.path / "config.json").exists():
        return False
    builds = config.proposer is not None and config.proposer.unapplied == "build_on"
    return not builds or was_proposing(run) or any(run.path.glob("gen-*/plan.json"))


def _anew(turn: Turn, shared: Shared) -> ExitCode:
    config = turn.loaded.config
    decides = _deciding(turn, shared, None)
    with (
        open_ground(
            config, shared.root, turn.loaded.folders, shared.cancellation, siblings=turn.siblings
        ) as ground,
        paying_campaign(config, shared.root, ground.means),
    ):
        errands = open_errands(decides.asked, ground, turn.loaded.folders)
        require_certificate(ground)
        refuse_solved(ground, shared.cancellation)
        with start_run(shared.root, digest_json(config), "evolve") as hold:
            turn.begun(hold.run.id)
            with removed_if_refused(hold.run):
                turn.loaded.save(hold.run.path)
                with counting_work(ground, hold.run):
                    conditions = _conditions(ground, hold.run, decides, shared, errands)
                    return _generations(
                        hold, conditions, decides, shared.start, Extent(config.generations, None)
                    )


def _further(turn: Turn, shared: Shared, run: RunFolder) -> ExitCode:
    config = turn.loaded.config
    decides = _deciding(turn, shared, run.id)
    extent, start = rest_of(run, config, shared.say), start_of(run, config)
    tidy(run)
    with (
        hold_run(run, _RESUMED) as hold,
        open_ground(
            config, shared.root, turn.loaded.folders, shared.cancellation, run, turn.siblings
        ) as ground,
        counting_work(ground, run),
        paying_campaign(config, shared.root, ground.means),
    ):
        errands = open_errands(decides.asked, ground, turn.loaded.folders)
        begun = _conditions(ground, run, decides, shared, errands)
        conditions = structs.replace(begun, resumed=True, ended=extent.ended, again=extent.again)
        return _generations(hold, conditions, decides, start, extent)


def _generations(
    hold: Hold, conditions: Conditions, decides: _Deciding, start: Overlay | None, extent: Extent
) -> ExitCode:
    run, ground, watcher = conditions.run, conditions.ground, conditions.watcher
    digest = digest_json(ground.config)
    watcher.see(RunStarted(run=run.id, folder=str(run.path), root=str(ground.root), configuration=digest))
    result = run_generations(conditions, decides.proposer, decides.canonical, start, extent.generations)
    hold.finish(int(result.code))
    watcher.see(RunFinished(run=run.id, code=int(result.code)))
    return result.code


def _deciding(turn: Turn, shared: Shared, own: str | None) -> _Deciding:
    config = turn.loaded.config
    proposing, promotion = deciding(config)
    policy, asked = load_policy(promotion), create_proposer(proposing, shared.root)
    return _Deciding(
        policy=policy,
        proposer=share(asked, shared.root, turn.siblings, config, own),
        asked=asked,
        campaign=release_campaign(config, policy, shared.root),
        canonical=canonical_skills(config, shared.root),
    )


def _conditions(
    ground: Ground, run: RunFolder, decides: _Deciding, shared: Shared, errands: Errands | None
) -> Conditions:
    return Conditions(
        ground=ground,
        policy=decides.policy,
        run=run,
        watcher=shared.watcher,
        cancellation=shared.cancellation,
        campaign=decides.campaign,
        errands=errands,
    )
