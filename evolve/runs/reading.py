"""The state of a run and of all runs of a project, read from their files and locks."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeVar

from msgspec import structs

from bench.archive import files_of
from bench.errors import UserError
from bench.project import Holder, RunFolder, list_runs, read_holder
from evolve.apply import read_records
from evolve.runs.files import ConfigFacts, Limits, SweepFacts, read_config_facts, read_sweep, sweep_folders
from evolve.runs.following import facts_line
from evolve.runs.judging import judge
from evolve.runs.model import RunList, RunState, SpendState
from evolve.runs.spending import read_spend

Read = TypeVar("Read")


def read_runs(root: Path) -> RunList:
    """Every run of a project, also those that cannot be read."""
    return RunList(project=str(root), runs=tuple(read_run(run) for run in list_runs(root)))


def read_run(run: RunFolder) -> RunState:
    """One run. What is wrong with it is part of its state, never an error."""
    holder, held = read_holder(run)
    refusals: list[str] = ["it is a link: it lies elsewhere"] if run.path.is_symlink() else []
    config = _or_refused(lambda: read_config_facts(run.path / "config.json"), refusals)
    sweeps = _or_refused(lambda: _sweeps(run), refusals) or ()
    unapplied = _or_refused(lambda: _is_unapplied(run, sweeps), refusals)
    promotion = _or_refused(lambda: _promotion(run), refusals)
    state = _state(run, holder, held, config, sweeps)
    spend = _or_refused(lambda: read_spend(run.path / "spend.jsonl"), refusals)
    beyond = config is not None and spend is not None and _is_beyond(config.config.budget, spend, state)
    state = structs.replace(
        state, unapplied=bool(unapplied), spend=spend, promotion=promotion, beyond_budget=beyond
    )
    return structs.replace(state, state="refused", why=refusals[0]) if refusals and not held else state


def _state(
    run: RunFolder, holder: Holder | None, held: bool, config: ConfigFacts | None, sweeps: tuple[SweepFacts, ...]
) -> RunState:
    decides = config is not None and config.config.proposer is not None
    generations = tuple(each.state for each in sweeps)
    configured = config.config.generations if config else len(generations)
    judged = judge(holder, held, generations, configured=configured, decides=decides)
    artifacts = {artifact for each in sweeps for artifact in each.artifacts}
    return RunState(
        run=run.id,
        folder=str(run.path),
        state=judged.state,
        why=judged.why,
        started_at=started_at(run.id),
        command=None if config is None else "evolve" if decides else "bench",
        overrides=config.overrides if config else (),
        suite=config.config.suite.name if config else None,
        agent=config.config.agent.name if config else None,
        model=config.config.model.id if config else None,
        generations=generations,
        last=tuple(facts_line(facts) for facts in sweeps[-1].last) if sweeps else (),
        unapplied=False,
        size=_size(run),
        objects_size=sum(artifact.size for artifact in artifacts),
        spend=None,
        holder=holder,
    )


def _is_beyond(budget: Limits, spend: SpendState, state: RunState) -> bool:
    """Whether the cells that are left need more than the run's limits leave, one session for each at the least."""
    left = sum(each.left for each in state.generations)
    return bool(left) and any(
        most is not None and used + left > most
        for most, used in ((budget.sessions, spend.sessions + spend.open), (budget.cells, spend.cells))
    )


def started_at(run: str) -> datetime | None:
    """When a run began, from its name; None if that says no time."""
    try:
        return datetime.strptime(run[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None


def _sweeps(run: RunFolder) -> tuple[SweepFacts, ...]:
    return tuple(read_sweep(number, folder) for number, folder in sweep_folders(run.path))


def _is_unapplied(run: RunFolder, sweeps: tuple[SweepFacts, ...]) -> bool:
    records = read_records(run)
    applied = bool(records) and records[-1].action == "apply"
    return not applied and any(each.state.decision == "promote" for each in sweeps)


def _promotion(run: RunFolder) -> Literal["applied", "reverted"] | None:
    records = read_records(run)
    if not records:
        return None
    return "applied" if records[-1].action == "apply" else "reverted"


def _size(run: RunFolder) -> int:
    try:
        return sum(path.stat().st_size for path in files_of(run.path, strict=False))
    except (OSError, UserError):  # it is being removed, or cannot be read, which is said elsewhere
        return 0


def _or_refused(read: Callable[[], Read], refusals: list[str]) -> Read | None:
    try:
        return read()
    except UserError as error:
        refusals.append(" ".join(str(error).split()))
    except OSError as error:
        refusals.append(f"{error.filename} cannot be read: {error.strerror}")
    return None
