"""What `evolve reproduce`, `recipe` and `diff` do, from the words to the last line on the screen."""

import argparse
from collections.abc import Callable, Iterator, Sequence

from bench.cli_run import print_json, results_to
from bench.config import read_saved_config
from bench.digest import canonical_json, digest_json
from bench.disk import write_whole
from bench.errors import ConfigError
from bench.exits import ExitCode
from evolve.errors import LockError
from evolve.gate import Promotion
from evolve.lock import LOCK, Drift, Located, drift_line, drifts_of, drifts_since, finished, locate
from evolve.reproduce.difference import difference_lines, read_difference
from evolve.reproduce.model import REPRODUCTION_VERSION, Reproduction, Way
from evolve.reproduce.paying import rerun
from evolve.reproduce.recipe import read_recipe, recipe_lines
from evolve.reproduce.recomputing import RECORD, Recomputed, recompute_all, suite_of
from evolve.reproduce.replaying import Again, replay

Say = Callable[[str], None]
MOST_SHOWN = 100


def reproduce_command(options: argparse.Namespace, say: Say) -> ExitCode:
    """Tell what drifted and what came out otherwise. The run that is reproduced is never written to."""
    located = _one(locate(options))
    config = read_saved_config(located.place.run.path / "config.json")
    observed = finished(located.place.folder / LOCK, located.lock)
    suite = suite_of(located, config)
    drifts = drifts_since(located, suite)
    recomputed = recompute_all(located, config, observed, drifts, suite)
    again: Again | None = None
    if options.way == "replay":
        again = replay(options, located, config, recomputed.generation, observed)
    elif options.way == "rerun":
        again = rerun(options, located, config, recomputed.generation, observed, say)
        if again is None:
            return ExitCode.INTERRUPTED
    told = _told(located, options.way, drifts, recomputed, again)
    if again is not None:
        write_whole(again.run.path / RECORD, canonical_json(told) + b"\n")
    if options.json:
        print_json(told)
    else:
        print("\n".join(reproduction_lines(told)), file=results_to(options))
    return ExitCode(told.code)


def recipe_command(options: argparse.Namespace) -> ExitCode:
    """Print the words of a run, and what they come to today."""
    recipe = read_recipe(options)
    if options.json:
        print_json(recipe)
    else:
        print("\n".join(recipe_lines(recipe)))
    return ExitCode(recipe.code)


def diff_command(options: argparse.Namespace) -> ExitCode:
    """Print what two generations have otherwise; nothing is measured and nothing is written."""
    found = read_difference(options)
    if options.json:
        print_json(found)
    else:
        print("\n".join(difference_lines(found)))
    return ExitCode.VERDICT


def _one(found: Sequence[Located]) -> Located:
    if len(found) > 1:
        listed = "".join(f"\n  {each.name}" for each in found)
        raise ConfigError(f"the run has several generations; name one of them:{listed}")
    if not found:
        raise LockError("the run has no generation\n  see: evolve runs list")
    return found[0]


def _told(
    located: Located, way: Way, drifts: Sequence[Drift], recomputed: Recomputed, again: Again | None
) -> Reproduction:
    stated = recomputed.generation.promotion
    reached = recomputed.again if again is None else again.promotion
    results = (*recomputed.results, *(() if again is None else _again_drifts(stated, again)))
    same = not drifts and not results
    return Reproduction(
        schema_version=REPRODUCTION_VERSION,
        generation=located.name,
        way=way,
        outcome="identical" if same else "drifted",
        drifts=tuple(drifts),
        results=results,
        notes=recomputed.notes,
        rows=len(recomputed.generation.rows),
        artifacts=recomputed.artifacts,
        scores=recomputed.scored,
        not_scored=recomputed.left,
        decided=stated.decision,
        decision=reached.decision,
        verdict=digest_json(stated.verdict),
        now=digest_json(reached.verdict),
        run=None if again is None else again.run.id,
        code=int(ExitCode.VERDICT if same else ExitCode.DRIFTED),
    )


def _again_drifts(stated: Promotion, again: Again) -> Iterator[Drift]:
    """What came out of a new run otherwise: all but digests of the files of the old one."""
    yield from again.results
    then, now = digest_json(stated.verdict), digest_json(again.promotion.verdict)
    yield from drifts_of("verdict", {"in the new run": then}, {"in the new run": now})


def reproduction_lines(told: Reproduction) -> Iterator[str]:
    """The same for people."""
    yield f"{told.generation}: {told.outcome}"
    yield from _listed("read, and another one now", told.drifts)
    yield from _listed("came out otherwise", told.results)
    yield from (f"    {note}" for note in told.notes)
    left = f"; {told.not_scored} cannot be: their labels are others now" if told.not_scored else ""
    yield f"{told.rows} rows, {told.artifacts} artifacts hashed, {told.scores} scores computed again{left}"
    if told.run is not None:
        yield f"{'replayed' if told.way == 'replay' else 'paid again'} in run {told.run}"
    same = (
        "equal byte for byte"
        if told.verdict == told.now
        else f"then {told.decided}, verdict {told.verdict[:12]}…"
    )
    yield f"{told.decision}: verdict {told.now[:12]}… ({same})"


def _listed(title: str, found: Sequence[Drift]) -> Iterator[str]:
    if not found:
        return
    yield f"{len(found)} {title}:"
    yield from (f"  {drift_line(each)[:300]}" for each in found[:MOST_SHOWN])
    if len(found) > MOST_SHOWN:
        yield f"  and {len(found) - MOST_SHOWN} more: --json names them all"
