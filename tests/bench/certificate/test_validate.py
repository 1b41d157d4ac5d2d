"""A task is certified if what is right passes it and nothing else does; a policy can ask for that."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

import bench.cli
import evolve.cli
from bench.certificate import Attempt, Tried
from bench.certificate.judging import notes, problems
from bench.certificate.patches import sections, with_each_sign_turned, without_each_part
from bench.config.resources import load_schema
from bench.config.schema_errors import schema_complaints
from bench.exits import ExitCode
from tests.tampering.tiny_project import write_project

CLEAN = {
    "id": "f",
    "severity": "low",
    "path": "change.py",
    "line_start": 1,
    "line_end": 1,
    "category": "other",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose suite has good tasks and bad ones."""
    root = write_project(tmp_path_factory.mktemp("certified"))
    suite = root / "suites/tiny"
    (suite / "change.patch").write_text(
        "diff --git a/change.py b/change.py\nnew file mode 100644\n--- /dev/null\n+++ b/change.py\n"
        "@@ -0,0 +1,2 @@\n+one = 1\n+two = 2\n"
    )
    document = yaml.safe_load((suite / "suite.yaml").read_text())
    work, inside, _ = document["tasks"]
    no_reference = {**work, "id": "no-reference", "solutions": {}}
    seen = {
        **work,
        "id": "sees-nothing",
        "verify": "",
        "oracle": {"command": "cat", "files": work["oracle"]["files"]},
    }
    reviews = [
        {
            **{key: work[key] for key in ("split", "source", "prompt")},
            "id": name,
            "class": kind,
            "change": "change.patch",
            "oracle": {"labels": f"{name}.json"},
        }
        for name, kind in (
            ("defect", "review-defect"),
            ("clean", "review-clean"),
            ("nowhere", "review-defect"),
        )
    ]
    for name, labels in (("defect", [CLEAN]), ("clean", []), ("nowhere", [{**CLEAN, "line_end": 9}])):
        (suite / f"{name}.json").write_text(json.dumps({"schema_version": 1, "findings": labels}))
    tasks = [work, inside, no_reference, seen, *reviews]
    (suite / "suite.yaml").write_text(json.dumps({**document, "tasks": tasks}))
    return root


@pytest.fixture(scope="module")
def found(root: Path) -> Mapping[str, Any]:
    """What is written about it."""
    assert (
        bench.cli.main(["validate", "tiny", "--runs", "2", "--root", str(root), "--quiet"]) == ExitCode.CHECK
    )
    document: Mapping[str, Any] = json.loads((root / "suites/tiny/certificate.json").read_text())
    assert not [*schema_complaints(load_schema("suite-certificate"), document)]
    return {each["task"]: each for each in document["tasks"]}


def test_a_good_task_is_certified(found: Mapping[str, Any]) -> None:
    for name in ("tiny", "defect", "clean"):
        assert found[name]["certified"], found[name]["problems"]
        assert not found[name]["flaky"]
    worths = {each["worth"] for each in found["tiny"]["attempts"]}
    assert worths == {"reference", "untouched", "empty", "wrong", "mutated", "tampering"}


def test_every_cheat_on_a_good_task_is_called_tampering(found: Mapping[str, Any]) -> None:
    cheats = [each for each in found["tiny"]["attempts"] if each["worth"] == "tampering"]
    assert len(cheats) == 8
    assert {tried["kind"] for each in cheats for tried in each["tries"]} == {"tampered"}


def test_a_token_that_the_code_under_test_can_find_is_noticed(found: Mapping[str, Any]) -> None:
    assert found["tiny-inside"]["problems"] == [
        "the solution finds-the-token passes without solving anything"
    ]


def test_a_test_that_passes_anything_is_noticed(found: Mapping[str, Any]) -> None:
    said = found["sees-nothing"]["problems"]
    assert "the solution nearly passes although it is wrong" in said
    assert any("notices none of" in each for each in said)


