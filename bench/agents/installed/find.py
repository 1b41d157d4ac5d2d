"""Finds an agent's program again: the installed one of a version, or one that the configuration names by path."""

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.agents.installed.content import content_digest, stamp_of
from bench.agents.installed.model import Installed, Interpreter, Pin, State
from bench.agents.installed.pins import pin_named, read_pins
from bench.agents.installed.record import RECORD, agents_folder, read_record
from bench.errors import AgentError

_ELF = b"\x7fELF"
_PATIENCE = 60  # seconds until a program that is asked for its version counts as broken


def find_agent(
    root: Path, name: str, *, version: str | None = None, program: Path | None = None
) -> Installed:
    """The agent's program: the installed one of the pinned or of another `version`, or the one at the path
    `program`. AgentError says what is missing and the command that installs it, or that its version is untested.
    """
    pin = pin_named(name)
    if program is not None:
        return _named_program(pin, program)
    wanted = version or pin.pinned
    if not pin.covers(wanted):
        raise AgentError(f"{name} {wanted} is not supported: tested is {pin.range}")
    installed, reason = agent_in(agents_folder(root, name) / wanted)
    if installed is not None:
        return installed
    others = [state.version for state in _states(root, pin) if state.installed]
    hint = f"; installed is {', '.join(others)}, which agent.options.version chooses" if others else ""
    also = "" if wanted == pin.pinned else f" --version {wanted}"
    raise AgentError(
        f"the program of the agent {name} {reason} ({wanted} in {root}{hint})\n"
        f"  install it: evolve agents install {name}{also}"
    )


def list_agents(root: Path, pins: Mapping[str, Pin] | None = None) -> tuple[State, ...]:
    """What is there of every agent: each installed version, or why there is none."""
    found = (read_pins() if pins is None else pins).values()
    return tuple(
        state
        for pin in found
        for state in _states(root, pin)
        or (State(pin=pin, version=pin.pinned, installed=None, reason="is not installed"),)
    )


def agent_in(folder: Path) -> tuple[Installed | None, str]:
    """The installation in a folder; else None, and why, as the end of a sentence."""
    record = read_record(folder)
    if record is None:
        return None, "is damaged: its record is missing" if folder.exists() else "is not installed"
    path = folder / record.shown
    if not path.exists():
        return None, f"is damaged: {path} is missing"
    if stamp_of(path) != record.stamp and content_digest(path) != record.digest:
        return None, "is damaged: its files were changed after it was installed"
    interpreter = _interpreter(record.interpreter)
    if record.interpreter is not None and interpreter is None:
        return None, f"needs {record.interpreter}, which is not on the PATH"
    return Installed(
        name=record.name,
        version=record.version,
        path=path,
        digest=record.digest,
        way=record.way,
        program=record.program,
        interpreter=interpreter,
    ), ""


def _states(root: Path, pin: Pin) -> tuple[State, ...]:
    folder = agents_folder(root, pin.name)
    places = sorted(each.parent for each in folder.glob(f"[0-9]*/{RECORD}"))
    found = ((place.name, *agent_in(place)) for place in places)
    return tuple(
        State(pin=pin, version=version, installed=installed, reason=reason)
        for version, installed, reason in found
    )


def _interpreter(name: Interpreter | None) -> Path | None:
    found = None if name is None else shutil.which(name)
    return None if found is None else Path(found).resolve()


def _named_program(pin: Pin, program: Path) -> Installed:
    """A program of the user's own: its version is asked for, and must have been tested."""
    if not program.is_file():
        raise AgentError(
            f"the program of the agent {pin.name} is not there: {program}\n  see agent.options.program"
        )
    path = program.resolve()
    interpreter = next((build.interpreter for build in pin.builds), None)
    shown, below = _shown_of(pin, path)
    node = _interpreter(interpreter)
    if interpreter is not None and node is None:
        raise AgentError(f"the agent {pin.name} needs {interpreter}, which is not on the PATH")
    version = _version_of(pin, path, node)
    if not pin.covers(version):
        raise AgentError(
            f"{program} is {pin.name} {version}, which is not supported: tested is {pin.range}\n"
            f"  name another one in agent.options.program, or: evolve agents install {pin.name}"
        )
    return Installed(
        name=pin.name,
        version=version,
        path=shown,
        digest=content_digest(shown),
        way="path",
        program=below,
        interpreter=node,
    )


def _shown_of(pin: Pin, path: Path) -> tuple[Path, str]:
    """What of the user's program a sandbox has to see, and where the program lies in it."""
    for build in pin.builds:
        below = Path(build.program).parts
        if build.program and path.parts[-len(below) :] == below and "node_modules" in path.parts:
            return path.parents[len(below) - 1], build.program
    with path.open("rb") as file:
        if file.read(len(_ELF)) == _ELF:
            return path, ""
    raise AgentError(
        f"{path} only starts the program of {pin.name}, which lies elsewhere and would not be seen in a cell\n"
        f"  name that file in agent.options.program, or: evolve agents install {pin.name}"
    )


def _version_of(pin: Pin, path: Path, interpreter: Path | None) -> str:
    start = [str(path)] if interpreter is None else [str(interpreter), str(path)]
    with TemporaryDirectory(prefix="version-") as home:
        try:
            done = subprocess.run(
                [*start, "--version"],
                cwd=home,
                env={"PATH": "/usr/bin:/bin", "HOME": home, "LANG": "C.UTF-8", "TERM": "dumb"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_PATIENCE,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise AgentError(f"{path} cannot be asked for its version: {error}") from error
    version = version_said(done.stdout + done.stderr)
    if version is None:
        raise AgentError(
            f"{path} does not say a version of {pin.name} (exit {done.returncode}): {(done.stdout or done.stderr)[:200]}"
        )
    return version


def version_said(output: str) -> str | None:
    """The first version of three numbers in what a program says of itself."""
    found = re.search(r"\b\d+\.\d+\.\d+\b", output)
    return None if found is None else found.group()
