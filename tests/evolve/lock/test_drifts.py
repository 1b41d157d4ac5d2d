"""Each thing that a generation reads, changed for real and alone, is what a check of its lock names, and nothing else."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs
from sealed_project import KEY, TASK, Provider, ask, bwrap_in, edit_suite, the_run

from bench.digest import canonical_json
from evolve.lock import LOCK, read_lock, write_lock

TOP = Path(__file__).parents[3]
Change = Callable[[Path], object]


def appended(path: str, text: str = "\n# more\n") -> Change:
    def change(root: Path) -> None:
        with (root / path).open("a") as file:
            file.write(text)

    return change


def labels(root: Path) -> None:
    path = root / "suites/starter/labels/count-sheet.json"
    path.write_text(path.read_text().replace('"medium"', '"high"', 1))


def prices(root: Path) -> None:
    price = {"input": 4, "output": 30, "source": "https://example.org", "date": "2026-11-30"}
    table = {
        "schema": "prices/1",
        "version": "test",
        "currency": "USD per million tokens",
        "models": {"our-model": price},
    }
    (root / "conf/prices").mkdir()
    (root / "conf/prices/ours.json").write_text(json.dumps(table))


def in_plan(**values: object) -> Change:
    def change(root: Path) -> None:
        path = the_run(root) / "gen-2" / "plan.json"
        path.write_bytes(canonical_json(json.loads(path.read_bytes()) | values) + b"\n")

    return change


def parent(root: Path) -> None:
    """The lock of the generation before, as if that had been another one: sound, but not the one that was followed."""
    folder = the_run(root) / "gen-1"
    write_lock(folder, structs.replace(read_lock(folder / LOCK).sealed, overrides=()))


def overlay(root: Path) -> None:
    path = next((the_run(root) / "gen-2" / "overlay").rglob("SKILL.md"))
    path.chmod(0o600)
    path.write_text(path.read_text() + "\nRead it twice.\n")


CHANGES: dict[str, Change] = {
    "skill": appended(".claude/skills/code-review/SKILL.md"),
    "prompt": appended("conf/prompts/review.md"),
    "oracle": labels,
    "agent": appended("agent.py"),
    "price-table": prices,
    "configuration-file": appended("conf/budget/mine.yaml"),
    "seed": in_plan(seed=5),
    "suite": lambda root: edit_suite(root, "review-scheduler-state", critical=True),
    "plugin": appended("plugins/code-review/SKILL.md"),
    "environment": lambda root: edit_suite(root, TASK, environment={"python": True}),
    "parent": parent,
    "plan": in_plan(left_out={}),
    "overlay": overlay,
}


@pytest.mark.parametrize("kind", CHANGES)
def test_what_was_changed_is_named_and_nothing_else(
    sealed: Path, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    CHANGES[kind](sealed)
    told = ask(capfd, sealed, "lock", "verify", f"{the_run(sealed).name}/gen-2")
    assert told.drifted == {kind}, told.json["drifts"]
    assert all(each["then"] != each["now"] for each in told.json["drifts"])
    assert told.code == 5


def test_nothing_is_named_where_nothing_was_changed(sealed: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for number in (1, 2):
        told = ask(capfd, sealed, "lock", "verify", f"{the_run(sealed).name}/gen-{number}")
        assert (told.code, told.drifted) == (0, set()), told.out


def test_another_bubblewrap_is_a_drift_of_the_sandbox_policy(
    sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(bwrap_in(tmp_path / "other", "0.99.0")), prepend=":")
    told = ask(capfd, sealed, "lock", "verify", f"{the_run(sealed).name}/gen-2")
    assert told.drifted == {"sandbox-policy"}
    assert [each["now"] for each in told.json["drifts"]] == ["0.99.0"]


def test_another_version_of_a_distribution_is_a_drift_of_the_dependency(
    sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    about = tmp_path / "site" / "msgspec-99.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: msgspec\nVersion: 99.0\n")
    monkeypatch.syspath_prepend(str(about.parent))
    told = ask(capfd, sealed, "lock", "verify", f"{the_run(sealed).name}/gen-2")
    assert told.drifted == {"dependency"}
    assert [(each["name"], each["now"]) for each in told.json["drifts"]] == [("msgspec", "99.0")]


@pytest.mark.parametrize("room", ["bench/digest.py", "evolve/words.py"])
def test_another_program_is_a_drift_of_the_harness(sealed: Path, tmp_path: Path, room: str) -> None:
    for name in ("bench", "evolve", "conf", "schemas"):
        shutil.copytree(TOP / name, tmp_path / "program" / name, ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "program" / room).open("a") as file:
        file.write("# more\n")
    words = ["lock", "verify", f"{the_run(sealed).name}/gen-2", "--root", str(sealed), "--json"]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; from evolve.cli import main; sys.exit(main({words!r}))"],
        cwd=tmp_path / "program",
        env={**os.environ, "PYTHONPATH": str(tmp_path / "program")},
        capture_output=True,
        check=False,
    )
    told = json.loads(done.stdout)
    assert {each["kind"] for each in told["drifts"]} == {"harness"}, told["drifts"]
    assert done.returncode == 5


def test_another_model_that_answers_is_a_drift_of_the_model_served(
    sealed: Path, served: Provider, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OUR_KEY", KEY)
    monkeypatch.setattr(served, "served", "our-model-2027")
    told = ask(capfd, sealed, "reproduce", f"{the_run(sealed).name}/gen-1", "--rerun")
    assert told.drifted == {"model-served"}, told.err + told.out
    assert told.json["results"] == [
        {"kind": "model-served", "name": "our-model", "then": "our-model", "now": "our-model-2027"}
    ]
    lock = json.loads((sealed / "runs" / told.json["run"] / "gen-1" / "generation.lock.json").read_bytes())
    assert lock["sealed"]["parent"] == f"{the_run(sealed).name}/gen-1"
    assert told.code == 5
