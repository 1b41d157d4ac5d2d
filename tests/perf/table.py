"""The speed of this project as ratios, each against a baseline measured beside it: `nox -s perf`.

Exits with 1 if a bar is missed. `python tests/perf/table.py host rows` measures only some.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from expanding import of_many_points
from gateway_latency import of_the_gateway
from many_cells import in_bubblewrap, on_the_host
from many_prior_rows import of_earlier_rows
from many_rows import from_rows_to_a_verdict
from measuring import Line
from real_agent_cost import of_a_real_agent
from repository_cost import on_a_repository
from reproducing import of_ten_thousand_rows
from resuming import of_a_finished_run
from schedule import on_published_durations
from starting import of_the_command
from timeouts import of_a_stubborn_command

from bench.errors import SandboxUnavailable

MEASUREMENTS: dict[str, Callable[[], Iterator[Line]]] = {
    "schedule": on_published_durations,
    "start": of_the_command,
    "points": of_many_points,
    "timeouts": of_a_stubborn_command,
    "host": on_the_host,
    "bubblewrap": in_bubblewrap,
    "repository": on_a_repository,
    "rows": from_rows_to_a_verdict,
    "gateway": of_the_gateway,
    "agent": of_a_real_agent,
    "reuse": of_earlier_rows,
    "resume": of_a_finished_run,
    "reproduce": of_ten_thousand_rows,
}

_COLUMNS = (50, 12, 46, 9, 9, 4)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(MEASUREMENTS)} (default: all)"
    )
    names = parser.parse_intermixed_args(arguments).names or list(MEASUREMENTS)
    unknown = [name for name in names if name not in MEASUREMENTS]
    if unknown:
        parser.error(f"there is no measurement {unknown[0]!r}, only {', '.join(MEASUREMENTS)}")
    began = time.monotonic()
    _say(("what", "measured", "baseline", "ratio", "bar", "ok?"))
    missed = [line for name in names for line in _measured(name) if line.kept is False]
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"\n{time.monotonic() - began:.0f} s on {os.cpu_count()} cores; load {load}")
    for line in missed:
        print(f"missed: {line.what.strip()}")
    return 1 if missed else 0


def _measured(name: str) -> Iterator[Line]:
    """The lines of one measurement, shown as they come."""
    try:
        for line in MEASUREMENTS[name]():
            _say(_cells(line))
            yield line
    except SandboxUnavailable as error:
        _say((name, "not measured", str(error).splitlines()[0], "", "", "–"))


def _cells(line: Line) -> tuple[str, ...]:
    sign = "≥" if line.at_least else "≤"
    return (
        line.what,
        line.measured,
        line.baseline,
        "" if line.value is None else f"{line.value:.2f} {line.unit}".strip(),
        "" if line.bar is None else f"{sign} {line.bar:g}",
        {True: "yes", False: "NO", None: ""}[line.kept],
    )


def _say(cells: Sequence[str]) -> None:
    print(
        "  ".join(cell.ljust(width) for cell, width in zip(cells, _COLUMNS, strict=True)).rstrip(), flush=True
    )


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        sys.exit(main())
