"""Ten generations of rejected ideas on `wild`: the sessions that are paid with and without reuse, as a table.

The real commands on real packages, by the embedded agent. Exits with 1 if less is saved than the bars say.
`python tests/campaign/campaign.py [GENERATIONS]`; needs the package index once, for `bench prepare wild`.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

BENCH, EVOLVE = (str(Path(sys.executable).parent / name) for name in ("bench", "evolve"))
SKILL = Path(".claude") / "skills" / "code-review" / "SKILL.md"
FAMILY = "family"
GENERATIONS = 10
# by how the runs reuse: the overrides, and the least percent of the sessions without reuse that is to be saved
WAYS: Mapping[str, tuple[Sequence[str], float]] = {
    "none": (("reuse=none",), 0),
    "no canaries": (("reuse.canaries=0",), 60),
    "20 % canaries": (("reuse.canaries=0.2",), 45),
}


def main(arguments: Sequence[str]) -> int:
    """Run the campaigns, print the table, judge."""
    generations = int(arguments[0]) if arguments else GENERATIONS
    with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
        prepared = Path(folder) / "prepared"
        _prepare(prepared)
        paid = {way: list(_campaign(prepared, Path(folder) / way, way, generations)) for way in WAYS}
    return _table(paid, generations)


def _prepare(folder: Path) -> None:
    folder.mkdir()
    said([BENCH, "prepare", "wild"], folder)
    root = folder / "runs" / "starter"
    family = root / FAMILY / "code-review" / "SKILL.md"
    family.parent.mkdir(parents=True)
    family.write_text((root / SKILL).read_text() + "\nAnother family.\n")


def _campaign(prepared: Path, folder: Path, way: str, generations: int) -> Iterator[tuple[int, int]]:
    """The sessions and the cells that each generation paid; every one is of a useless idea of its own."""
    shutil.copytree(prepared, folder)
    for number in range(1, generations + 1):
        done = _generation(folder, number, WAYS[way][0])
        sessions = _sessions(Path(done["folder"]))
        print(
            f"{way}: generation {number}: {done['decision']}, {sessions} sessions",
            file=sys.stderr,
            flush=True,
        )
        if done["decision"] != "keep_incumbent":
            raise SystemExit(f"generation {number} was to be rejected, but: {done}")
        yield sessions, done["generations"][0]["paid"]


def _generation(folder: Path, number: int, reuse: Sequence[str]) -> Any:
    root = folder / "runs" / "starter"
    idea = folder / f"idea-{number}" / SKILL
    idea.parent.mkdir(parents=True)
    idea.write_text((root / SKILL).read_text() + f"\nRead every change {number + 1} times.\n")
    overrides = [
        "suite=wild",
        "arms=review_plugin",
        f"arms.plugin_review.family={FAMILY}",
        "proposer=manual",
        f"proposer.options.overlay={folder / f'idea-{number}'}",
        "reuse.from=previous",
        *reuse,
    ]
    if "reuse=none" in reuse:
        overrides.remove("reuse.from=previous")
    return json.loads(said([EVOLVE, "--json", *overrides], folder))


def _sessions(run: Path) -> int:
    """The sessions that were settled, by the run's own journal of spending."""
    entries = [json.loads(line) for line in (run / "spend.jsonl").read_bytes().splitlines()]
    return sum(entry["entry"] == "settled" for entry in entries)


def _table(paid: Mapping[str, Sequence[tuple[int, int]]], generations: int) -> int:
    """Print it; 1 if a bar is missed."""
    totals = {way: sum(sessions for sessions, _ in each) for way, each in paid.items()}
    print(
        f"{generations} rejected generations on wild; arms: no_skill, plugin_review, review, candidate_review\n"
    )
    print(f"{'reuse':<15}{'sessions':>9}{'cells':>7}{'saved':>9}{'bar':>8}   by generation")
    missed = 0
    for way, each in paid.items():
        saved, bar = 100 * (1 - totals[way] / totals["none"]), WAYS[way][1]
        missed |= saved < bar
        cells = sum(count for _, count in each)
        by_generation = " ".join(str(sessions) for sessions, _ in each)
        print(f"{way:<15}{totals[way]:>9}{cells:>7}{saved:>7.1f} %{bar:>6.0f} %   {by_generation}")
    return missed


def said(command: Sequence[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(
            f"{' '.join(command)} ended with {done.returncode}:\n{re.sub(r'^', '  ', done.stderr)}"
        )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
