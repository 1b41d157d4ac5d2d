"""A project with a small suite, for tests of what loading one takes and refuses."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.config import SuiteConfig
from bench.errors import SuiteError
from bench.suite import Suite, load_suite

LABEL = {
    "id": "one",
    "severity": "high",
    "path": "a.py",
    "line_start": 1,
    "line_end": 2,
    "category": "correctness",
}


class Project:
    """A project folder with a suite of one review task, for a test to change."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "suites" / "s"
        self.write("prompts/review.md", "Review it.\n")
        self.write("trees/t/a.py", "x = 1\ny = 2\n")
        self.write("changes/c.patch", "diff --git a/a.py b/a.py\n")
        self.labels([LABEL])
        self.task: dict[str, Any] = {
            "id": "review-a",
            "class": "review-defect",
            "split": "train",
            "source": {"tree": "trees/t"},
            "change": "changes/c.patch",
            "prompt": "prompts/review.md",
            "oracle": {"labels": "labels/a.json"},
        }

    def write(self, path: str, content: str | bytes) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return file

    def labels(self, findings: list[dict[str, Any]], path: str = "labels/a.json") -> None:
        self.write(path, json.dumps({"schema_version": 1, "findings": findings}, indent=1))

    def load(self, *tasks: dict[str, Any], **changes: Any) -> Suite:
        """The suite of these tasks, or of the one task with some keys changed; None takes a key away."""
        one = {key: value for key, value in {**self.task, **changes}.items() if value is not None}
        document = {"schema": "suite/1", "name": "s", "tasks": list(tasks) or [one]}
        plain = json.loads(json.dumps(document))  # nothing in it is one object twice, which YAML would alias
        return self.load_text(yaml.safe_dump(plain, sort_keys=False))

    def load_text(self, text: str) -> Suite:
        self.write("suite.yaml", text)
        return load_suite(SuiteConfig(name="s", path="suites/s"), self.root)

    def refused(self, *tasks: dict[str, Any], **changes: Any) -> str:
        with pytest.raises(SuiteError) as caught:
            self.load(*tasks, **changes)
        return str(caught.value)

    def test_files(self, count: int = 1, size: int = 3) -> list[dict[str, str]]:
        for number in range(count):
            self.write(f"hidden/{number}.py", b"#" * size)
        return [{"source": f"hidden/{number}.py", "target": f"{number}.py"} for number in range(count)]
