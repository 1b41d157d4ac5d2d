"""Writes the lock of a generation: what it read before its first cell, what came out once it is decided."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from bench.config import read_composed_files, read_overrides
from bench.digest import digest_file, digest_json
from bench.project import RunFolder
from bench.results import ObjectStore, Row
from bench.skills import Skill, read_overlay
from bench.sweep import CASSETTES, Ground, Plan
from evolve.gate import Verdict, digest_rows
from evolve.lock import parts
from evolve.lock.file import add_observed, read_lock, write_lock
from evolve.lock.model import LOCK, Observed, Parts, Sealed
from evolve.promoted import START

REQUESTS = "requests-"


class Parent(msgspec.Struct, frozen=True):
    """The generation that another one follows or repeats: its name as RUN/gen-N, and the digest of its lock."""

    name: str
    digest: str


def lock_of(run: RunFolder, number: int) -> Parent | None:
    """A generation as the parent of another one; None for one of a version without locks."""
    path = run.path / f"gen-{number}" / LOCK
    return Parent(f"{run.id}/{path.parent.name}", read_lock(path).digest) if path.exists() else None


class _Served(msgspec.Struct, frozen=True):
    """What of a request's record says which model answered."""

    model: str | None
    served: str | None = None


def seal_generation(
    ground: Ground,
    run: RunFolder,
    folder: Path,
    plan: Plan,
    canonical: Mapping[str, Skill],
    parent: Parent | None,
    proposing: Parts,
) -> None:
    """Write the lock of a generation of which no cell was paid yet; `proposing` is what a paid proposer read."""
    config, root, saved = ground.config, ground.root, run.path / "config.json"
    start = run.path / START
    read = parts.merged(
        parts.of_suite(ground.suite),
        parts.of_prepared(ground.suite, root, contained=ground.sandbox.contains),
        parts.of_prompts(ground.prompts),
        parts.of_skills(canonical),
        parts.of_plugins(config, root),
        parts.of_tools(config, root),
        parts.of_agent(ground.agent),
        proposing,
        parts.of_sandbox(ground.sandbox),
        parts.of_prices(ground.means.prices),
        parts.of_harness(config),
        parts.of_composition(read_composed_files(saved), root),
        parts.of_plan(plan),
        parts.of_overlays(
            str(plan.overlay), read_overlay(start, config.skills).digest if start.exists() else None
        ),
        {"parent": {} if parent is None else {parent.name: parent.digest}},
    )
    plain = msgspec.to_builtins(config)
    write_lock(
        folder,
        Sealed(
            run=run.id,
            generation=plan.generation,
            configuration=plain,
            overrides=read_overrides(saved),
            secrets=tuple(sorted(set(parts.secrets_of(plain)))),
            parent=None if parent is None else parent.name,
            read=read,
        ),
    )


def observe(run: RunFolder, folder: Path, rows: Iterable[Row], verdict: Verdict) -> None:
    """Add to the lock what came out of its generation."""
    rows = tuple(rows)
    add_observed(
        folder,
        Observed(
            models=models_served(rows, ObjectStore(run.objects)),
            rows=digest_rows(rows),
            verdict=digest_json(verdict),
            cassettes=cassettes_in(folder / CASSETTES),
        ),
    )


def models_served(rows: Iterable[Row], store: ObjectStore) -> dict[str, tuple[str, ...]]:
    """The ids of the models that answered, by the ids that were asked for. RunError for records that are gone."""
    found: dict[str, set[str]] = {}
    records = {
        kept.digest: None for row in rows for name, kept in row.artifacts.items() if name.startswith(REQUESTS)
    }
    for digest in records:
        for line in store.get(digest).splitlines():
            served = msgspec.json.decode(line, type=_Served)
            if served.model is not None and served.served is not None:
                found.setdefault(served.model, set()).add(served.served)
    return {asked: tuple(sorted(names)) for asked, names in sorted(found.items())}


def cassettes_in(folder: Path) -> dict[str, str]:
    """The digest of each cassette in a folder of them."""
    return {path.name: digest_file(path) for path in sorted(folder.glob("*.gz"))}
