"""Several generations in one run: a promoted overlay is the next one's incumbent."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from bench.errors import BudgetExhausted
from bench.exits import ExitCode
from bench.skills import Overlay, Skill, apply_overlay, stack_overlays, write_overlay
from bench.watch import Noted
from evolve.generation import Conditions, Generation, run_generation
from evolve.history import read_history, relevant, skills_digest
from evolve.propose import Proposer, Setting


class RunResult(Struct, frozen=True, kw_only=True):
    """What a run came to. `champion` is the folder of all that it promoted, as one overlay over the canonical
    skills; null if nothing was.
    """

    generations: tuple[Generation, ...]
    champion: Path | None
    code: ExitCode


def run_generations(
    conditions: Conditions, proposer: Proposer, canonical: Mapping[str, Skill], start: Overlay | None
) -> RunResult:
    """As many generations as configured; fewer when nothing is left to propose or the evidence is unusable.

    `start` is an earlier promotion to build on: its skills are the first incumbents.
    """
    done: list[Generation] = []
    champion, code = start, ExitCode.VERDICT
    incumbents = dict(canonical) if start is None else apply_overlay(canonical, start)
    for number in range(1, conditions.ground.config.generations + 1):
        proposal = proposer.propose(_setting(conditions, incumbents))
        if proposal is None:
            conditions.watcher.see(Noted(message="nothing is left to propose on these skills"))
            break
        try:
            spent = sum(each.paid for each in done)
            generation = run_generation(conditions, number, proposal, incumbents, spent)
        except BudgetExhausted as error:
            if not done:
                raise
            conditions.watcher.see(Noted(message=str(error)))
            code = ExitCode.BUDGET
            break
        done.append(generation)
        code = generation.code
        if generation.verdict.decision == "promote":
            champion = stack_overlays([champion, generation.overlay] if champion else [generation.overlay])
            incumbents = dict(generation.skills)
        if code is not ExitCode.VERDICT:
            break
    promoted = any(each.verdict.decision == "promote" for each in done)
    return RunResult(
        generations=tuple(done),
        champion=_write_champion(conditions, champion) if champion is not None and promoted else None,
        code=code,
    )


def _setting(conditions: Conditions, incumbents: Mapping[str, Skill]) -> Setting:
    ground = conditions.ground
    return Setting(
        root=ground.root,
        run=conditions.run.id,
        specs=ground.config.skills,
        incumbents=incumbents,
        base=skills_digest({name: skill.digest for name, skill in incumbents.items()}),
        suite=ground.suite.name,
        judgements=relevant(
            read_history(ground.root),
            agent=ground.agent_name,
            policy=conditions.policy.name,
            contained=ground.sandbox.contains,
        ),
    )


def _write_champion(conditions: Conditions, champion: Overlay) -> Path:
    """The promoted stack as one overlay folder, ready for people, `proposer=manual` and `apply`."""
    folder = conditions.run.path / "champion"
    write_overlay(folder, champion.files)
    return folder
