"""What differs between two readings of the same things. Pure."""

from collections.abc import Iterator, Mapping
from typing import cast

from bench.digest import digest_json
from evolve.lock.model import Drift, GenerationLock, Kind, Observed, Sealed

DIGEST_LENGTH = 64


def drifts(then: Mapping[str, Mapping[str, str]], now: Mapping[str, Mapping[str, str]]) -> Iterator[Drift]:
    """Every thing that has another value, or is only in one of them, by kind and name."""
    for kind in sorted({*then, *now}):
        yield from drifts_of(cast("Kind", kind), then.get(kind, {}), now.get(kind, {}))


def drifts_of(kind: Kind, then: Mapping[str, str], now: Mapping[str, str]) -> Iterator[Drift]:
    """The same of one kind."""
    for name in sorted({*then, *now}):
        before, after = then.get(name), now.get(name)
        if before != after:
            yield Drift(kind=kind, name=name, then=before, now=after)


def observed_drifts(then: Observed, now: Observed) -> Iterator[Drift]:
    """Which models were served otherwise."""
    before, after = (
        {asked: ", ".join(served) for asked, served in each.models.items()} for each in (then, now)
    )
    yield from drifts_of("model-served", before, after)


def sealed_digest(sealed: Sealed) -> str:
    """The identity of what a generation read."""
    return digest_json(sealed)


def observed_digest(lock: GenerationLock) -> str:
    """What `observed_digest` must be."""
    return digest_json([lock.digest, lock.observed])


def drift_line(drift: Drift) -> str:
    """One drift for people."""
    return f"{drift.kind}: {drift.name}: {_shown(drift.then)} then, {_shown(drift.now)} now"


def _shown(value: str | None) -> str:
    if value is None:
        return "not there"
    return f"{value[:12]}…" if len(value) == DIGEST_LENGTH and " " not in value else value
