"""A search on `wild` and the one release test that it ends in: a real stack of learnings passes, useless ones do not.

The real commands on real packages, by the embedded agent. Exits with 1 if a decision is another one.
`python tests/campaign/release.py [GENERATIONS]`; needs the package index once, for `bench prepare wild`.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from campaign import BENCH, EVOLVE, SKILL, said

GENERATIONS = 8
PROSE = "\nRead every change twice, and the last file as slowly as the first.\n"
# the search must have kept these out; together they are no better than the skill in use
USELESS = ("read-with-care", "forbid-catch-alls")


def main(arguments: Sequence[str]) -> int:
    """Search, test three stacks for release in one campaign, print the table, judge."""
    generations = int(arguments[0]) if arguments else GENERATIONS
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        root = Path(folder) / "runs" / "starter"
        said([BENCH, "prepare", "wild"], Path(folder))
        found = json.loads(said([EVOLVE, "--json", "suite=wild", f"generations={generations}"], Path(folder)))
        for each in found["generations"]:
            print(f"generation {each['generation']}: {each['idea']:<22}{each['decision']}")
        stacks = {
            "useless: prose": (_prose(root, Path(folder)), "keep_incumbent"),
            "useless: what the search kept out": (_kept_out(root, Path(folder)), "keep_incumbent"),
            "the champion": (Path(found["champion"]), "promote"),
        }
        print(f"\n{'release test':<36}{'decision':<17}{'effect':>8}{'p':>10}{'level':>9}{'sessions':>10}")
        return max(_tested(Path(folder), name, *stack) for name, stack in stacks.items())


def _tested(folder: Path, name: str, overlay: Path, expected: str) -> int:
    """Print what the release test of a stack comes to; 1 if that is not what was expected."""
    words = ["suite=wild", "experiment=release", "proposer=manual", f"proposer.options.overlay={overlay}"]
    done = json.loads(said([EVOLVE, "--json", *words], folder))
    promotion = json.loads(Path(done["generations"][0]["promotion"]).read_bytes())
    numbers = promotion["verdict"]["pairs"][0]["statistics"]
    print(
        f"{name:<36}{done['decision']:<17}{numbers['effect']:>+8.2f}{numbers['p']:>10.3g}{numbers['level']:>9.4f}"
        f"{done['generations'][0]['paid']:>10}",
        flush=True,
    )
    return int(done["decision"] != expected or not _ships_if_promoted(folder, done))


def _ships_if_promoted(folder: Path, done: Any) -> bool:
    """Whether `evolve apply` would take just what was promoted."""
    if done["decision"] != "promote":
        return True
    return "SKILL.md" in said([EVOLVE, "apply", done["run"], "--dry-run"], folder)


def _prose(root: Path, folder: Path) -> Path:
    return _overlay(folder / "prose", (root / SKILL).read_text() + PROSE)


def _kept_out(root: Path, folder: Path) -> Path:
    return _overlay(folder / "kept-out", (root / SKILL).read_text() + "\n".join(_entries(root)))


def _entries(root: Path) -> Iterator[str]:
    """The useless notes of the queue as a skill would hold them."""
    for line in (root / "learnings" / "wild.jsonl").read_text().splitlines():
        note = json.loads(line)
        if note["id"] in USELESS:
            rule = f"\n```yaml\n{note['rule'].strip()}\n```\n" if "rule" in note else ""
            yield f"\n### {note['id']}\n\n{note.get('sentence') or note['observation']}\n{rule}"


def _overlay(folder: Path, text: str) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    (folder / SKILL).parent.mkdir(parents=True)
    (folder / SKILL).write_text(text)
    return folder


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
