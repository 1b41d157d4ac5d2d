"""A workspace, skills and tools for the program of the agent `rulebook`, and a way to run it as the sandbox does."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).parents[3] / "bench" / "agents" / "rulebook" / "program"
AST_GREP = Path(sys.executable).parent / "ast-grep"
NONE_RULE = """\
id: none-comparison
language: python
severity: warning
message: Compare $A with None by identity
note: Equality can be overloaded.
rule: {pattern: $A == None}
fix: $A is None
"""
PRINT_RULE = """\
id: no-print
language: python
severity: error
message: A library does not print
metadata: {category: style}
rule: {pattern: print($$$A)}
"""


@dataclass(frozen=True)
class Ended:
    """What a session wrote on stdout and stderr."""

    code: int
    raw: bytes
    errors: str

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.raw.splitlines()]

    @property
    def result(self) -> dict[str, Any]:
        return self.events[-1]

    @property
    def messages(self) -> list[str]:
        return [event["text"] for event in self.events if event["type"] == "message"]


@dataclass(frozen=True)
class Desk:
    """A workspace under git, its skills beside it, and a place for the artifact."""

    root: Path

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    @property
    def artifact(self) -> Path:
        return self.root / "output" / "artifact"

    def git(self, *arguments: str) -> None:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false")
        command = ["git", *identity, *arguments]
        subprocess.run(command, cwd=self.workspace, check=True, capture_output=True)

    def write(self, name: str | bytes, text: str) -> Path:
        path = self.workspace / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def commit(self, **files: str) -> None:
        for name, text in files.items():
            self.write(f"{name}.py", text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "base")

    def skill(self, *rules: str, name: str = "code-review", file: str = "SKILL.md") -> None:
        blocks = "\n".join(f"```yaml\n{rule}```\n" for rule in rules)
        self.markdown(f"---\nname: {name}\ndescription: d\n---\n# Rules\n{blocks}", name, file)

    def markdown(self, text: str, name: str = "code-review", file: str = "SKILL.md") -> None:
        path = self.root / "skills" / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def tool(self, text: str, name: str = "rules", file: str = "rules.md") -> dict[str, str]:
        """A tool that is a folder with this Markdown, as a session names it."""
        path = self.root / "tools" / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return {"name": name, "kind": "folder", "path": str(self.root / "tools" / name)}

    def plan(self, text: str) -> Path:
        path = self.root / "plan.md"
        path.write_text(text, encoding="utf-8")
        return path

    def session(
        self,
        kind: str,
        skills: tuple[str, ...] = ("code-review",),
        folder: Path | None = None,
        tools: tuple[dict[str, Any], ...] = (),
        plan: Path | None = None,
    ) -> bytes:
        document = {
            "schema": "session/1",
            "session": kind,
            "kind": kind,
            "prompt": "…",
            "paths": {
                "workspace": str(self.workspace),
                "artifact": str(self.artifact),
                "plan": str(plan) if plan else None,
            },
            "tools": list(tools),
            "skills": [
                {"name": name, "path": str((folder or self.root / "skills") / name)} for name in skills
            ],
        }
        return json.dumps(document).encode()

    def run(
        self, kind: str = "review", skills: tuple[str, ...] = ("code-review",), folder: Path | None = None
    ) -> Ended:
        return run_program(self.session(kind, skills, folder))

    def work(
        self, *tools: dict[str, Any], plan: Path | None = None, skills: tuple[str, ...] = ("code-review",)
    ) -> Ended:
        return run_program(self.session("work", skills, tools=tools, plan=plan))

    def review(self, *skills: str) -> dict[str, Any]:
        """The artifact of a review that completed."""
        ended = self.run(skills=skills or ("code-review",))
        assert ended.result["status"] == "completed", ended
        review: dict[str, Any] = json.loads(self.artifact.read_bytes())
        return review

    def places(self) -> list[tuple[str, int]]:
        return [(finding["path"], finding["line"]) for finding in self.review()["findings"]]


def run_program(
    stdin: bytes,
    program: Path = PROGRAM,
    ast_grep: Path = AST_GREP,
    environment: dict[str, str] | None = None,
) -> Ended:
    command = [sys.executable, "-I", "-S", str(program), str(ast_grep)]
    done = subprocess.run(command, input=stdin, capture_output=True, check=False, cwd="/", env=environment)
    return Ended(done.returncode, done.stdout, done.stderr.decode())


def make_desk(folder: Path) -> Desk:
    made = Desk(folder)
    made.workspace.mkdir()
    made.git("init", "-q")
    return made
