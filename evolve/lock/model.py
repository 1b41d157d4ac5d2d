"""`generation.lock.json`: all that a generation read, as names and digests, and what was observed of it. Pure."""

from typing import Any, Literal

from msgspec import Struct

LOCK_VERSION = 1
LOCK = "generation.lock.json"

# What a drift is called. Those of the last line are not read, but come out.
Kind = Literal[
    "agent", "configuration-file", "dependency", "environment", "harness", "oracle", "overlay", "parent", "plan",
    "plugin", "price-table", "prompt", "sandbox-policy", "seed", "skill", "suite", "tool",
    "cassette", "model-served", "row", "score", "verdict",
]  # fmt: skip

Parts = dict[str, dict[str, str]]


class Sealed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was there before the first cell. `configuration` holds the resolved values, `overrides` the words that they
    were composed from; `read` gives the digest (or the value itself) of each thing that was read, by kind and name.

    `secrets` are names of environment variables, never their values. `parent` is the generation that this one
    follows, or repeats, as RUN/gen-N.
    """

    run: str
    generation: int
    configuration: dict[str, Any]
    overrides: tuple[str, ...]
    secrets: tuple[str, ...]
    parent: str | None
    read: Parts


class Observed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What came out, once the generation was decided: the ids of models as they were served, by those that were asked
    for; digests of the rows, of the verdict and of each file of cassettes.
    """

    models: dict[str, tuple[str, ...]]
    rows: str
    verdict: str
    cassettes: dict[str, str]


class GenerationLock(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file. `digest` is that of `sealed`, `observed_digest` that of both; null until the generation is decided."""

    schema_version: int
    digest: str
    sealed: Sealed
    observed: Observed | None = None
    observed_digest: str | None = None


class Drift(Struct, frozen=True, kw_only=True):
    """One thing that is no longer what it was: its kind and name, with both values; null where it is not there."""

    kind: Kind
    name: str
    then: str | None
    now: str | None
