"""What earlier generations of a project have judged, read from their promotion.json files."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from bench.digest import digest_json
from bench.errors import ExtensionError
from bench.exits import ExitCode
from bench.project import RunFolder, list_runs
from evolve.errors import PromotionError
from evolve.gate import Decision, Promotion, read_promotion, recompute


class Judgement(Struct, frozen=True, kw_only=True):
    """One idea that was judged. `base` is the digest of the incumbent skills that it was measured against;
    `result` that of the skills with the idea in them; `complete` is false when the sweep was cut short.
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
    folder: Path


def skills_digest(digests: Mapping[str, str]) -> str:
    """The identity of a set of skills: what an idea is judged on."""
    return digest_json(dict(digests))


def read_history(root: Path) -> tuple[Judgement, ...]:
    """Every judged generation of the project, oldest first. PromotionError names a file that cannot be read."""
    return tuple(judgement for run in list_runs(root) for judgement in _of_run(run))


def _of_run(run: RunFolder) -> Iterable[Judgement]:
    paths = [path for path in run.path.glob("gen-*/promotion.json") if path.parent.name[4:].isdecimal()]
    for path in sorted(paths, key=lambda each: int(each.parent.name[4:])):
        promotion = read_promotion(path)
        _check(promotion, path)
        about = promotion.metadata
        yield Judgement(
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
            folder=path.parent,
        )


def _check(promotion: Promotion, path: Path) -> None:
    """PromotionError if the file's decision is not the one that its own evidence gives."""
    try:
        recompute(promotion)
    except ExtensionError:
        return  # its policy is not installed any more: what it decided then cannot be reached again here
    except PromotionError as error:
        raise PromotionError(f"{path}: {error}") from error


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
