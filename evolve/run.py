"""What `evolve` and `evolve plan` do, from overrides to the last line on the screen."""

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from bench.certificate import require_certificate
from bench.cli_run import (
    announce,
    command_again,
    confirmed,
    load,
    open_events,
    own_words,
    print_json,
    results_to,
)
from bench.commandline import cancel_on_signals
from bench.config import Config, PromotionConfig, ProposerConfig, read_overrides
from bench.digest import digest_json
from bench.errors import ConfigError
from bench.exits import ExitCode
from bench.project import RunFolder, removed_if_refused, run_folder, start_run
from bench.skills import Overlay, Skill, apply_overlay
from bench.sweep import Ground, canonical_skills, counting_work, open_ground, paying_campaign, refuse_solved
from bench.text import printable
from bench.watch import RunFinished, RunStarted
from evolve.apply import offer_refusal, promoted_overlay
from evolve.desk import open_errands
from evolve.errors import PromotionError
from evolve.forecast import Forecast, forecast_lines, make_forecast
from evolve.gate import load_policy
from evolve.generation import Conditions
from evolve.history import (
    Judgement,
    failed_release,
    promoted_into,
    read_history,
    skills_digest,
    unapplied_promotion,
)
from evolve.loop import RunResult, run_generations
from evolve.propose import Proposer, Remarking, create_proposer
from evolve.release import (
    refuse_unmeasurable,
    refuse_unreleased,
    release_campaign,
    release_command,
    release_test,
)
from evolve.summary import closing_lines, generation_lines, offer_lines, summarise, summarise_offer

Say = Callable[[str], None]


def plan(options: argparse.Namespace, root: Path, say: Say) -> ExitCode:
    """Print the forecast; nothing is proposed, measured or written."""
    loaded = load(options, root, "evolve")
    proposing, promotion = deciding(loaded.config)
    canonical, proposer = canonical_skills(loaded.config, root), create_proposer(proposing, root)
    _remark(proposer, canonical, say)
    with (
        cancel_on_signals(quiet=options.quiet) as cancellation,
        open_ground(loaded.config, root, loaded.folders, cancellation) as ground,
    ):
        announce(loaded, ground, say)
        require_certificate(ground)
        policy = load_policy(promotion)
        refuse_unmeasurable(loaded.config, policy)
        errands = open_errands(proposer, ground, loaded.folders)
        test = release_test(loaded.config, policy, root)
        forecast = make_forecast(ground, policy, promotion.split, canonical, cancellation, errands, test)
    if options.json:
        print_json(forecast)
    else:
        print("\n".join((*forecast_lines(forecast), *(f"note: {each}" for each in forecast.notes))))
    return ExitCode.VERDICT


def evolve(options: argparse.Namespace, root: Path, say: Say) -> ExitCode:
    """Run the configured generations; first comes an earlier promotion that nobody applied."""
    loaded = load(options, root, "evolve")
    proposing, promotion = deciding(loaded.config)
    policy, proposer = load_policy(promotion), create_proposer(proposing, root)
    campaign = release_campaign(loaded.config, policy, root)
    refuse_unmeasurable(loaded.config, policy)
    canonical = canonical_skills(loaded.config, root)
    _remark(proposer, canonical, say)
    pending = pending_promotion(loaded.config, root, canonical, say)
    if pending is not None and proposing.unapplied == "offer":
        print_offer(options, pending, root)
        return ExitCode.VERDICT
    start = None
    if proposing.unapplied == "build_on":
        refuse_unreleased(pending, policy)
        start = built_on(pending, canonical, root)
    with (
        cancel_on_signals(quiet=options.quiet) as cancellation,
        open_ground(loaded.config, root, loaded.folders, cancellation) as ground,
        paying_campaign(loaded.config, root, ground.means),
    ):
        announce(loaded, ground, say)
        errands = open_errands(proposer, ground, loaded.folders)
        require_certificate(ground)
        refuse_solved(ground, cancellation)
        incumbents = canonical if start is None else apply_overlay(canonical, start)
        test = release_test(loaded.config, policy, root)
        forecast = make_forecast(ground, policy, promotion.split, incumbents, cancellation, errands, test)
        for line in forecast_lines(forecast):
            say(line)
        if forecast.cost_high != 0 and not confirmed(loaded.config, _whole_cost(forecast), cancellation):
            return ExitCode.INTERRUPTED
        with (
            open_events(options, sys.stderr) as watcher,
            start_run(root, digest_json(loaded.config), "evolve") as hold,
        ):
            run = hold.run
            with removed_if_refused(run):
                loaded.save(run.path)
            watcher.see(_started(run, root, loaded.config))
            conditions = Conditions(
                ground=ground,
                policy=policy,
                run=run,
                watcher=watcher,
                cancellation=cancellation,
                campaign=campaign,
                errands=errands,
            )
            with removed_if_refused(run), counting_work(ground, run):
                result = run_generations(conditions, proposer, canonical, start, loaded.config.generations)
            hold.finish(int(result.code))
            watcher.see(RunFinished(run=run.id, code=int(result.code)))
    print_result(options, run, result, ground, command_again(options))
    return result.code


