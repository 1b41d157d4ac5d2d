"""`evolve verdict`: the same bytes again, on any hash seed and Python; what flips it; what two verdicts say differently."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import msgspec
import pytest
from stored_runs import ID, OTHER, store, sweep
from testing_builders import outcomes, policy, search, with_rows

from bench.digest import canonical_json
from bench.generated_schema import generated_schema
from evolve.certify import World, draw
from evolve.cli import main
from evolve.gate import Evidence, read_promotion
from evolve.replay import Comparison, Replay, compare, influences

ROOT = Path(__file__).parents[3]
WIN, LOSS, SAME = (False, True), (True, False), (True, True)
SCRIPT = """
import sys
from pathlib import Path
from bench.digest import canonical_json
from evolve.gate import read_promotion, recompute
for path in sys.argv[1:]:
    sys.stdout.buffer.write(canonical_json(recompute(read_promotion(Path(path)))))
"""


def test_the_command_reaches_the_stored_verdict_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = store(tmp_path, policy(), sweep(0.2))
    assert main(["verdict", ID, "--root", str(tmp_path), "--json", "--explain"]) == 0
    printed = json.loads(capsys.readouterr().out)
    jsonschema.validate(printed, generated_schema(Replay, "verdict"))
    assert canonical_json(printed["verdict"]) == canonical_json(read_promotion(path).verdict)
    assert len(printed["influences"]) == 8
    assert main(["verdict", ID, "--root", str(tmp_path), "--explain"]) == 0
    assert "reached again, equal byte for byte" in capsys.readouterr().out


def test_another_policy_is_asked_of_the_same_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store(tmp_path, policy(), sweep(0.2))
    words = ["verdict", ID, "--root", str(tmp_path), "--json"]
    assert main([*words, "--policy", "promotion=exact", "--policy", "promotion.options.alpha=0.9"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["again"], printed["verdict"]["parameters"]["alpha"]) == (False, 0.9)


def test_a_verdict_that_was_edited_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = store(tmp_path, policy(), sweep())
    text = path.read_text("utf-8")
    path.write_text(text.replace('"decision":"keep_incumbent"', '"decision":"promote"'), encoding="utf-8")
    assert main(["verdict", ID, "--root", str(tmp_path)]) == 2
    assert "does not follow from its own evidence" in capsys.readouterr().err


def test_a_generation_without_a_verdict_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store(tmp_path, policy(), sweep())
    assert main(["verdict", ID, "--generation", "7", "--root", str(tmp_path)]) == 2
    assert "generations with one: 1" in capsys.readouterr().err
    assert main(["verdict", "--root", str(tmp_path)]) == 2


def test_the_task_whose_removal_flips_a_decision_is_named() -> None:
    """Five pairs differ, all for the candidate: without the task that has three of them, nothing is shown."""
    made = outcomes([[WIN, WIN, WIN], [WIN, SAME, SAME], [WIN, SAME, SAME], [SAME, SAME, SAME]])
    found = {each.task: each for each in influences(search(), made)}
    assert {name for name, each in found.items() if each.flips} == {"t0", "t1", "t2"}
    assert found["t3"].cells == 1
    assert found["t0"].without == found["t0"].then == "keep_incumbent"


def test_a_cell_that_was_never_resolved_can_score_worse_all_the_same() -> None:
    """A review is unresolved as soon as it misses one label, and still has a score to lose."""

    def partly(arm: str, score: float) -> Any:
        def change(_: str, row: Any) -> Any:
            scored = msgspec.structs.replace(row.score, weighted_f1=score)
            return msgspec.structs.replace(row, resolved=False, cost_usd=None, score=scored)

        return lambda evidence: with_rows(evidence, arm, change)

    made = partly("candidate", 0.9)(partly("incumbent", 0.4)(outcomes([[SAME, SAME, SAME]] * 6)))
    made = msgspec.structs.replace(made, calls_model=False)
    exact = policy(tier="search", search_alpha=0.02, endpoint="weighted_f1")
    assert exact.decide(made).decision == "promote"
    assert {each.then for each in influences(exact, made)} == {"keep_incumbent"}


def test_what_it_would_take_to_promote_is_counted() -> None:
    made = outcomes([[WIN, WIN, WIN], [WIN, SAME, (False, False)], [SAME, SAME, SAME]])
    found = {each.task: each for each in influences(search(), made)}
    assert (found["t1"].cells, found["t1"].then) == (1, "promote")
    assert (found["t2"].cells, found["t2"].then) == (None, None)


def test_two_verdicts_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = store(tmp_path, policy(), sweep(0.0))
    second = store(tmp_path, policy(alpha=0.2), sweep(0.4, seed=2), OTHER)
    words = ["verdict", "--root", str(tmp_path), "--diff", ID, OTHER]
    assert main([*words, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    jsonschema.validate(printed, generated_schema(Comparison, "verdict-comparison"))
    assert {"decision", "parameter alpha"} <= {each["what"] for each in printed["differences"]}
    assert not printed["evidence"]
    assert compare(read_promotion(first), read_promotion(first)).differences == ()
    assert compare(read_promotion(first), read_promotion(second)).first.startswith(ID)
    assert main(words) == 0


def test_a_verdict_has_the_same_bytes_on_every_hash_seed(tmp_path: Path) -> None:
    path = store(tmp_path, policy(), draw(World(tasks=20, repeats=5, effect=0.1, lost=0.2), Random(4)))
    found = {_bytes(sys.executable, path, seed) for seed in ("0", "1", "7", "random")}
    assert found == {canonical_json(read_promotion(path).verdict)}


def test_a_verdict_has_the_same_bytes_on_every_python_at_hand(tmp_path: Path) -> None:
    """Those interpreters that have what the package needs; `nox -s tests-3.12` and so on run all tests there."""
    path = store(
        tmp_path, policy(endpoint="cost_usd"), draw(World(tasks=12, repeats=3, saving=0.1), Random(4))
    )
    able = [each for each in _pythons() if _able(each)]
    assert {_bytes(each, path, "0") for each in [sys.executable, *able]} == {
        canonical_json(read_promotion(path).verdict)
    }


def test_the_order_of_tasks_and_rows_does_not_change_a_byte() -> None:
    made = draw(World(tasks=10, repeats=4, effect=0.1), Random(4))
    shuffled = msgspec.to_builtins(made)
    Random(1).shuffle(tasks := list(shuffled["pairs"][0]["tasks"]))
    for each in tasks:
        for arm in ("incumbent", "candidate"):
            each[arm]["rows"] = each[arm]["rows"][::-1]
    shuffled["pairs"][0]["tasks"] = tasks
    again = msgspec.convert(shuffled, Evidence)
    assert canonical_json(policy().decide(made)) == canonical_json(policy().decide(again))


@pytest.mark.slow
@pytest.mark.parametrize("endpoint", ["resolved", "weighted_f1", "cost_usd"])
def test_ten_thousand_rows_are_judged_quickly_and_the_same(endpoint: str) -> None:
    made = draw(World(tasks=500, repeats=10, effect=0.02), Random(1))
    start = time.perf_counter()
    first = canonical_json(policy(endpoint=endpoint).decide(made))
    seconds = time.perf_counter() - start
    print(f"10,000 rows, {endpoint}: {seconds:.2f} s")
    assert first == canonical_json(policy(endpoint=endpoint).decide(made))
    assert seconds < 20  # orientation: 2 s on a quiet machine


def _bytes(python: str, path: Path, seed: str) -> bytes:
    environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [python, "-c", SCRIPT, str(path)], env=environment, capture_output=True, check=True
    ).stdout


def _pythons() -> list[str]:
    versions = Path.home() / ".pyenv" / "versions"
    found = sorted(str(each / "bin" / "python") for each in versions.glob("3.*")) if versions.is_dir() else []
    return found + [
        each for name in ("python3.12", "python3.13", "python3.14") if (each := shutil.which(name))
    ]


def _able(python: str) -> bool:
    words = [python, "-c", "import msgspec, jsonschema, yaml, hydra"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0
