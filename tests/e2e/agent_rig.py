"""A project whose tasks are situations of a model: real agents live through them, only the model is scripted."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from bench.results import ObjectStore, Row, read_rows
from tests.e2e.commands import Done, run
from tests.e2e.real_agents import real_agent

SKILL = "answering"
USAGE = {"input": 100, "cache_read": 30, "cache_write": 20, "output": 7}
_WORK = {"kind": "work", "prompt": "prompts/work.md", "order": 1, "boundary": ["**"], "skills": []}
_ORACLE = 'read -r token; cmp answer.txt "$ORACLE/expected" >&2 && echo "$token"'


class Dialect(Struct, frozen=True, kw_only=True):
    """How an agent is chosen, and by which calls of tools it does what a situation needs. `subagent` is None for one
    that has none; `pieces` are the options that keep hanging short.
    """

    agent: str
    model: str
    protocol: str
    tools: Mapping[str, Any]
    options: tuple[str, ...] = ()
    seconds: int = 6  # enough to start, and for two requests, four at once

    def overrides(self) -> list[str]:
        program = real_agent(self.agent).executable
        return [
            f"agent={self.agent}", f"model={self.model}", f"agent.options.program={program}",
            "model.upstream=scripted", "model.script=script.yaml", *self.options,
        ]  # fmt: skip

    def call(self, what: str, argument: str = "") -> dict[str, Any]:
        """A call of a tool, as a script says it."""
        return json.loads(json.dumps(self.tools[what]).replace("ARGUMENT", json.dumps(argument)[1:-1]))


def says(*tools: Mapping[str, Any], text: str = "", **reply: Any) -> dict[str, Any]:
    """A reply with the usual usage."""
    return {"text": text or ("" if tools else "Done."), "tools": list(tools), "usage": USAGE, **reply}


class Stage:
    """A project with one task for each situation, and the script of all their replies."""

    def __init__(self, root: Path, dialect: Dialect) -> None:
        self.root, self.dialect = root, dialect
        self.replies: list[dict[str, Any]] = []
        self.tasks: list[dict[str, Any]] = []
        self.write("evolve.toml", "")
        self.write("suites/mine/prompts/do.md", "Write down the answer.\n")
        self.write("suites/mine/oracles/expected", "42\n")
        self.write("suites/mine/tree/readme.txt", "The answer belongs into answer.txt.\n")
        self.write("conf/suite/mine.yaml", "name: mine\npath: suites/mine\nlearnings: null\nprepare: null\n")
        self.write(
            f".claude/skills/{SKILL}/SKILL.md",
            f"---\nname: {SKILL}\ndescription: How answers are written.\n---\nWrite 42 into answer.txt.\n",
        )
        arm = {"role": "incumbent", "skills": [SKILL], "family": None, "candidate_of": None, "tools": {}}
        self.write("conf/arms/mine.yaml", yaml.safe_dump({"direct": {**arm, "sessions": {"work": _WORK}}}))

    def write(self, path: str, content: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)

    def situation(self, name: str, *replies: Mapping[str, Any]) -> None:
        """A task, and what the model replies to its requests, one after the other; the last reply is for the rest."""
        self.tasks.append(
            {
                "id": name, "class": "trivial", "split": "train", "source": {"tree": "tree"},
                "prompt": "prompts/do.md",
                "oracle": {"command": _ORACLE, "files": [{"source": "oracles/expected", "target": "expected"}]},
            }
        )  # fmt: skip
        for turn, reply in enumerate(replies):
            last = turn == len(replies) - 1
            self.replies.append(
                {"when": {"task": name, **({} if last else {"turn": turn})}, "reply": dict(reply)}
            )

    def bench(self, *more: str) -> "Seen":
        """Live through all situations."""
        suite = {"schema": "suite/1", "name": "mine", "tasks": self.tasks}
        self.write("suites/mine/suite.yaml", yaml.safe_dump(suite, sort_keys=False))
        self.write("script.yaml", json.dumps({"schema": "script/1", "replies": self.replies}))
        skills = f"+skills.{SKILL}={{root: .claude/skills, mirrors: []}}"
        plain = ["suite=mine", "arms=mine", "repeats=1", "retries=0", "breaker=0", skills, "reuse=none"]
        done = run(
            "bench",
            "--json",
            "--quiet",
            *plain,
            *self.dialect.overrides(),
            *more,
            folder=self.root,
            timeout=300,
        )
        return Seen(self.root, done)


class Seen:
    """What became of the situations."""

    def __init__(self, root: Path, done: Done) -> None:
        assert "folder" in done.out, done.err
        self.done = done
        self.folder = Path(done.json["folder"])
        self.rows: dict[str, Row] = {
            row.identity.task: row for row in read_rows(self.folder / "results.jsonl")[0]
        }
        self._store = ObjectStore(root / "runs" / "objects")

    def kept(self, task: str, artifact: str) -> bytes:
        return self._store.get(self.rows[task].artifacts[artifact].digest)

    def requests(self, task: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.kept(task, "requests-work").splitlines()]

    def end(self, task: str) -> tuple[str, str | None]:
        outcome = self.rows[task].outcome
        return outcome.status, outcome.kind


def files_with(root: Path, word: bytes) -> list[Path]:
    """The files below a folder that hold the word."""
    return [
        path for path in root.rglob("*") if path.is_file() and re.search(re.escape(word), path.read_bytes())
    ]


def total(replies: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """The sum of usages."""
    return {kind: sum(each[kind] for each in replies) for kind in USAGE}
