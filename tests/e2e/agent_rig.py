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
from tests.e2e.real_agents import Driven, driven_below, real_agent

SKILL = "answering"
# keys as a user has them, which nobody needs here
PLANTED = {
    "ANTHROPIC_API_KEY": "sk-planted-key-0123456789abcdef",
    "OPENAI_API_KEY": "planted-odd-key-9876543210",
}
USAGE = {"input": 100, "cache_read": 30, "cache_write": 20, "output": 7}
# other prices than those of the built-in table, cache writes included
PRICES = {
    "schema": "prices/1", "version": "test", "currency": "USD per million tokens",
    "models": {
        "gpt-5.5": {
            "input": 4, "cache_read": 0.5, "cache_write": 6, "output": 30,
            "source": "https://example.org", "date": "2026-11-30",
        }
    },
}  # fmt: skip
_WORK = {"kind": "work", "prompt": "prompts/work.md", "order": 1, "boundary": ["**"], "skills": []}
_ORACLE = 'read -r token; cmp answer.txt "$ORACLE/expected" >&2 && echo "$token"'


class Dialect(Struct, frozen=True, kw_only=True):
    """How an agent is chosen, and by which calls of tools it does what a situation needs. `subagent` is None for one
    that has none.
    """

    agent: str
    model: str
    provider: str
    tools: Mapping[str, Any]
    rates: Mapping[str, float]
    options: tuple[str, ...] = ()
    seconds: int = 12  # enough to start, and for two requests, four at once

    def overrides(self) -> list[str]:
        program = real_agent(self.agent).executable
        return [
            f"agent={self.agent}", f"model={self.model}", f"agent.options.program={program}",
            "model.upstream=scripted", "model.script=script.yaml", *self.options,
        ]  # fmt: skip

    def dollars(self, usage: Mapping[str, int]) -> float:
        """What tokens cost by the table, whose rates are per million."""
        return sum(self.rates[kind] * count for kind, count in usage.items()) / 1e6

    def call(self, what: str, argument: str = "") -> dict[str, Any]:
        """A call of a tool, as a script says it."""
        return json.loads(json.dumps(self.tools[what]).replace("ARGUMENT", json.dumps(argument)[1:-1]))


def says(*tools: Mapping[str, Any], text: str = "", **reply: Any) -> dict[str, Any]:
    """A reply with the usual usage."""
    return {"text": text or ("" if tools else "Done."), "tools": list(tools), "usage": USAGE, **reply}


def rules(when: Mapping[str, Any], *replies: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rules of a script: one reply a request, and the last one for all that follow."""
    last = len(replies) - 1
    return [
        {"when": {**when, **({} if turn == last else {"turn": turn})}, "reply": dict(reply)}
        for turn, reply in enumerate(replies)
    ]


class Stage:
    """A project with one task for each situation, and the script of all their replies."""

    def __init__(self, root: Path, dialect: Dialect) -> None:
        self.root, self.dialect = root, dialect
        self.replies: list[dict[str, Any]] = []
        self.tasks: list[dict[str, Any]] = []
        self.write("evolve.toml", "")
        self.write("conf/prices/test.json", json.dumps(PRICES))
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
        self.task(name)
        self.reply({"task": name}, *replies)

    def reply(self, when: Mapping[str, Any], *replies: Mapping[str, Any]) -> None:
        """What the model replies, one after the other, where `when` applies."""
        self.replies += rules(when, *replies)

    def task(self, name: str, expected: str = "expected") -> None:
        """A task whose hidden test compares the answer."""
        self.tasks.append(
            {
                "id": name, "class": "trivial", "split": "train", "source": {"tree": "tree"},
                "prompt": "prompts/do.md",
                "oracle": {"command": _ORACLE, "files": [{"source": f"oracles/{expected}", "target": "expected"}]},
            }
        )  # fmt: skip

    def bench(self, *more: str) -> "Seen":
        """Live through all situations."""
        return Seen(self.root, self.command("bench", *more))

    def command(self, name: str, *more: str) -> Done:
        """Run `bench` or `evolve` on the situations."""
        self.prepare()
        return run(name, *self.overrides(*more), folder=self.root, timeout=300, more=PLANTED)

    def prepare(self) -> None:
        """Write the suite and the script."""
        suite = {"schema": "suite/1", "name": "mine", "tasks": self.tasks}
        self.write("suites/mine/suite.yaml", yaml.safe_dump(suite, sort_keys=False))
        self.write("script.yaml", json.dumps({"schema": "script/1", "replies": self.replies}))

    def overrides(self, *more: str) -> list[str]:
        """The words after the command."""
        skills = f"+skills.{SKILL}={{root: .claude/skills, mirrors: []}}"
        plain = ("suite=mine", "arms=mine", "repeats=1", "retries=0", "breaker=0", skills, "reuse=none")
        return ["--json", "--quiet", *plain, *self.dialect.overrides(), *more]


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
        self._told = False

    def driven(self) -> list[Driven]:
        """What was done with the agent; only the first time, so that it is told once."""
        if self._told:
            return []
        self._told = True
        return driven_below(self.folder)

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
