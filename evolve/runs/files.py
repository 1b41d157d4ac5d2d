"""A run's files, as far as its state depends on them. Also of older runs, and while another process writes them."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from bench.archive import ROWS, RowFacts, read_facts
from bench.config import SAVED_SCHEMA
from bench.errors import RunError
from bench.plan_file import read_plan_as
from bench.results import Artifact
from evolve.gate import PROMOTION_VERSION, Decision
from evolve.runs.model import GenerationState

Kind = TypeVar("Kind")
_GENERATION = re.compile(r"gen-([1-9]\d{0,5})")
LAST = 3  # rows that a look at a run shows
_OTHER_VERSION = "use the version of incumbent that wrote it"


class _Named(Struct, frozen=True):
    name: str


class _Model(Struct, frozen=True):
    id: str | None = None


class Limits(Struct, frozen=True):
    """What a run limits that can be counted without a price."""

    sessions: int | None = None
    cells: int | None = None


class SavedFacts(Struct, frozen=True):
    """What a list needs of a configuration."""

    suite: _Named
    agent: _Named
    model: _Model
    proposer: Any = None
    generations: int = 1
    budget: Limits = Limits()


class ConfigFacts(Struct, frozen=True):
    """What a list needs of config.json."""

    schema: str
    config: SavedFacts
    overrides: tuple[str, ...] = ()


class _PlanFacts(Struct, frozen=True):
    cells: tuple[dict[str, Any], ...]


class _About(Struct, frozen=True):
    idea: str
    exit_code: int


class _PromotionFacts(Struct, frozen=True):
    schema_version: int
    decision: Decision
    metadata: _About


class SweepFacts(Struct, frozen=True):
    """One sweep's state, what of the store its rows name, and its last rows."""

    state: GenerationState
    artifacts: frozenset[Artifact]
    last: tuple[RowFacts, ...]


def read_config_facts(path: Path) -> ConfigFacts:
    """RunError if it is not there, is none, or is of another version."""
    if not path.exists():
        raise RunError(f"it has no {path.name}: it was interrupted before it began, or is no run")
    facts = _decode(path, ConfigFacts)
    if facts.schema != SAVED_SCHEMA:
        raise RunError(
            f"{path}: its schema {facts.schema!r} is not supported, only {SAVED_SCHEMA!r} is; {_OTHER_VERSION}"
        )
    return facts


def sweep_folders(run: Path) -> list[tuple[int, Path]]:
    """Where the run's sweeps are, in their order, with their generation; 0 is the folder of the run itself."""
    found = [(int(match[1]), path) for path in run.iterdir() if (match := _GENERATION.fullmatch(path.name))]
    own = [(0, run)] if (run / "plan.json").exists() else []
    return own + sorted(each for each in found if each[1].is_dir())


def read_sweep(generation: int, folder: Path) -> SweepFacts:
    """RunError for a file that cannot be read, or is of another version."""
    rows = _rows(folder / ROWS)
    latest = {facts.identity.key: facts for facts in rows}
    statuses = Counter(facts.outcome.status for facts in latest.values())
    promotion = _promotion(folder / "promotion.json")
    state = GenerationState(
        generation=generation,
        folder=str(folder),
        cells=cells_of(folder),
        settled=statuses["measured"] + statuses["unusable"],
        statuses=dict(sorted(statuses.items())),
        reused=sum(facts.reuse is not None for facts in latest.values()),
        cost_usd=_cost(rows),
        idea=promotion.metadata.idea if promotion else None,
        decision=promotion.decision if promotion else None,
        code=promotion.metadata.exit_code if promotion else None,
    )
    artifacts = frozenset(artifact for facts in latest.values() for artifact in facts.artifacts.values())
    return SweepFacts(state, artifacts, rows[-LAST:])


def cells_of(folder: Path) -> int | None:
    """How many cells the plan of a sweep has; None before there is one."""
    path = folder / "plan.json"
    if not path.exists():
        return None
    return len(read_plan_as(path, _PlanFacts)[0].cells)


def _promotion(path: Path) -> _PromotionFacts | None:
    if not path.exists():
        return None
    promotion = _decode(path, _PromotionFacts)
    _check(path, promotion.schema_version, PROMOTION_VERSION)
    return promotion


def _rows(path: Path) -> tuple[RowFacts, ...]:
    return tuple(read_facts(path)) if path.exists() else ()


def _cost(rows: Iterable[RowFacts]) -> float | None:
    """What the run's own rows say that it paid, every attempt; unknown if one of them does not know its part."""
    known = [facts.usage.cost_usd for facts in rows if facts.reuse is None]
    return sum(cost for cost in known if cost is not None) if known and None not in known else None


def _check(path: Path, version: int, newest: int) -> None:
    if not 1 <= version <= newest:
        raise RunError(
            f"{path}: schema_version {version} is not supported, only 1 to {newest}; {_OTHER_VERSION}"
        )


def _decode(path: Path, kind: type[Kind]) -> Kind:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RunError(f"{path} cannot be read: {error}") from error
