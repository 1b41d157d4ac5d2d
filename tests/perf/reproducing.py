"""What `evolve reproduce --verdict` of 10,000 rows costs beyond reading and hashing the rows and their artifacts."""

import hashlib
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from measuring import Line, cpu_now
from msgspec import structs
from projects import scratch

from bench.config import Config, read_saved_config
from bench.digest import canonical_json, digest_bytes, digest_json
from bench.project import RunFolder
from bench.results import Artifact, ObjectStore, Row, read_rows
from bench.sweep import Plan, read_plan
from evolve.gate import digest_rows, read_promotion, write_promotion
from evolve.lock import LOCK, Observed, Place, add_observed, read_lock, read_now, write_lock
from evolve.promoted import read_generation, rebuild

TOP = Path(__file__).parents[2]
ROWS = 10_000
ROUNDS = 3
MOST_SECONDS = 2.0
_EVOLVE = "import sys; from evolve.cli import main; sys.exit(main())"


def of_ten_thousand_rows() -> Iterator[Line]:
    """A real generation, its rows many times, each with a review and a transcript of its own."""
    with scratch() as folder:
        _evolve(folder, "--quiet", "tasks.split=holdout", "promotion.split=all")
        root = folder / "runs" / "starter"
        run = RunFolder(next((root / "runs").glob("2*")))
        _multiply(root, run)
        reading = statistics.median(_taken(lambda: _read(run)) for _ in range(ROUNDS))
        whole = statistics.median(_taken(lambda: _evolve(folder, "reproduce", run.id)) for _ in range(ROUNDS))
    yield Line(
        what=f"reproduce --verdict of {ROWS:,} rows, beyond reading them",
        measured=f"{whole:.2f} s",
        baseline=f"{reading:.2f} s to read and hash rows and artifacts",
        value=whole - reading,
        bar=MOST_SECONDS,
        unit="s",
    )


def _multiply(root: Path, run: RunFolder) -> None:
    """Make it a generation of so many repeats, sealed and decided."""
    folder = run.path / "gen-1"
    config = read_saved_config(run.path / "config.json")
    plan = _many_cells(read_plan(folder / "plan.json")[0])
    (folder / "plan.json").write_bytes(canonical_json(plan) + b"\n")
    rows = list(_many_rows(read_rows(folder / "results.jsonl")[0], digest_json(plan), run.objects))
    (folder / "results.jsonl").write_bytes(b"".join(canonical_json(row) + b"\n" for row in rows))
    _decide(config, run, folder)
    place = Place(root, run, folder)
    sealed = read_lock(folder / LOCK).sealed
    write_lock(folder, structs.replace(sealed, read=read_now(place, config, sealed)))
    verdict = digest_json(read_promotion(folder / "promotion.json").verdict)
    add_observed(folder, Observed(models={}, rows=digest_rows(rows), verdict=verdict, cassettes={}))


def _many_cells(plan: Plan) -> Plan:
    keys = ((repeat, cell) for repeat in range(-(-ROWS // len(plan.cells))) for cell in plan.cells)
    cells = tuple(
        structs.replace(cell, repeat=repeat, index=index, twice=False)
        for index, (repeat, cell) in enumerate(keys)
    )
    return structs.replace(plan, cells=cells[:ROWS], sources=())


def _many_rows(rows: tuple[Row, ...], plan: str, objects: Path) -> Iterator[Row]:
    store = ObjectStore(objects)
    for number in range(ROWS):
        repeat, row = number // len(rows), rows[number % len(rows)]
        kept = {
            name: _put(objects, store.get(each.digest) + b" " * (1 + number))
            for name, each in row.artifacts.items()
        }
        yield structs.replace(
            row, identity=structs.replace(row.identity, plan=plan, repeat=repeat), artifacts=kept
        )


def _put(objects: Path, content: bytes) -> Artifact:
    """An object as the store keeps it, without waiting for the disk."""
    digest = digest_bytes(content)
    path = objects / digest[:2] / digest[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return Artifact(digest, len(content))


def _decide(config: Config, run: RunFolder, folder: Path) -> None:
    path = folder / "promotion.json"
    generation = read_generation(folder, 1, read_promotion(path), config)
    write_promotion(path, rebuild(config, run.id, generation))


def _read(run: RunFolder) -> None:
    """Read and hash all of it, in a process of its own."""
    _python(f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import reproducing; "
            f"reproducing.read_and_hash({str(run.path)!r})", run.path)  # fmt: skip


def read_and_hash(run: str) -> None:
    """The baseline: every line of the rows, every artifact that they name."""
    path = Path(run)
    objects = RunFolder(path).objects
    with (path / "gen-1" / "results.jsonl").open("rb") as file:
        for line in file:
            hashlib.sha256(line)
            for kept in json.loads(line)["artifacts"].values():
                digest = kept["digest"]
                hashlib.sha256((objects / digest[:2] / digest[2:]).read_bytes())


def _evolve(folder: Path, *words: str) -> None:
    _python(_EVOLVE, folder, *words)


def _python(code: str, folder: Path, *words: str) -> None:
    environment = {"PYTHONPATH": ":".join([str(TOP), *sys.path]), "PATH": "/usr/bin:/bin"}
    subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=folder,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )


def _taken(action: Callable[[], object]) -> float:
    """CPU time of the processes that an action starts, Python's start included."""
    before = cpu_now()
    action()
    return (cpu_now() - before).children
