"""What a generation would read today. What cannot be read is told as such, and keeps nothing else from being read."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from bench.agents import create_agent
from bench.config import Config, load_config, read_prompt
from bench.errors import IncumbentError
from bench.project import RunFolder, find_run, split_generation
from bench.sandbox import open_sandbox
from bench.skills import read_overlay
from bench.spend import read_prices
from bench.suite import Suite, load_suite
from bench.sweep import canonical_skills, read_plan
from evolve.lock import parts
from evolve.lock.file import read_lock
from evolve.lock.model import LOCK, Parts, Sealed
from evolve.promoted import START
from evolve.propose import Asking, create_proposer

_Reading = tuple[Sequence[str], Callable[[str], bool], Callable[[], Parts]]
_OF_TASKS = ("task ", "prepared for task ")


class Place(Struct, frozen=True):
    """Where a generation lies, and what belongs to its project."""

    root: Path
    run: RunFolder
    folder: Path
    config_dirs: tuple[Path, ...] = ()


def read_now(place: Place, config: Config, sealed: Sealed, suite: Suite | None = None) -> Parts:
    """Every part of it, from the disk; the suite is loaded unless it was already."""
    root, dirs = place.root, place.config_dirs
    asked: Sequence[_Reading] = (
        (("suite", "prompt", "oracle", "environment"), _is_of_task, lambda: _suite(config, root, suite)),
        (
            ("prompt",),
            lambda name: not _is_of_task(name),
            lambda: parts.of_prompts(_prompts(config, root, dirs)),
        ),
        (("skill",), _any, lambda: parts.of_skills(canonical_skills(config, root))),
        (("plugin",), _any, lambda: parts.of_plugins(config, root)),
        (("tool",), _any, lambda: parts.of_tools(config, root)),
        (
            ("agent",),
            lambda name: not _is_proposers(name),
            lambda: parts.of_agent(create_agent(config.agent, root)),
        ),
        (("agent", "prompt"), _is_proposers, lambda: _proposer(place, config, sealed)),
        (("sandbox-policy",), _any, lambda: parts.of_sandbox(open_sandbox(config.sandbox))),
        (("price-table",), _any, lambda: parts.of_prices(read_prices(root, dirs))),
        (("harness", "dependency"), _any, lambda: parts.of_harness(config)),
        (("configuration-file",), _any, lambda: parts.of_composition(_composed(place, sealed), root)),
        (("plan", "seed"), _any, lambda: parts.of_plan(read_plan(place.folder / "plan.json")[0])),
        (("overlay",), _any, lambda: _overlays(place, config)),
        (("parent",), _any, lambda: _parent(root, sealed)),
    )
    return parts.merged(*(_told(sealed.read, each) for each in asked))


def _told(then: Mapping[str, Mapping[str, str]], reading: _Reading) -> Parts:
    """What is read; where that cannot be done, why, of the first of the kinds. The others are not called into
    question by that: they are as they were, as far as anybody can tell.
    """
    (first, *others), belongs, read = reading
    try:
        return read()
    except (IncumbentError, OSError) as error:
        said = f"cannot be read: {' '.join(str(error).splitlines()[0].split())}"
        known = {
            kind: {name: then[kind][name] for name in then.get(kind, {}) if belongs(name)} for kind in others
        }
        return {first: dict.fromkeys(filter(belongs, then.get(first, {"all of it": ""})), said), **known}


def _is_of_task(name: str) -> bool:
    return name.startswith(_OF_TASKS)


def _is_proposers(name: str) -> bool:
    return name.startswith(parts.PROPOSER)


def _is_of_session(name: str) -> bool:
    return not _is_of_task(name) and not _is_proposers(name)


def _any(_name: str) -> bool:
    return True


def _suite(config: Config, root: Path, loaded: Suite | None) -> Parts:
    suite = load_suite(config.suite, root) if loaded is None else loaded
    contained = open_sandbox(config.sandbox).contains
    return parts.merged(parts.of_suite(suite), parts.of_prepared(suite, root, contained=contained))


def _proposer(place: Place, config: Config, sealed: Sealed) -> Parts:
    """What its proposing session would read; nothing for a generation that paid none."""
    if config.proposer is None or not any(map(_is_proposers, sealed.read.get("agent", {}))):
        return {}
    proposer = create_proposer(config.proposer, place.root)
    if not isinstance(proposer, Asking):
        return {}
    text = read_prompt(proposer.prompt, place.root, place.config_dirs)
    return parts.of_proposer(create_agent(proposer.sent(config).agent, place.root), text)


def _prompts(config: Config, root: Path, config_dirs: Sequence[Path]) -> dict[str, str]:
    sessions = (spec for arm in config.arms.values() for spec in arm.sessions.values())
    return {spec.prompt: read_prompt(spec.prompt, root, config_dirs) for spec in sessions}


def _composed(place: Place, sealed: Sealed) -> dict[str, str]:
    """The files that the words of then are composed from today."""
    _, composed = load_config(sealed.overrides, root=place.root, config_dirs=place.config_dirs)
    return {file.label: file.digest for file in composed.files}


def _overlays(place: Place, config: Config) -> Parts:
    start = place.run.path / START
    candidate = read_overlay(place.folder / "overlay", config.skills).digest
    return parts.of_overlays(candidate, read_overlay(start, config.skills).digest if start.exists() else None)


def _parent(root: Path, sealed: Sealed) -> Parts:
    """The digest of the parent's lock, as it is now."""
    if sealed.parent is None:
        return {"parent": {}}
    run, number = split_generation(sealed.parent)
    folder = find_run(root, run).path / f"gen-{number}"
    return {"parent": {sealed.parent: read_lock(folder / LOCK).digest}}
