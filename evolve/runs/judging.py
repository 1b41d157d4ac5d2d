"""What state a run is in, from what its files say. Pure."""

from collections.abc import Sequence

from msgspec import Struct

from bench.exits import ExitCode
from bench.project import Holder
from evolve.runs.model import GenerationState, State

_CUT_SHORT = frozenset({int(ExitCode.BUDGET), int(ExitCode.INTERRUPTED)})


class Judged(Struct, frozen=True):
    """A state, and why."""

    state: State
    why: str


def judge(
    holder: Holder | None, held: bool, generations: Sequence[GenerationState], *, configured: int, decides: bool
) -> Judged:
    """Running while its lock is held; finished if its command said so, or, where no command wrote that down, if
    nothing is missing. Everything else is interrupted, with what is left.
    """
    if held:
        return Judged("running", f"process {holder.pid} on {holder.host}" if holder else "an unknown process")
    code = _code(holder, generations, decides=decides)
    left = sum(each.left for each in generations)
    if code is None or code in _CUT_SHORT or (code == ExitCode.UNUSABLE and left):
        return Judged("interrupted", _what_is_left(generations, configured, code))
    return Judged("finished", "" if code == ExitCode.VERDICT else f"exit code {code}")


def _code(holder: Holder | None, generations: Sequence[GenerationState], *, decides: bool) -> int | None:
    """What the command exited with; None if it never came to that."""
    if holder is not None:
        return holder.code
    if not generations:
        return None
    if decides:
        return generations[-1].code
    return int(ExitCode.VERDICT) if not generations[-1].left and generations[-1].cells else None


def _what_is_left(generations: Sequence[GenerationState], configured: int, code: int | None) -> str:
    how = "" if code is None else f" (exit code {code})"
    if not generations:
        return f"nothing was measured{how}"
    last = generations[-1]
    where = f" of generation {last.generation}" if last.generation else ""
    if last.cells is None:
        return f"no plan{where}{how}"
    if last.left:
        return f"{last.left} of {last.cells} cells left{where}{how}"
    if not last.generation or last.decision is None:
        return f"all {last.cells} cells measured{where}, no result yet{how}"
    return f"{last.generation} of {configured} generations decided{how}"
