"""What `evolve verdict` does: a stored verdict reached again, asked of another policy, explained, compared."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from bench.cli_run import load, print_json
from bench.digest import digest_json
from bench.errors import ConfigError
from bench.exits import ExitCode
from bench.project import find_project, find_run
from evolve.errors import PromotionError
from evolve.gate import Policy, Promotion, load_policy, policy_named, read_promotion, recompute
from evolve.replay.compare import compare
from evolve.replay.influence import influences
from evolve.replay.model import REPLAY_VERSION, Comparison, Influence, Replay
from evolve.words import SENTENCES


def verdict_command(options: argparse.Namespace) -> ExitCode:
    """Print what was asked for; nothing is measured and nothing is written."""
    if options.run is None and options.diff is None:
        raise ConfigError("evolve verdict needs a run, or two of them: --diff A B")
    root = find_project(options.run or options.diff[0], options.root, Path.cwd())
    if options.diff is not None:
        return _print_comparison(options, root)
    replay = _replay(options, _promotion(root, options.run, options.generation), root)
    if options.json:
        print_json(replay)
    else:
        print("\n".join(replay_lines(replay)))
    return ExitCode.VERDICT


def _replay(options: argparse.Namespace, promotion: Promotion, root: Path) -> Replay:
    stated = promotion.verdict
    if options.policy:
        policy, again = _other(options, root), False
        verdict = policy.decide(promotion.evidence)
    else:
        policy, again = policy_named(stated.policy, stated.parameters), True
        verdict = recompute(promotion)
    return Replay(
        schema_version=REPLAY_VERSION,
        run=promotion.metadata.run,
        generation=promotion.metadata.generation,
        again=again,
        digest=digest_json(verdict),
        decided=promotion.decision,
        verdict=verdict,
        influences=tuple(influences(policy, promotion.evidence)) if options.explain else (),
    )


def replay_lines(replay: Replay) -> Iterator[str]:
    """A verdict for people."""
    by = (
        "reached again, equal byte for byte"
        if replay.again
        else f"asked afterwards, which holds no error; decided then: {replay.decided}"
    )
    verdict = replay.verdict
    yield f"run {replay.run}, generation {replay.generation}, policy {verdict.policy} ({by})"
    yield SENTENCES[verdict.decision]
    yield from (f"  - {reason}" for reason in verdict.reasons)
    for pair in verdict.pairs:
        yield ""
        yield f"{pair.candidate_arm} against {pair.incumbent_arm}, {verdict.metric}:"
        for task in pair.tasks:
            yield f"  {task.task}: {_number(task.incumbent)} → {_number(task.candidate)}  {task.effect}"
    if replay.influences:
        yield ""
        yield "what would change the decision:"
        yield from (f"  {_influence_words(each)}" for each in replay.influences)
    yield f"verdict {replay.digest}"


def _influence_words(influence: Influence) -> str:
    without = f"without it {influence.without}" if influence.flips else "without it the same"
    cells = (
        "no outcome of its cells alone"
        if influence.cells is None
        else f"{influence.cells} of its cells the other way round: {influence.then}"
    )
    return f"{influence.task}: {without}; {cells}"


def _print_comparison(options: argparse.Namespace, root: Path) -> ExitCode:
    first, second = (_promotion(root, name, options.generation) for name in options.diff)
    comparison = compare(first, second)
    if options.json:
        print_json(comparison)
    else:
        print("\n".join(comparison_lines(comparison)))
    return ExitCode.VERDICT


def comparison_lines(comparison: Comparison) -> Iterator[str]:
    """Two verdicts for people."""
    same = "the same evidence" if comparison.evidence else "other evidence"
    yield f"{comparison.first}  |  {comparison.second}  ({same})"
    for each in comparison.differences:
        yield f"  {each.what}: {each.first}  |  {each.second}"
    if not comparison.differences:
        yield "  they say the same"


def _other(options: argparse.Namespace, root: Path) -> Policy:
    options.overrides = list(options.policy)
    promotion = load(options, root, "evolve").config.promotion
    if promotion is None:
        raise ConfigError(
            "--policy names no promotion\n  write it like an override: --policy promotion=exact"
        )
    return load_policy(promotion)


def _promotion(root: Path, name: str, generation: int | None) -> Promotion:
    """The promotion of a generation of a run, or of its last one."""
    run = find_run(root, name)
    paths = {int(path.parent.name[4:]): path for path in run.path.glob("gen-*/promotion.json")}
    wanted = max(paths, default=None) if generation is None else generation
    if wanted is None or wanted not in paths:
        there = ", ".join(map(str, sorted(paths))) or "none"
        raise PromotionError(
            f"run {run.id} has no verdict of generation {wanted}\n  generations with one: {there}"
        )
    return read_promotion(paths[wanted])


def _number(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.4g}"