def test_a_task_that_nobody_is_known_to_solve_is_not_certified(found: Mapping[str, Any]) -> None:
    assert found["no-reference"]["problems"][0].startswith("no solution is known to pass it")


def test_a_label_that_points_nowhere_is_noticed(found: Mapping[str, Any]) -> None:
    assert found["nowhere"]["problems"] == ["label f ends in line 9 of change.py, which has 2"]


def test_a_policy_that_asks_for_certificates_refuses_before_anything_is_paid(
    root: Path, found: Mapping[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "--root",
        str(root),
        "suite=tiny",
        "arms=plain",
        "proposer=learnings",
        "proposer.queue=ideas.jsonl",
        "promotion.certified=true",
    ]
    (root / "ideas.jsonl").touch()
    words += ["agent=command", f"agent.options.program={Path(__file__)}", "tasks.class=investigation-bug"]

    def refusal(*more: str) -> str:
        assert evolve.cli.main(["plan", *words, *more]) == ExitCode.REQUEST
        return capsys.readouterr().err

    assert "tiny-inside: the solution finds-the-token passes" in refusal()
    prompt, certificate = root / "suites/tiny/work.md", root / "suites/tiny/certificate.json"
    text, kept = prompt.read_text(), certificate.read_text()
    prompt.write_text(text + "Soon.\n")
    assert "tiny: it was changed since" in refusal("tasks.id=tiny")
    prompt.write_text(text)
    certificate.write_text(kept.replace('"certified": false', '"certified": true'))
    assert "was changed after it was written" in refusal("tasks.id=tiny")
    certificate.unlink()
    assert "has no certificate" in refusal("tasks.id=tiny")
    certificate.write_text(kept)
    assert evolve.cli.main(["plan", *words, "tasks.id=tiny"]) == ExitCode.VERDICT


# ---- the rules


RIGHT = Tried(status="measured", kind=None, resolved=True, seconds=1.0)
FAILED = replace(RIGHT, kind="oracle-failed", resolved=False)
GOOD = (
    Attempt(solution="reference", worth="reference", tries=(RIGHT, RIGHT)),
    Attempt(solution="untouched", worth="untouched", tries=(FAILED, FAILED)),
    Attempt(solution="nearly", worth="wrong", tries=(FAILED,)),
    Attempt(solution="turned-1", worth="mutated", tries=(FAILED,)),
    Attempt(solution="exits-early", worth="tampering", tries=(replace(FAILED, kind="tampered"),)),
)


def test_nothing_is_wrong_with_a_good_task() -> None:
    assert (problems(GOOD), notes(GOOD)) == ((), ())


@pytest.mark.parametrize("number", range(len(GOOD)))
def test_each_solution_that_ends_otherwise_is_a_problem(number: int) -> None:
    attempt = GOOD[number]
    turned = FAILED if attempt.worth == "reference" else RIGHT
    changed = replace(attempt, tries=(turned, *attempt.tries[1:]))
    assert problems([*GOOD[:number], changed, *GOOD[number + 1 :]])


def test_a_solution_that_ends_now_so_and_now_so_is_flaky() -> None:
    changed = replace(GOOD[1], tries=(FAILED, replace(FAILED, kind="verify-failed")))
    assert problems([GOOD[0], changed, *GOOD[2:]])[0].startswith("flaky: the solution untouched")


PATCH = b"""diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1,2 +1,2 @@
-x = 1
+if y == 1:
 z
@@ -9,1 +9,2 @@
 w
+# a == b
+v
diff --git a/tests/test_a.py b/tests/test_a.py
--- a/tests/test_a.py
+++ b/tests/test_a.py
@@ -1,1 +1,1 @@
-a == b
+b == a
"""


def test_only_code_is_made_wrong() -> None:
    assert b"".join(each.head + b"".join(h.content for h in each.hunks) for each in sections(PATCH)) == PATCH
    assert [name for name, _ in without_each_part(PATCH)] == ["without-part-1", "without-part-2"]
    assert [made for _, made in with_each_sign_turned(PATCH)] == [PATCH.replace(b"+if y == 1", b"+if y != 1")]
