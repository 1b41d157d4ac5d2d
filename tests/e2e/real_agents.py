"""The programs of real agents that the tests drive. The nox session `e2e` installs them; a missing one is an error."""

import sys
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from bench.agents.installed import Installed, find_agent, read_pins
from bench.errors import RunError
from bench.results import Row, read_rows

AGENTS = Path(sys.prefix) / "agents"  # a project; `evolve agents install … --root` makes it whole
PROPERTY = "driven-agent"


class Driven(Struct, frozen=True):
    """What a test did with one agent: sessions that were started, requests that the gateway saw."""

    name: str
    version: str
    sessions: int
    requests: int


def real_agent(name: str) -> Installed:
    """The installed program. AgentError names the command that installs it: never a reason to skip."""
    return find_agent(AGENTS, name)


def driven_below(folder: Path) -> list[Driven]:
    """What the runs below a folder did with agents that can be installed: one entry for each cell measured there."""
    rows: list[Row] = []
    for path in sorted(folder.rglob("results.jsonl")):
        with suppress(RunError):  # some tests damage their rows
            rows += read_rows(path)[0]
    known = read_pins()
    return [_driven_by(row) for row in rows if row.identity.agent in known and row.reuse is None]


def _driven_by(row: Row) -> Driven:
    return Driven(row.identity.agent, row.identity.agent_version, len(row.sessions), row.usage.requests or 0)


def driven_lines(driven: list[Driven]) -> list[str]:
    """One line per agent that can be installed, those that no test drove included."""
    lines = [f"{'agent':12} {'version':10} {'sessions':>8} {'requests':>8}"]
    for name, pin in read_pins().items():
        mine = [each for each in driven if each.name == name]
        versions = ", ".join(sorted({each.version for each in mine})) or f"({pin.pinned})"
        sessions, requests = sum(each.sessions for each in mine), sum(each.requests for each in mine)
        lines.append(f"{name:12} {versions:10} {sessions:8} {requests:8}")
    return lines
