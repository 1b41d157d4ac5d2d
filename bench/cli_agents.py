"""What `evolve agents` does: install, list."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.agents.installed import (
    Build,
    Pin,
    State,
    choose_build,
    install_agent,
    list_agents,
    pin_named,
    read_pins,
    refuse_broken,
)
from bench.cli_run import load, print_json
from bench.errors import AgentError, SandboxUnavailable
from bench.exits import ExitCode
from bench.sandbox import Sandbox, open_sandbox
from bench.text import printable

Say = Callable[[str], None]


def agents(options: argparse.Namespace, root: Path, say: Say) -> ExitCode:
    """Install what is named, or list what is there."""
    if options.action == "list":
        if options.words or options.to_version or options.way:
            raise AgentError("evolve agents list takes no agent, --version or --with")
        _print(options, list_agents(root))
        return ExitCode.VERDICT
    chosen = _chosen(options)
    sandbox = _sandbox(options, root, say)
    for pin, build in chosen:
        installed = install_agent(root, pin, build, say)
        if sandbox is not None:
            refuse_broken(installed, sandbox)
    names = {(pin.name, build.version) for pin, build in chosen}
    _print(options, [state for state in list_agents(root) if (state.pin.name, state.version) in names])
    return ExitCode.VERDICT


def _chosen(options: argparse.Namespace) -> list[tuple[Pin, Build]]:
    """All that is asked for, before anything is fetched."""
    if not options.words:
        raise AgentError(
            f"no agent is named\n  evolve agents install NAME; there are: {', '.join(read_pins())}"
        )
    if options.to_version and len(options.words) > 1:
        raise AgentError("--version goes with one agent")
    pins = [pin_named(word) for word in dict.fromkeys(options.words)]
    return [(pin, choose_build(pin, options.to_version, options.way)) for pin in pins]


def _sandbox(options: argparse.Namespace, root: Path, say: Say) -> Sandbox | None:
    """Where installed programs are tried; None on a host that cannot confine, where they are not."""
    options.overrides = []
    try:
        sandbox = open_sandbox(load(options, root, "evolve").config.sandbox)
        sandbox.probe()
    except SandboxUnavailable as error:
        say(f"note: not tried whether it starts: {error}")
        return None
    return sandbox if sandbox.contains else None


def _print(options: argparse.Namespace, states: Sequence[State]) -> None:
    if options.json:
        print_json({"agents": [_as_data(state) for state in states]})
        return
    width = max(len(state.pin.name) for state in states)
    for state in states:
        print(printable(f"{state.pin.name:{width}}  {state.version:9}  {_said(state)}"))


def _said(state: State) -> str:
    if state.installed is None:
        return f"{state.reason}: evolve agents install {state.pin.name}"
    there = state.installed
    return f"tested: {state.pin.range}  digest {there.digest[:12]}  {there.way}  {there.executable}"


def _as_data(state: State) -> dict[str, Any]:
    there = state.installed
    return {
        "name": state.pin.name,
        "version": state.version,
        "installed": there is not None,
        "reason": state.reason or None,
        "pinned": state.pin.pinned,
        "tested": list(state.pin.tested),
        "path": None if there is None else str(there.executable),
        "digest": None if there is None else there.digest,
        "way": None if there is None else there.way,
    }
