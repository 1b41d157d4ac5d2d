"""Puts packages of npm into a folder, each checked against its pinned integrity. No script of a package is run."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from bench.agents.installed.model import NpmSource
from bench.agents.installed.pins import read_lock
from bench.digest import canonical_json
from bench.errors import AgentError

_REGISTRY = "https://registry.npmjs.org"
_SAID_LINES = 6
_DIE_WITH_PARENT = 1  # prctl: PR_SET_PDEATHSIG
# None of the pinned programs needs its install scripts: those of the wrapper packages only put the program of the
# platform's own package in their place, and we take it from there. A user's settings must not bring them back.
_OPTIONS = (
    "--ignore-scripts",
    "--no-bin-links",
    "--no-audit",
    "--no-fund",
    "--no-progress",
    "--no-update-notifier",
    "--no-global",
    "--engine-strict=false",
    "--loglevel=error",
    "--fetch-retries=2",
    "--fetch-retry-mintimeout=500",
    "--fetch-retry-maxtimeout=3000",
)
_IDLE = re.compile(r"complete log|^npm (?:error|ERR!)\s+at |^npm (?:error|ERR!)$")
_AWAY = {"ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "ENOTCACHED"}
_AWAY |= {"EHOSTUNREACH", "ERR_SOCKET_TIMEOUT", "FETCH_ERROR", "EPIPE"}


def install_packages(source: NpmSource, folder: Path) -> None:
    """Install into the empty `folder`. AgentError says what is missing, unreachable or not what was pinned."""
    lock = lock_of(source)
    manifest = {"private": True, "dependencies": lock["packages"][""]["dependencies"]}
    (folder / "package.json").write_bytes(canonical_json(manifest))
    (folder / "package-lock.json").write_bytes(canonical_json(lock))
    done = _run_npm(folder)
    if done.returncode != 0:
        raise AgentError(_refusal(source, f"{done.stderr}\n{done.stdout}"))
    _check_installed(source, lock["packages"], folder)


def lock_of(source: NpmSource) -> Mapping[str, Any]:
    """Npm's lock file for a source: the one that the pin names, or one with a single package."""
    if source.lock is not None:
        return read_lock(source.lock)
    base = source.package.rpartition("/")[2]
    address = f"{_REGISTRY}/{source.package}/-/{base}-{source.version}.tgz"
    package = {
        "version": source.version,
        "resolved": source.archive or address,
        "integrity": source.integrity,
    }
    top = {"dependencies": {source.package: source.archive or source.version}}
    return {
        "lockfileVersion": 3,
        "requires": True,
        "packages": {"": top, f"node_modules/{source.package}": package},
    }


def _run_npm(folder: Path) -> subprocess.CompletedProcess[str]:
    program = shutil.which("npm")
    if program is None:
        raise AgentError(
            "npm is not installed, and the agent comes as an npm package\n"
            "  install Node.js, which brings it (apt-get install npm, or https://nodejs.org)"
        )
    prctl = ctypes.CDLL(None).prctl
    return subprocess.run(
        [program, "ci", *_OPTIONS],
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        check=False,
        # an installation that is killed must not go on in the background
        preexec_fn=lambda: prctl(_DIE_WITH_PARENT, signal.SIGKILL),
        env={**os.environ, "NO_UPDATE_NOTIFIER": "1"},
    )


def _check_installed(source: NpmSource, pinned: Mapping[str, Any], folder: Path) -> None:
    """That npm installed only what is pinned, as it wrote down itself: a setting might make it take something else."""
    try:
        listed = msgspec.json.decode((folder / "node_modules" / ".package-lock.json").read_bytes())
        found = {path: package.get("integrity") for path, package in listed["packages"].items()}
    except (OSError, msgspec.DecodeError, KeyError, AttributeError) as error:
        raise AgentError(
            f"npm did not say what it installed for {source.package}: {error}\n  update npm"
        ) from error
    wrong = [path for path, integrity in found.items() if integrity != pinned.get(path, {}).get("integrity")]
    if wrong or not found:
        raise AgentError(
            f"npm installed something else than what is pinned for {source.package}: {', '.join(wrong) or 'nothing'}\n"
            "  see the settings of npm: npm config list"
        )


def _refusal(source: NpmSource, said: str) -> str:
    named = f"the package {source.package} {source.version}"
    code = (re.findall(r"^npm (?:error|ERR!) code (\S+)", said, re.MULTILINE) or [""])[0]
    if code == "EINTEGRITY":
        return (
            f"{named}, or one that it needs, does not have the pinned integrity: it is not the one that was tested\n"
            f"  do not use it before you know why; npm says:\n{_shortened(said)}"
        )
    if code in _AWAY:
        return (
            f"{named} cannot be fetched: the registry cannot be reached ({code})\n"
            f"  check the network, the proxy and `npm config get registry`; npm says:\n{_shortened(said)}"
        )
    if code in ("E404", "ETARGET"):
        return (
            f"{named} is not in the registry that npm is configured for\n"
            f"  see `npm config get registry`; npm says:\n{_shortened(said)}"
        )
    return f"{named} cannot be installed; npm says:\n{_shortened(said)}"


def _shortened(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip() and not _IDLE.search(line)]
    return "\n".join(f"    {line}" for line in lines[:_SAID_LINES]) or "    (nothing)"
