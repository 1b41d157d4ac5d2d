"""Where the command-line programs of coding agents come from: pinned, installed below the project, found again."""

from bench.agents.installed.find import find_agent, list_agents
from bench.agents.installed.install import choose_build, install_agent
from bench.agents.installed.model import Build, Installed, NpmSource, Pin, State, WheelSource
from bench.agents.installed.pins import pin_named, read_pins
from bench.agents.installed.trying import refuse_broken

__all__ = [
    "Build",
    "Installed",
    "NpmSource",
    "Pin",
    "State",
    "WheelSource",
    "choose_build",
    "find_agent",
    "install_agent",
    "list_agents",
    "pin_named",
    "read_pins",
    "refuse_broken",
]
