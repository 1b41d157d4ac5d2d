"""What `evolve lock verify` does, and how every command finds the generation that it is asked about."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from bench.cli_run import print_json
from bench.commandline import config_dirs
from bench.config import read_saved_config
from bench.exits import ExitCode
from bench.project import RunFolder, find_project, find_run, split_generation
from bench.suite import Suite
from evolve.errors import LockError
from evolve.lock.drift import drift_line, drifts
from evolve.lock.file import read_lock
from evolve.lock.model import LOCK, Drift, GenerationLock
from evolve.lock.now import Place, read_now

VERIFIED_VERSION = 1


class Located(Struct, frozen=True):
    """A generation with its lock."""

    place: Place
    lock: GenerationLock

    @property
    def name(self) -> str:
        """RUN/gen-N."""
        return f"{self.place.run.id}/{self.place.folder.name}"


class LockVerified(Struct, frozen=True, kw_only=True):
    """What `evolve lock verify --json` prints (schemas/lock-verified.schema.json). `digests` were compared; `complete`
    says whether the generation came to its decision.
    """

    schema_version: int
    generation: str
    digest: str
    complete: bool
    digests: int
    drifts: tuple[Drift, ...]
    code: int


def lock_command(options: argparse.Namespace) -> ExitCode:
    """Check each lock that is named against what there is today. LockError for one that cannot be believed."""
    found = [verify(each) for each in locate(options)]
    for each in found:
        if options.json:
            print_json(each)
        else:
            print("\n".join(verified_lines(each)))
    return max((ExitCode(each.code) for each in found), default=ExitCode.VERDICT)


def locate(options: argparse.Namespace) -> list[Located]:
    """The generations that RUN or RUN/gen-N names, each with its lock. LockError, if there is none or it is edited."""
    name, number = split_generation(options.run)
    root = find_project(name, options.root, Path.cwd())
    run = find_run(root, name)
    folders = _folders(run) if number is None else [run.path / f"gen-{number}"]
    if not folders:
        raise LockError(
            f"run {run.id} has no generation: nothing of it was sealed\n  see: evolve runs show {run.id}"
        )
    dirs = config_dirs(options.config_dir)
    return [Located(Place(root, run, each, dirs), read_lock(each / LOCK)) for each in folders]


def verify(located: Located) -> LockVerified:
    """Every drift since the lock was written."""
    place, sealed = located.place, located.lock.sealed
    found = drifts_since(located)
    return LockVerified(
        schema_version=VERIFIED_VERSION,
        generation=f"{place.run.id}/{place.folder.name}",
        digest=located.lock.digest,
        complete=located.lock.observed is not None,
        digests=sum(len(items) for items in sealed.read.values()),
        drifts=tuple(found),
        code=int(ExitCode.DRIFTED if found else ExitCode.VERDICT),
    )


def drifts_since(located: Located, suite: Suite | None = None) -> Sequence[Drift]:
    """What is no longer as the lock says; `suite` is that of today, if it was loaded already."""
    config = read_saved_config(located.place.run.path / "config.json")
    sealed = located.lock.sealed
    return tuple(drifts(sealed.read, read_now(located.place, config, sealed, suite)))


def verified_lines(verified: LockVerified) -> list[str]:
    """The same for people."""
    state = "" if verified.complete else "; the generation has no decision yet: evolve resume goes on with it"
    head = f"{verified.generation}: {verified.digests} things were read, {len(verified.drifts)} are others now{state}"
    return [head, *(f"  {drift_line(each)}" for each in verified.drifts)]


def _folders(run: RunFolder) -> list[Path]:
    numbered = [path for path in run.path.glob("gen-*") if path.name[4:].isdecimal()]
    return sorted(numbered, key=lambda path: int(path.name[4:]))
