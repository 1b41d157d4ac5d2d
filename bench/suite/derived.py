"""Where the assets that a task derives may be shown."""

from collections.abc import Sequence

from bench.suite.files import Refused, shown
from bench.suite.model import Derived
from bench.suite.oracle import target_problems

LONGEST_TARGET = 240

_SYSTEM = (
    *("bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "proc", "root", "run"),
    *("sbin", "sys", "tmp", "usr", "var"),
)
_HARNESS = ("workspace", "output", "plan", "opt/agent", "opt/python", "opt/rulebook", "opt/venv")
_ORACLE = "/oracle"  # of a name that is drawn for every cell


def check_derived(derived: Sequence[Derived]) -> None:
    """Refused when two assets share a name or a place, or when a place belongs to the system or the harness."""
    names = [each.name for each in derived]
    problems = [
        f"the name `{name}` is there twice" for number, name in enumerate(names) if names.index(name) < number
    ]
    problems += [problem for each in derived if (problem := _misplaced(each.target))]
    problems += target_problems([each.target.removeprefix("/") for each in derived], LONGEST_TARGET)
    if problems:
        raise Refused(*problems)


def _misplaced(target: str) -> str | None:
    """What is wrong with a place in the sandbox, or None."""
    if not target.startswith("/"):
        return (
            f"the target `{shown(target)}` is relative; it must be a place in the sandbox, such as /opt/index"
        )
    places = (f"/{place}" for place in (*_SYSTEM, *_HARNESS))
    taken = next((place for place in places if _overlap(target, place)), None)
    if taken is None and target.startswith(_ORACLE):
        taken = _ORACLE
    return f"the target `{shown(target)}` is taken: {taken} is not for assets" if taken else None


def _overlap(one: str, other: str) -> bool:
    """Whether one of the two places lies in the other."""
    first, second = f"{one.rstrip('/')}/", f"{other}/"
    return first.startswith(second) or second.startswith(first)
