"""What earlier generations of a project have judged, read from their promotion.json files and checked against the
rest of their runs.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from bench.config import read_saved_config
from bench.digest import digest_json
from bench.errors import ExtensionError, UserError
from bench.exits import ExitCode
from bench.project import RunFolder, list_runs, run_folder
from evolve.gate import Decision, Promotion, only_searches, recompute
from evolve.promoted import generation_faults, read_generation, read_promotions


class Judgement(Struct, frozen=True, kw_only=True):
    """One idea that was judged, and all that a proposer may know of it: the decision, no task and no number. `base` is
    the digest of the incumbent skills that it was measured against; `result` that of the skills with the idea in them;
    `complete` is false when the sweep was cut short; `searched` if a promotion only moves the champion.
    """

    run: str
    generation: int
    idea: str
    idea_digest: str
    suite: str
    agent: str
    policy: str
    base: str
    result: str
    decision: Decision
    contained: bool
    complete: bool
    searched: bool = False

    def folder(self, root: Path) -> Path:
        """Where the generation lies in its project."""
        return run_folder(root, self.run).path / f"gen-{self.generation}"


class History(Struct, frozen=True, kw_only=True):
    """The judgements that check, oldest first, and a line for each file that does not: it is believed in nothing."""

    judgements: tuple[Judgement, ...]
    skipped: tuple[str, ...]


def skills_digest(digests: Mapping[str, str]) -> str:
    """The identity of a set of skills: what an idea is judged on."""
    return digest_json(dict(digests))


def read_history(root: Path) -> History:
    """Every judged generation of the project, oldest first."""
    found = [judgement for run in list_runs(root) for judgement in _of_run(run)]
    return History(
        judgements=tuple(each for each in found if isinstance(each, Judgement)),
        skipped=tuple(each for each in found if isinstance(each, str)),
    )


def _of_run(run: RunFolder) -> Iterator[Judgement | str]:
    """The judgements of a run; a line instead of one that is passed over."""
    for number, path, promotion in read_promotions(run):
        if isinstance(promotion, UserError):
            yield _skipped(path, str(promotion))
            continue
        fault = _fault(run, number, path.parent, promotion)
        yield _judgement(promotion) if fault is None else _skipped(path, fault)


def _judgement(promotion: Promotion) -> Judgement:
    about = promotion.metadata
    return Judgement(
        run=about.run,
        generation=about.generation,
        idea=about.idea,
        idea_digest=about.idea_digest,
        suite=about.suite,
        agent=about.agent,
        policy=promotion.verdict.policy,
        base=skills_digest(about.base_skills),
        result=skills_digest(about.result_skills),
        decision=promotion.decision,
        contained=about.contained,
        complete=promotion.evidence.stopped is None and about.exit_code == ExitCode.VERDICT,
        searched=only_searches(promotion.verdict),
    )


def _fault(run: RunFolder, number: int, folder: Path, promotion: Promotion) -> str | None:
    """Why a judgement is not believed. A promotion must follow from everything else in its run; what decided
    against a candidate must follow from its own evidence, as far as its policy is installed.
    """
    try:
        if promotion.decision == "promote":
            config = read_saved_config(run.path / "config.json")
            generation = read_generation(folder, number, promotion, config)
            return next(generation_faults(config, run.id, generation), None)
        recompute(promotion)
    except ExtensionError as error:
        return str(error) if promotion.decision == "promote" else None
    except UserError as error:
        return str(error)
    return None


def _skipped(path: Path, why: str) -> str:
    return f"{path} is passed over: {' '.join(why.split())}"


def relevant(
    judgements: Iterable[Judgement], *, agent: str, policy: str, contained: bool
) -> tuple[Judgement, ...]:
    """The judgements that say something where this agent works and this policy decides: an idea that another
    agent could not use, or another policy kept out, is not judged here. Promotions count whoever reached them;
    what was measured without containment counts only where nothing is contained.
    """
    return tuple(
        each
        for each in judgements
        if each.contained >= contained
        and (each.decision == "promote" or (each.agent, each.policy) == (agent, policy))
    )


def judged_on(judgements: Iterable[Judgement], *, base: str, suite: str) -> frozenset[str]:
    """The ideas (digests) that were judged on exactly these incumbent skills and this suite."""
    return frozenset(
        each.idea_digest for each in judgements if each.complete and each.base == base and each.suite == suite
    )


def promoted_into(judgements: Iterable[Judgement], base: str) -> tuple[Judgement, ...]:
    """The chain of promotions whose last result is `base`, oldest first: what these skills already hold."""
    chain: list[Judgement] = []
    for each in reversed(tuple(judgements)):
        if each.decision == "promote" and each.result == base:
            chain.insert(0, each)
            base = each.base
    return tuple(chain)


def failed_release(judgements: Iterable[Judgement], pending: Judgement) -> Judgement | None:
    """The test that refused to release what a search promoted: these very skills, and complete."""
    if not pending.searched:
        return None
    tests = (each for each in judgements if not each.searched and each.complete)
    return next(
        (
            each
            for each in tests
            if (each.suite, each.result, each.policy) == (pending.suite, pending.result, pending.policy)
            and each.decision == "keep_incumbent"
        ),
        None,
    )


def unapplied_promotion(judgements: Iterable[Judgement], base: str, suite: str) -> Judgement | None:
    """The newest promotion whose chain began at the canonical skills as they are now, and which they do not hold."""
    known = tuple(judgements)
    held = promoted_into(known, base)
    for each in reversed(known):
        if (
            not each.contained
            or each.decision != "promote"
            or each.suite != suite
            or each.result == base
            or each in held
        ):
            continue
        if any(link.base == base for link in promoted_into(known, each.result)):
            return each
    return None
