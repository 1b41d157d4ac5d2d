"""What 100,000 rows cost from the file to the verdict, beside `json.loads` of the same lines. Run as a program, it
measures a given file in a process of its own, whose memory nothing else has used.
"""

import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from measuring import Line, peak_resident, resident
from msgspec import Struct, convert, to_builtins

from bench.agents import Usage
from bench.config import PromotionConfig
from bench.digest import canonical_json
from bench.results import SCHEMA_VERSION, Artifact, Identity, Outcome, Provenance, Row, Timings, read_rows
from bench.scoring import ReviewScore
from evolve.gate import collect_evidence, load_policy

ROWS = 100_000
TASKS = 100
ARMS = ("review", "candidate_review")
ROUNDS = 3

MOST_TIMES_LOADS = 5.0
MOST_TIMES_FILE = 1.0

_MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
_REVIEW = PromotionConfig(
    policy="threshold_review",
    split="all",
    options={"min_runs": 3, "min_improvement": 0.02, "verdict": "not_worse"},
)


class Taken(Struct):
    """Seconds of CPU, and bytes."""

    loads: float
    decided: float
    grown: int
    file: int


def from_rows_to_a_verdict() -> Iterator[Line]:
    """Load, aggregate and decide."""
    with tempfile.TemporaryDirectory(prefix="perf-") as folder:
        path = Path(folder) / "results.jsonl"
        with path.open("wb") as file:
            file.writelines(canonical_json(row) + b"\n" for row in rows_of_a_large_sweep())
        command = [sys.executable, __file__, str(path)]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, check=True, env={**os.environ, "PYTHONPATH": _import_path()}
        )
    taken = convert(json.loads(done.stdout), Taken)
    yield Line(
        what=f"{ROWS:,} rows: load, aggregate, decide",
        measured=f"{taken.decided:.2f} s",
        baseline=f"{taken.loads:.2f} s json.loads of the lines",
        value=taken.decided / taken.loads,
        bar=MOST_TIMES_LOADS,
    )
    yield Line(
        what="  growth of memory beside the file",
        measured=f"{taken.grown / 1e6:.0f} MB",
        baseline=f"{taken.file / 1e6:.0f} MB file",
        value=taken.grown / taken.file,
        bar=MOST_TIMES_FILE,
    )


def _import_path() -> str:
    return os.pathsep.join(sys.path)


def rows_of_a_large_sweep() -> Iterator[Row]:
    """Rows of a large sweep: all numbers differ, as do the artifacts; what a task or arm says of itself does not."""
    repeats = ROWS // (TASKS * len(ARMS))
    keys = ((task, repeat, arm) for task in range(TASKS) for repeat in range(repeats) for arm in ARMS)
    for number, (task, repeat, arm) in enumerate(keys):
        yield _row(number, f"review-{task:03}", arm, repeat)


def _row(number: int, task: str, arm: str, repeat: int) -> Row:
    usage = Usage(
        input=1000 + number % 5000, cache_read=number % 70_000, output=100 + number % 977,
        cost_usd=0.01 + number * 1e-6, turns=number % 40, source="agent",
    )  # fmt: skip
    return Row(
        schema_version=SCHEMA_VERSION,
        identity=Identity(
            task=task, task_class="review-defect", split="train", arm=arm,
            role="incumbent" if arm == ARMS[0] else "candidate", repeat=repeat, generation=1, plan=_digest("plan"),
            attempt=0, agent="command", agent_version="1", model="a-model-2026", effort="high", seed=0,
        ),
        provenance=Provenance(
            **{name: _digest(name + task + arm) for name in Provenance.__struct_fields__ if name != "overlay"},
            overlay=_digest(arm),
        ),
        outcome=Outcome(status="measured", kind="oracle-failed", detail="1 found, 0 invented, 1 missed", skill_invoked=True),
        score=_score(number),
        usage=usage,
        sessions={"review": usage},
        timings=Timings(workspace=0.01 + number * 1e-7, sessions=100 + number * 1e-2, total=101 + number * 1e-2),
        change=None,
        artifacts={name: Artifact(_digest(f"{name}{number}"), 1000 + number) for name in ("transcript-review", "review-review")},
        started_at=_MOMENT + timedelta(seconds=number),
        finished_at=_MOMENT + timedelta(seconds=number + 100),
    )  # fmt: skip


def _score(number: int) -> ReviewScore:
    f1 = round(number * 7919 % 1000 / 1000, 3)
    return ReviewScore(
        true_positives=1, false_positives=number % 2, false_negatives=1, precision=f1, recall=f1, f1=f1,
        weighted_precision=f1, weighted_recall=f1, weighted_f1=f1, blocker_recall=1.0, severity_accuracy=1.0,
        category_accuracy=1.0, verdict_right=True, clean_control=False, clean_pass=None,
    )  # fmt: skip


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _measure(path: Path) -> Taken:
    before = resident()
    seconds = [_seconds(lambda: _decide(path))]
    grown = peak_resident() - before
    loads = [_seconds(lambda: _load(path))]
    for _ in range(ROUNDS - 1):
        seconds.append(_seconds(lambda: _decide(path)))
        loads.append(_seconds(lambda: _load(path)))
    return Taken(statistics.median(loads), statistics.median(seconds), grown, path.stat().st_size)


def _decide(path: Path) -> None:
    rows, _ = read_rows(path)
    evidence = collect_evidence(
        rows,
        tasks=[(f"review-{task:03}", "review-defect", "train", False) for task in range(TASKS)],
        pairs=[ARMS],
        model="a-model-2026",
        deterministic=False,
        stopped=None,
        split="all",
    )
    load_policy(_REVIEW).decide(evidence)


def _load(path: Path) -> None:
    with path.open("rb") as file:
        for line in file:
            json.loads(line)


def _seconds(action: Callable[[], None]) -> float:
    began = time.process_time()
    action()
    return time.process_time() - began


if __name__ == "__main__":
    print(json.dumps(to_builtins(_measure(Path(sys.argv[1])))))
