"""Runs that are killed with SIGKILL at drawn points, and taken up again: `nox -s chaos`.

Prints how many kills came in each phase, and every fault; exits with 1 if there is one, or too few kills.
`python -m tests.chaos.chaos --each 1 --seed 7` is a short one.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct, structs

from tests.chaos.applying import apply_faults
from tests.chaos.case import Case, Point, Undisturbed, faults, stop_faults

FUNCTION = ("before", "running", "after")
LINE = ("before", "torn", "after")
FILE = ("before", "unnamed", "after")
MOMENTS = {
    "template": FUNCTION,
    "setup": FUNCTION,
    "session": (*FUNCTION, "speaking"),
    "capture": FUNCTION,
    "verify": FUNCTION,
    "oracle": FUNCTION,
    "append": LINE,
    "store": FILE,
    "journal": LINE,
    "spend": LINE,
    "plan": FILE,
    "verdict": FILE,
    "report": FILE,
    "apply": (
        "before",
        "opened",
        "staged",
        "validated",
        "exchange",
        "exchanged",
        "verified",
        "recorded",
        "remove",
    ),
}
# before a run has begun, nothing can be lost: most of these are killed when it goes on
STOPPED = ("template", "setup", "session", "capture", "verify", "oracle", "append", "journal", "spend")
EARLY = ("template", "setup")
SOMETHING_PAID = ("session after", "journal after", "append after", "verify running", "oracle before")
SANDBOXES = (
    "bubblewrap",
    "bubblewrap",
    "bubblewrap",
    "bubblewrap",
    "host",
)  # the agent counts its own starts on the host
AGAIN = 0.25
LEAST = 5


class Drawn(Struct, frozen=True):
    """One case: its number, where it runs, and where it is killed."""

    number: int
    sandbox: str
    points: tuple[Point, ...]

    def __str__(self) -> str:
        return f"case {self.number} ({self.sandbox}, {', '.join(map(str, self.points))})"


def draw(each: int, seed: int, reached: dict[str, int]) -> Iterator[Drawn]:
    """So many cases of every phase. The moments of a phase take turns; which time it is, is drawn."""
    chance = random.Random(seed)
    for phase, moments in MOMENTS.items():
        for turn in range(each):
            number = turn * len(MOMENTS) + list(MOMENTS).index(phase)
            point = _drawn(chance, phase, moments[turn % len(moments)], reached)
            if phase == "apply":
                yield Drawn(number, "bubblewrap", (point,))
                continue
            points = (point,)
            if phase in EARLY and turn % 4:
                points = (_drawn(chance, *chance.choice(SOMETHING_PAID).split(), reached), point)
            elif chance.random() < AGAIN:
                points = (point, _drawn(chance, *chance.choice(SOMETHING_PAID).split(), reached))
            yield Drawn(number, SANDBOXES[number % len(SANDBOXES)], points)
    yield from _stops(each, chance, reached)


def _stops(each: int, chance: random.Random, reached: dict[str, int]) -> Iterator[Drawn]:
    """For every third kill a signal that can be heard, at a moment of the sweep."""
    # no signal tears a line
    swept = {phase: [each for each in MOMENTS[phase] if each != "torn"] for phase in STOPPED}
    for turn in range(len(swept) * each // 3):
        phase, moments = list(swept.items())[turn % len(swept)]
        point = _drawn(chance, phase, moments[turn // len(swept) % len(moments)], reached)
        heard = structs.replace(point, signal=("SIGTERM", "SIGINT")[turn // len(swept) % 2])
        yield Drawn(len(MOMENTS) * each + turn, "bubblewrap", (heard,))


def _drawn(chance: random.Random, phase: str, moment: str, reached: dict[str, int]) -> Point:
    return Point(phase, moment, chance.randint(1, max(1, reached.get(f"{phase} {moment}", 1) * 2 // 3)))


class Ended(Struct, frozen=True):
    """What became of a case."""

    drawn: Drawn
    kills: tuple[Point, ...]
    faults: tuple[str, ...]


def run_case(drawn: Drawn, folder: Path, expected: dict[str, Undisturbed]) -> Ended:
    """Run one case in a folder that is removed again if nothing is wrong."""
    first = drawn.points[0]
    applied = first.phase == "apply"
    case = Case(folder / str(drawn.number), drawn.sandbox, ("work",) if applied else ("review", "work"))
    if applied:
        found = apply_faults(case, first)
    elif first.signal != "SIGKILL":
        found = stop_faults(case, first, expected[drawn.sandbox])
    else:
        found = faults(case, drawn.points, expected[drawn.sandbox])
    try:
        listed = tuple(found)
    except Exception as error:  # noqa: BLE001 - the other cases go on
        listed = (f"{type(error).__name__}: {error}",)
    if not listed:
        shutil.rmtree(case.project.folder)
    return Ended(drawn, tuple(case.kills), listed)


def run_cases(each: int, seed: int, jobs: int, folder: Path, phases: Sequence[str]) -> list[Ended]:
    """All cases, a few at a time, each told of as it ends."""
    expected = {name: Case(folder / name, name).undisturbed() for name in dict.fromkeys(SANDBOXES)}
    drawn = [one for one in draw(each, seed, expected["host"].reached) if _wanted(one, phases)]
    ended = []
    with ThreadPoolExecutor(jobs) as threads:
        for one in threads.map(lambda one: run_case(one, folder, expected), drawn):
            print(f"{one.drawn}: {'; '.join(one.faults) or 'ok'}", flush=True)
            ended.append(one)
    return ended


def _wanted(drawn: Drawn, phases: Sequence[str]) -> bool:
    return not phases or any(point.phase in phases for point in drawn.points)


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill, go on, compare, tell."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("phases", nargs="*", metavar="PHASE", help=f"of {', '.join(MOMENTS)} (default: all)")
    parser.add_argument("--each", type=int, default=18, help="cases of each phase (default: 18)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="cases at once (default: 2)")
    parser.add_argument("--keep", type=Path, help="a folder in which cases with faults stay")
    options = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="chaos-", dir=options.keep))
    began = time.monotonic()
    ended = run_cases(options.each, options.seed, options.jobs, folder, options.phases)
    wrong = [one for one in ended if one.faults]
    if not wrong:
        shutil.rmtree(folder)
    fatal = [one for one in ended if one.drawn.points[0].signal == "SIGKILL"]
    kills = Counter(point.phase for one in fatal for point in one.kills)
    _tell(ended, kills, wrong, time.monotonic() - began)
    contained = sum(len(one.kills) for one in fatal if one.drawn.sandbox == "bubblewrap")
    print(
        f"{contained} kills were in bubblewrap; {len(ended) - len(fatal)} more cases were stopped by a signal"
    )
    few = [phase for phase in options.phases or MOMENTS if kills[phase] < min(LEAST, options.each)]
    return 1 if wrong or few else 0


def _tell(ended: list[Ended], kills: Counter[str], wrong: list[Ended], seconds: float) -> None:
    moments = Counter(
        (point.phase, point.moment) for one in ended for point in one.kills if point.signal == "SIGKILL"
    )
    print(f"\n{kills.total()} kills in {len(ended)} cases, {seconds:.0f} s")
    for phase, count in sorted(kills.items(), key=lambda each: list(MOMENTS).index(each[0])):
        shown = ", ".join(f"{moment} {moments[phase, moment]}" for moment in MOMENTS[phase])
        print(f"{phase:>10}  {count:4d}  {'#' * count}  ({shown})")
    print(f"{len(wrong)} cases with faults")
    for one in wrong:
        print(f"  {one.drawn}: {one.faults}")


if __name__ == "__main__":
    sys.exit(main())
