"""Looks at one thing after the other. Nothing is written but scratch files, nothing is sent anywhere."""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from bench.agents.installed import State, list_agents
from bench.agents.rulebook import find_ast_grep
from bench.config import Config, load_config, search_folders
from bench.errors import AgentError, SandboxUnavailable, UserError
from bench.sandbox import Sandbox, open_sandbox
from bench.workspace import choose_workspaces
from evolve.doctor.model import Finding

_SECRET = re.compile(r"\$\{secret:([A-Za-z_]\w*)\}")
_LEAST_FREE = 2 << 30
_SLOWER = {"reflink": "copies that share their blocks", "copy": "plain copies: slower for large repositories"}


@runtime_checkable
class Limiting(Protocol):
    """A sandbox that says what enforces its limits."""

    def describe_limits(self) -> str: ...


def look(root: Path | None, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Everything there is to know; `environment` is asked only whether a secret is there."""
    yield _python()
    yield _git()
    config, finding = _configuration(root)
    yield finding
    if config is not None:
        yield from _sandbox(config)
    yield from _agents(root, config)
    yield from key_findings(root, config, environment)


def _python() -> Finding:
    return Finding(
        area="program",
        name="Python",
        state="works",
        needed=True,
        detail=f"{sys.version.split()[0]}, {sys.executable}",
    )


def _git() -> Finding:
    path = shutil.which("git")
    if path is None:
        return Finding(
            area="program",
            name="git",
            state="missing",
            needed=True,
            detail="not on the PATH",
            remedy="install git",
        )
    done = subprocess.run([path, "--version"], capture_output=True, text=True, errors="replace", check=False)
    said = done.stdout.strip().removeprefix("git version ")
    return Finding(
        area="program",
        name="git",
        state="works" if done.returncode == 0 else "missing",
        needed=True,
        detail=f"{said}, {path}",
        remedy="install git again",
    )


def _configuration(root: Path | None) -> tuple[Config | None, Finding]:
    try:
        config, _ = load_config([], root=root, config_dirs=(), command="evolve")
    except UserError as error:
        wrong = Finding(
            area="configuration",
            name="defaults",
            state="missing",
            needed=True,
            detail=str(error),
            remedy="evolve config tree shows where each choice comes from",
        )
        return None, wrong
    said = f"suite={config.suite.name} agent={config.agent.name} model={config.model.name}"
    return config, Finding(area="configuration", name="defaults", state="works", needed=True, detail=said)


def _sandbox(config: Config) -> Iterator[Finding]:
    """The sandbox, what it stands on, and what is only slower or weaker without."""
    try:
        sandbox = open_sandbox(config.sandbox)
        sandbox.probe()
    except SandboxUnavailable as error:
        yield Finding(
            area="sandbox",
            name=config.sandbox.name,
            state="missing",
            needed=True,
            detail=str(error),
            remedy="what the message names; sandbox=host tries things out without containment",
        )
        return
    said = ", ".join(f"{key} {value[:12]}" for key, value in sandbox.describe().items() if key != "backend")
    yield Finding(
        area="sandbox",
        name=config.sandbox.name,
        state="works" if sandbox.contains else "limited",
        needed=True,
        detail=said if sandbox.contains else "contains nothing: its evidence is never applied",
        remedy="sandbox=bubblewrap",
    )
    if isinstance(sandbox, Limiting):
        yield _limits(sandbox)
    yield from _scratch(config, sandbox)


def _limits(sandbox: Limiting) -> Finding:
    said = sandbox.describe_limits()
    return Finding(
        area="sandbox",
        name="limits",
        state="works" if said.count("control group") > 1 else "limited",
        needed=False,
        detail=said,
        remedy="a control group of your own: systemd-run --user --scope -p Delegate=yes evolve …",
    )


def _scratch(config: Config, sandbox: Sandbox) -> Iterator[Finding]:
    folder = Path(config.sandbox.scratch)
    try:
        with tempfile.TemporaryDirectory(prefix="doctor-", dir=folder) as place:
            way = choose_workspaces(config.sandbox.workspace, sandbox, Path(place)).name
    except (OSError, SandboxUnavailable) as error:
        yield Finding(
            area="sandbox",
            name="working copies",
            state="missing",
            needed=True,
            detail=f"{folder}: {error}",
            remedy="sandbox.scratch=DIR names another folder",
        )
        return
    yield Finding(
        area="sandbox",
        name="working copies",
        state="works" if way == "overlay" else "limited",
        needed=False,
        detail=f"{way}: {_SLOWER.get(way, 'layers over one template')} in {folder}",
        remedy="bubblewrap 0.11 or newer, and sandbox.scratch on a file system that takes overlays (not one itself)",
    )
    free = shutil.disk_usage(folder).free
    yield Finding(
        area="sandbox",
        name="scratch space",
        state="works" if free >= _LEAST_FREE else "limited",
        needed=False,
        detail=f"{free / (1 << 30):.1f} GiB free in {folder}",
        remedy="free some, or sandbox.scratch=DIR",
    )


def _agents(root: Path | None, config: Config | None) -> Iterator[Finding]:
    chosen = None if config is None else config.agent.name
    try:
        path, remedy, state = str(find_ast_grep()), "", "works"
    except AgentError as error:
        path, _, remedy = str(error).partition("\n")
        state = "missing"
    yield Finding(
        area="agent",
        name="rulebook",
        state="works" if state == "works" else "missing",
        needed=chosen == "rulebook",
        detail=f"built in; ast-grep: {path}",
        remedy=remedy.strip().removeprefix("install it again: "),
    )
    named = config is not None and bool(config.agent.options.get("program"))
    for each in list_agents(Path.cwd() if root is None else root):
        yield _agent(each, needed=each.pin.name == chosen and not named)


def _agent(state: State, *, needed: bool) -> Finding:
    there = state.installed
    said = (
        state.reason if there is None else f"{state.version} (tested: {state.pin.range}), {there.executable}"
    )
    return Finding(
        area="agent",
        name=state.pin.name,
        state="missing" if there is None else "works",
        needed=needed,
        detail=said,
        remedy=f"evolve agents install {state.pin.name} (API keys only: a subscription login cannot be used)",
    )


def key_findings(
    root: Path | None, config: Config | None, environment: Mapping[str, str]
) -> Iterator[Finding]:
    """The names of the secrets that options of the group `model` refer to, and whether each is there."""
    users: dict[str, list[str]] = {}
    for folder in search_folders(root):
        for path in sorted((folder.path / "model").glob("*.yaml")):
            text = "\n".join(
                line.partition(" #")[0]
                for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
                if not line.lstrip().startswith("#")
            )
            for name in _SECRET.findall(text):
                users.setdefault(name, []).append(path.stem)
    chosen = None if config is None or config.model.key is None else config.model.key.rpartition("/")[2]
    for name in sorted({*users, *([chosen] if chosen else [])}):
        there = bool(environment.get(name))
        models = ", ".join(sorted(set(users.get(name, ()))))
        yield Finding(
            area="key",
            name=name,
            state="works" if there else "missing",
            needed=name == chosen,
            detail=f"{'set' if there else 'not set'}; for {models}" if models else "",
            remedy=f"export {name}=… (it is read by the gateway only, and never written anywhere)",
        )
