"""Several generations in one run: a promoted overlay is the next one's incumbent."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from bench.digest import digest_bytes
from bench.errors import BudgetExhausted, OverlayError
from bench.exits import ExitCode
from bench.skills import Overlay, Skill, apply_overlay
from bench.watch import Noted
from evolve.attempt import Reigning
from evolve.begun import read_begun
from evolve.desk import GenerationDesk
from evolve.errors import ProposalFailed, ProposalStopped
from evolve.generation import Conditions, Generation, resume_generation, run_generation
from evolve.history import Judgement, read_history, relevant, skills_digest
from evolve.lock import Parent, lock_of
from evolve.promoted import freeze_start, remove_champion, write_champion
from evolve.propose import Proposer, Setting


class RunResult(Struct, frozen=True, kw_only=True):
    """What a run came to. `champion` is the folder of all that it promoted, as one overlay over the canonical
    skills; null if nothing was, or if the folder could not be written.
    """

    generations: tuple[Generation, ...]
    champion: Path | None
    code: ExitCode


def run_generations(
    conditions: Conditions,
    proposer: Proposer,
    canonical: Mapping[str, Skill],
    start: Overlay | None,
    generations: int,
    parent: Parent | None = None,
) -> RunResult:
    """So many generations; fewer when nothing is left to propose or the evidence is unusable.

    `start` is an earlier promotion to build on: its skills are the first incumbents. `parent` is a generation of
    another run that the first one repeats.
    """
    done: list[Generation] = []
    champion, code, before = start, ExitCode.VERDICT, parent
    if start is not None and not conditions.resumed:
        freeze_start(conditions.run, start)
    incumbents = dict(canonical) if start is None else apply_overlay(canonical, start)
    for number in range(1, generations + 1):
        try:
            reigning = Reigning(incumbents, champion, canonical, before)
            generation = _generation(conditions, proposer, number, reigning)
        except (BudgetExhausted, ProposalFailed) as error:
            if not done and not isinstance(error, ProposalStopped):
                raise
            conditions.watcher.see(Noted(message=str(error)))
            code = error.code if isinstance(error, ProposalFailed) else ExitCode.BUDGET
            break
        if generation is None:
            conditions.watcher.see(Noted(message="nothing is left to propose on these skills"))
            break
        done.append(generation)
        code, before = generation.code, lock_of(conditions.run, number)
        if generation.verdict.decision == "promote":
            champion, incumbents = generation.champion, dict(generation.skills)
        if code is not ExitCode.VERDICT:
            break
    promoted = any(each.verdict.decision == "promote" for each in done)
    if conditions.resumed and not promoted:
        remove_champion(conditions.run)
    return RunResult(
        generations=tuple(done),
        champion=_write_champion(conditions, champion) if champion is not None and promoted else None,
        code=code,
    )


def _generation(
    conditions: Conditions, proposer: Proposer, number: int, reigning: Reigning
) -> Generation | None:
    """The next generation: one that an earlier process began, or a new proposal; None if nothing is left to try."""
    if conditions.resumed:
        begun = read_begun(conditions.run, number, conditions.ground.config)
        if begun is not None:
            return resume_generation(conditions, begun, reigning, again=number == conditions.again)
    proposal = proposer.propose(_setting(conditions, number, reigning.incumbents))
    return None if proposal is None else run_generation(conditions, number, proposal, reigning)


def _setting(conditions: Conditions, number: int, incumbents: Mapping[str, Skill]) -> Setting:
    ground = conditions.ground
    held_out = (task.id for task in ground.suite.tasks if task.split == "holdout")
    base = skills_digest({name: skill.digest for name, skill in incumbents.items()})
    judgements = relevant(
        read_history(ground.root).judgements,
        agent=ground.agent_name,
        policy=conditions.policy.name,
        contained=ground.sandbox.contains,
    )
    return Setting(
        run=conditions.run.id,
        specs=ground.config.skills,
        incumbents=incumbents,
        base=base,
        suite=ground.suite.name,
        judgements=judgements,
        held_out=frozenset(digest_bytes(name.encode()) for name in held_out),
        desk=_desk(conditions, number, base, judgements),
    )


def _desk(
    conditions: Conditions, number: int, base: str, judgements: tuple[Judgement, ...]
) -> GenerationDesk | None:
    if conditions.errands is None:
        return None
    return GenerationDesk(
        conditions.errands,
        conditions.run,
        number,
        base,
        judgements,
        conditions.cancellation,
        conditions.watcher,
    )


def _write_champion(conditions: Conditions, champion: Overlay) -> Path | None:
    """The promoted stack as one overlay folder, for people and `proposer=manual`; `apply` needs it no more than
    the generations' own overlays, so that a full disk at the end takes no promotion away.
    """
    try:
        return write_champion(conditions.run, champion)
    except OverlayError as error:
        conditions.watcher.see(Noted(message=f"{error}; `evolve apply` works without it"))
        return None
