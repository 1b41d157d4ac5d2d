"""A sealed plan, read back from its file."""

from pathlib import Path

from bench.plan_file import PLAN_VERSION, read_plan_as
from bench.sweep.model import Plan


def read_plan(path: Path) -> tuple[Plan, str]:
    """The plan in a file and the digest that its rows carry. RunError if it is none, or of another version."""
    return read_plan_as(path, Plan, (PLAN_VERSION,), strict=True)