def _whole_cost(forecast: Forecast) -> str:
    return f"{forecast.cost}; proposing: {forecast.proposing}" if forecast.proposing else forecast.cost


def _remark(proposer: Proposer, loaded: Mapping[str, Skill], say: Say) -> None:
    for line in proposer.remarks(loaded) if isinstance(proposer, Remarking) else ():
        say(f"note: {line}")


def deciding(config: Config) -> tuple[ProposerConfig, PromotionConfig]:
    """The two groups that `bench` has not."""
    if config.proposer is None or config.promotion is None:
        raise ConfigError("this configuration has no proposer and no promotion: it is one of `bench`")
    return config.proposer, config.promotion


def pending_promotion(
    config: Config, root: Path, canonical: Mapping[str, Skill], say: Say
) -> Judgement | None:
    """The newest promotion that `evolve apply` would take; says why others are passed over."""
    digests = {name: skill.digest for name, skill in canonical.items()}
    history = read_history(root)
    for line in history.skipped:
        say(f"note: {printable(line)}")
    known, now = history.judgements, datetime.now(UTC)
    while (found := unapplied_promotion(known, skills_digest(digests), config.suite.name)) is not None:
        refusal = _refused(known, found) or offer_refusal(
            root, run_folder(root, found.run), digests, now, searched=found.searched
        )
        if refusal is None:
            return found
        say(f"note: the promotion of run {found.run} is not offered: {printable(refusal)}")
        known = tuple(each for each in known if each.run != found.run)
    return None


def _refused(known: Iterable[Judgement], found: Judgement) -> str | None:
    """Why a champion is not offered for release again."""
    failed = failed_release(known, found)
    return None if failed is None else f"the release test of run {failed.run} kept the incumbent"


def built_on(pending: Judgement | None, canonical: Mapping[str, Skill], root: Path) -> Overlay | None:
    """All that the run of the pending promotion promoted. PromotionError if that is not what the promotion says."""
    if pending is None:
        return None
    overlay = promoted_overlay(run_folder(root, pending.run))
    made = {name: skill.digest for name, skill in apply_overlay(canonical, overlay).items()}
    if skills_digest(made) != pending.result:
        raise PromotionError(
            f"run {pending.run} cannot be built on: its overlays do not make the skills that were measured\n"
            "  restore the run folder from a copy, or go on without it: proposer.unapplied=ignore"
        )
    return overlay


def _started(run: RunFolder, root: Path, config: Config) -> RunStarted:
    return RunStarted(run=run.id, folder=str(run.path), root=str(root), configuration=digest_json(config))


def print_offer(options: argparse.Namespace, pending: Judgement, root: Path) -> None:
    """Offer an earlier promotion that nobody applied."""
    if options.json:
        print_json(summarise_offer(pending, run_folder(root, pending.run).path))
        return
    chain = promoted_into(read_history(root).judgements, pending.result)
    ideas = [each.idea for each in chain if each.run == pending.run]
    print(
        "\n".join(
            offer_lines(pending, ideas, root, (command_again(options), _release(options, pending, root)))
        )
    )


def _release(options: argparse.Namespace, pending: Judgement, root: Path) -> str:
    """The command that tests a pending champion for release; the words are those of its own run."""
    words = read_overrides(run_folder(root, pending.run).path / "config.json")
    return release_command([*own_words(options), *words], pending.policy, pending.run)


def print_result(
    options: argparse.Namespace, run: RunFolder, result: RunResult, ground: Ground, again: str
) -> None:
    """What the run came to; `again` is the command that goes on from here."""
    if options.json:
        print_json(summarise(run.id, run.path, result))
        return
    lines = [line for generation in result.generations for line in generation_lines(generation)]
    print(
        "\n".join(
            lines
            + closing_lines(result, run.path, ground.root, contained=ground.sandbox.contains, again=again)
        ),
        file=results_to(options),
    )
