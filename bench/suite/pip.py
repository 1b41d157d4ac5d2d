"""Runs pip, which fetches and installs packages, and shortens what it says."""

import importlib.util
import subprocess
import sys
from pathlib import Path

from bench.errors import SuiteError

_SAID_LINES = 8


def require_pip() -> None:
    """SuiteError when this interpreter has no pip."""
    if importlib.util.find_spec("pip") is None:
        raise SuiteError(
            f"{sys.executable} has no pip, which fetches the packages.\n"
            f"Add it with: {sys.executable} -m ensurepip --upgrade"
        )


def run_pip(
    *arguments: str, index: Path | None, directory: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run pip to its end. `index` is a folder of wheels that replaces the package index."""
    # A user's pip settings lead to their package index; a folder as index must not be widened by them.
    source = [] if index is None else ["--isolated", "--no-index", "--find-links", str(index)]
    quiet = ["--quiet", "--no-input", "--disable-pip-version-check"]
    return subprocess.run(
        [sys.executable, "-m", "pip", *arguments, *quiet, *source],
        cwd=directory,
        capture_output=True,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        check=False,
    )


def pip_said(output: str) -> str:
    """The last lines that pip printed, indented."""
    said = [line.strip() for line in output.splitlines() if line.strip() and "notice" not in line]
    return "\n".join(f"  {line}" for line in said[-_SAID_LINES:]) or "  (nothing)"
