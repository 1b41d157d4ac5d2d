"""Running the installed commands as a stranger would: real processes, folders of their own, no checkout on the path."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SCRIPTS = Path(sys.executable).parent


class Done:
    """A finished command: its exit code, what it printed, and its result as data if it was asked for `--json`."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def environment(**more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8", **more}


def run(
    command: str, *arguments: str, folder: Path, timeout: float = 120, more: Mapping[str, str] | None = None
) -> Done:
    """Run `evolve` or `bench` in `folder`, without a terminal and with an empty stdin; `more` are variables."""
    done = subprocess.run(
        [str(SCRIPTS / command), *arguments],
        cwd=folder,
        env=environment(**(more or {})),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def start(command: str, *arguments: str, folder: Path) -> "subprocess.Popen[str]":
    """Start `evolve` or `bench` in `folder`; its output is read by the caller."""
    return subprocess.Popen(
        [str(SCRIPTS / command), *arguments],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def agent_program(folder: Path, body: str) -> Path:
    """A program for the agent `command`: `body` runs with `session` (the input) and `say(event)` at hand."""
    path = folder / "agent.py"
    path.write_text(
        "import json, os, sys\n"
        "session = json.loads(sys.stdin.read())\n"
        "def say(**event): print(json.dumps(event), flush=True)\n"
        "for skill in session['skills']: say(type='skill', name=skill['name'], ok=True)\n"
        "def review(verdict, findings=()):\n"
        "    text = json.dumps({'schema_version': 1, 'verdict': verdict, 'findings': list(findings)})\n"
        "    open(session['paths']['artifact'], 'w').write(text)\n"
        + body
        + "\nsay(type='result', status='completed', message='')\n"
    )
    return path


def with_program(path: Path) -> list[str]:
    """The overrides that put a program of `agent_program` in the cells."""
    return ["agent=command", f"agent.options.program={path}", "agent.options.python=true"]


def starter_root(folder: Path) -> Path:
    return folder / "runs" / "starter"


def overlay_of(root: Path, folder: Path, edit: Any) -> Path:
    """An overlay folder with the starter's SKILL.md after `edit`."""
    path = folder / "overlay" / ".claude" / "skills" / "code-review" / "SKILL.md"
    path.parent.mkdir(parents=True)
    shutil.copy(root / ".claude" / "skills" / "code-review" / "SKILL.md", path)
    path.write_text(edit(path.read_text()))
    return folder / "overlay"
