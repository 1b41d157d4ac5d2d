"""What `evolve` and `evolve plan` do, from overrides to the last line on the screen."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.cli_run import announce, command_again, load, open_events, print_json, results_to
from bench.commandline import cancel_on_signals
from bench.config import Config, PromotionConfig, ProposerConfig
from bench.digest import digest_json
from bench.errors import ConfigError
from bench.exits import ExitCode
from bench.project import RunFolder, create_run, removed_if_refused
from bench.skills import Overlay, Skill, read_overlay
from bench.sweep import Ground, canonical_skills, open_ground, refuse_solved
from bench.watch import RunFinished, RunStarted
from evolve.campaign import Campaign
from evolve.forecast import forecast_lines, make_forecast
from evolve.gate import Policy, load_policy, spends
from evolve.generation import Conditions
from evolve.history import Judgement, promoted_into, read_history, skills_digest, unapplied_promotion
from evolve.loop import RunResult, run_generations
from evolve.propose import create_proposer
from evolve.summary import closing_lines, generation_lines, offer_lines, summarise, summarise_offer

Say = Callable[[str], None]


def plan(options: argparse.Namespace, root: Path, say: Say) -> ExitCode:
    """Print the forecast; nothing is proposed, measured or written."""
    loaded = load(options, root, "evolve")
    proposing, promotion = _deciding(loaded.config)
    create_proposer(proposing, root)
    canonical_skills(loaded.config, root)
    with (
        cancel_on_signals(quiet=options.quiet) as cancellation,
        open_ground(loaded.config, root, loaded.folders, cancellation) as ground,
    ):
        announce(loaded, ground, say)
        forecast = make_forecast(ground, load_policy(promotion), promotion.split)
    if options.json:
        print_json(forecast)
    else:
        print("\n".join(forecast_lines(forecast)))
    return ExitCode.VERDICT


def evolve(options: argparse.Namespace, root: Path, say: Say) -> ExitCode:
    """Run the configured generations; first comes an earlier promotion that nobody applied."""
    loaded = load(options, root, "evolve")
    proposing, promotion = _deciding(loaded.config)
    policy, proposer = load_policy(promotion), create_proposer(proposing, root)
    campaign = _campaign(loaded.config, policy, root)
    canonical = canonical_skills(loaded.config, root)
    pending = _pending(loaded.config, root, canonical)
    if pending is not None and proposing.unapplied == "offer":
        _print_offer(options, pending, root)
        return ExitCode.VERDICT
    start = _built_on(loaded.config, pending) if proposing.unapplied == "build_on" else None
    with (
        cancel_on_signals(quiet=options.quiet) as cancellation,
        open_ground(loaded.config, root, loaded.folders, cancellation) as ground,
    ):
        announce(loaded, ground, say)
        refuse_solved(ground, cancellation)
        for line in forecast_lines(make_forecast(ground, policy, promotion.split)):
            say(line)
        with open_events(options, sys.stderr) as watcher:
            run = create_run(root, digest_json(loaded.config))
            loaded.save(run.path)
            watcher.see(_started(run, root, loaded.config))
            conditions = Conditions(
                ground=ground,
                policy=policy,
                run=run,
                watcher=watcher,
                cancellation=cancellation,
                campaign=campaign,
            )
            with removed_if_refused(run):
                result = run_generations(conditions, proposer, canonical, start)
            watcher.see(RunFinished(run=run.id, code=int(result.code)))
    _print(options, run, result, ground)
    return result.code


def _deciding(config: Config) -> tuple[ProposerConfig, PromotionConfig]:
    """The two groups that `bench` has not."""
    if config.proposer is None or config.promotion is None:
        raise ConfigError("this configuration has no proposer and no promotion: it is one of `bench`")
    return config.proposer, config.promotion


def _campaign(config: Config, policy: Policy, root: Path) -> Campaign | None:
    """The campaign that a release test spends from, checked before anything is paid; None where nothing is spent."""
    if not spends(policy):
        return None
    if config.campaign is None:
        raise ConfigError(
            f"promotion={policy.name} with tier=release spends from a campaign's error budget, and none is named\n"
            "  name one: campaign=NAME; or let the champion move without releasing: promotion.options.tier=search"
        )
    campaign = Campaign(root, config.campaign)
    campaign.read()
    return campaign


def _pending(config: Config, root: Path, canonical: Mapping[str, Skill]) -> Judgement | None:
    base = skills_digest({name: skill.digest for name, skill in canonical.items()})
    return unapplied_promotion(read_history(root), base, config.suite.name)


def _built_on(config: Config, pending: Judgement | None) -> Overlay | None:
    """The champion of the run that holds the pending promotion."""
    return None if pending is None else read_overlay(pending.folder.parent / "champion", config.skills)


def _started(run: RunFolder, root: Path, config: Config) -> RunStarted:
    return RunStarted(run=run.id, folder=str(run.path), root=str(root), configuration=digest_json(config))


def _print_offer(options: argparse.Namespace, pending: Judgement, root: Path) -> None:
    if options.json:
        print_json(summarise_offer(pending))
        return
    chain = promoted_into(read_history(root), pending.result)
    ideas = [each.idea for each in chain if each.run == pending.run]
    print("\n".join(offer_lines(pending, ideas, root, command_again(options))))


def _print(options: argparse.Namespace, run: RunFolder, result: RunResult, ground: Ground) -> None:
    if options.json:
        print_json(summarise(run.id, run.path, result))
        return
    lines = [line for generation in result.generations for line in generation_lines(generation)]
    print(
        "\n".join(
            lines
            + closing_lines(
                result, run.path, ground.root, contained=ground.sandbox.contains, again=command_again(options)
            )
        ),
        file=results_to(options),
    )
