"""The agent `pi`: pi, headless, behind the gateway."""

from bench.agents.pi.adapter import PI, Pi
from bench.agents.pi.stream import PiStream

__all__ = ["PI", "Pi", "PiStream"]
