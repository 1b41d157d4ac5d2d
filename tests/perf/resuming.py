"""What it takes to go on with a run that has nothing left to measure, beside reading its rows: first one that was killed
before it was decided, then the same once it came to its end. Both as a person types it, Python's start included.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from measuring import Line, cpu_now

from bench.digest import canonical_json, digest_json

TOP = Path(__file__).parents[2]
sys.path.append(str(TOP))

from tests.chaos.chaos_project import ChaosProject  # noqa: E402 - a program's own folder comes first

CELLS = 10_000
ROUNDS = 3
MOST_TIMES_READING = 3.0
_EVOLVE = "import sys; from evolve.cli import main; sys.exit(main())"
_READ = "import sys, pathlib; from bench.results import read_rows; read_rows(pathlib.Path(sys.argv[1]))"


def of_a_finished_run() -> Iterator[Line]:
    """Ten thousand cells."""
    with tempfile.TemporaryDirectory(prefix="perf-") as folder:
        project = ChaosProject(Path(folder), "host", kinds=("work",))
        _seconds(_EVOLVE, *project.words, "--root", str(project.root))
        _multiply(project.run)
        rows, resume = (
            project.run / "gen-1" / "results.jsonl",
            ("resume", project.run.name, "--root", str(project.root)),
        )
        reading = statistics.median(_seconds(_READ, str(rows)) for _ in range(ROUNDS))
        yield _line("not decided yet", _seconds(_EVOLVE, *resume), reading, None)
        ended = statistics.median(_seconds(_EVOLVE, *resume) for _ in range(ROUNDS))
        yield _line("ended", ended, reading, MOST_TIMES_READING)


def _multiply(run: Path) -> None:
    """Make it a run with so many repeats that was killed when all was measured."""
    folder = run / "gen-1"
    plan = json.loads((folder / "plan.json").read_bytes())
    repeats = CELLS // len(plan["cells"])
    cells = [cell | {"repeat": repeat} for repeat in range(repeats) for cell in plan["cells"]]
    plan["cells"] = [cell | {"index": index, "twice": False} for index, cell in enumerate(cells)]
    plan["sources"] = []
    (folder / "plan.json").write_bytes(canonical_json(plan) + b"\n")
    named = {"plan": digest_json(plan)}
    rows = _lines(folder / "results.jsonl")
    _write(
        folder / "results.jsonl",
        (row | {"identity": row["identity"] | named | {"repeat": n}} for n in range(repeats) for row in rows),
    )
    head, *entries = _lines(folder / "journal.jsonl")
    sessions = [entry for entry in entries if entry["type"] == "session"]
    _write(
        folder / "journal.jsonl",
        [head | named, *(entry | {"repeat": n} for n in range(repeats) for entry in sessions)],
    )
    for name in ("gen-1/promotion.json", "gen-1/report.md", "lock"):
        (run / name).unlink()


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def _write(path: Path, values: Iterable[dict[str, Any]]) -> None:
    path.write_bytes(b"".join(canonical_json(value) + b"\n" for value in values))


def _seconds(code: str, *words: str) -> float:
    """CPU time of a program, its start and its children included."""
    before = cpu_now()
    subprocess.run([sys.executable, "-c", code, *words], cwd=TOP, check=True, stdout=subprocess.DEVNULL)
    return (cpu_now() - before).children


def _line(state: str, seconds: float, reading: float, bar: float | None) -> Line:
    return Line(
        what=f"resume of {CELLS:,} measured cells, {state}",
        measured=f"{seconds:.2f} s",
        baseline=f"{reading:.2f} s to read its rows",
        value=seconds / reading,
        bar=bar,
    )
