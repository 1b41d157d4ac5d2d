"""What the tries of a task's solutions say of the task. Pure."""

from collections.abc import Iterator, Sequence

from bench.certificate.model import Attempt, Tried

_NEVER = {
    "untouched": "passes although nothing was done",
    "empty": "passes although what there was is gone",
    "wrong": "passes although it is wrong",
    "tampering": "passes without solving anything",
}


def problems(attempts: Sequence[Attempt]) -> tuple[str, ...]:
    """Why a task is not certified, each reason once; empty if it is."""
    return tuple(
        dict.fromkeys([*_reference(attempts), *_passing(attempts), *_flaky(attempts), *_broken(attempts)])
    )


def notes(attempts: Sequence[Attempt]) -> tuple[str, ...]:
    """What does not keep a task from being certified, but its author should know."""
    return (*_weak(attempts), *_not_called(attempts))


def is_flaky(attempt: Attempt) -> bool:
    """Whether the same solution ended in more than one way."""
    return len({(each.status, each.kind) for each in attempt.tries}) > 1


def ended(tried: Tried) -> str:
    """How a try ended, in a word or two."""
    return "resolved" if tried.resolved else tried.kind or tried.status


def is_caught(attempt: Attempt) -> bool:
    """Whether no try of a solution passed; False also for one that could not be carried out."""
    return not any(each.resolved for each in attempt.tries) and not _idle(attempt)


def _reference(attempts: Sequence[Attempt]) -> Iterator[str]:
    right = next((each for each in attempts if each.worth == "reference"), None)
    if right is None:
        yield "no solution is known to pass it: give it one as `solutions.reference`"
        return
    failing = next((each for each in right.tries if not each.resolved), None)
    if failing is not None:
        yield f"the reference does not pass: {ended(failing)}{_told(failing)}"


def _passing(attempts: Sequence[Attempt]) -> Iterator[str]:
    for each in attempts:
        if each.worth in _NEVER and any(tried.resolved for tried in each.tries):
            yield f"the solution {each.solution} {_NEVER[each.worth]}"
    mutated = [each for each in attempts if each.worth == "mutated" and not _idle(each)]
    if mutated and not any(is_caught(each) for each in mutated):
        yield f"the hidden test notices none of {len(mutated)} faults that were made in the reference"
    if not any(is_caught(each) for each in attempts if each.worth in ("wrong", "mutated")) and not mutated:
        yield "no wrong solution could be made of the reference: give it one as `solutions.wrong`"


def _flaky(attempts: Sequence[Attempt]) -> Iterator[str]:
    for each in attempts:
        if is_flaky(each):
            ways = sorted({ended(tried) for tried in each.tries})
            yield f"flaky: the solution {each.solution} ended differently in {len(each.tries)} runs: {', '.join(ways)}"


def _broken(attempts: Sequence[Attempt]) -> Iterator[str]:
    for each in attempts:
        for tried in each.tries:
            if tried.status in ("failed", "stopped") and each.worth != "reference":
                yield f"the solution {each.solution} could not be measured: {ended(tried)}{_told(tried)}"


def _weak(attempts: Sequence[Attempt]) -> Iterator[str]:
    passing = [
        each.solution for each in attempts if each.worth == "mutated" and any(t.resolved for t in each.tries)
    ]
    if passing:
        yield f"passes with a fault made in the reference, unless it is none: {', '.join(passing)}"
    kept = [each.solution for each in attempts if _idle(each)]
    if kept:
        yield f"could not be carried out, and tells nothing: {', '.join(kept)}"


def _not_called(attempts: Sequence[Attempt]) -> Iterator[str]:
    odd = [
        f"{each.solution} ({ended(each.tries[0])})"
        for each in attempts
        if each.worth == "tampering" and is_caught(each) and each.tries[0].status == "measured"
        if each.tries[0].kind not in ("tampered", "oracle-failed", "verify-failed", "agent-gave-up")
    ]
    if odd:
        yield f"tampering that failed for another reason: {', '.join(odd)}"


def _idle(attempt: Attempt) -> bool:
    """Whether a solution could not be carried out, so that its tries say nothing."""
    counts = attempt.worth in ("reference", "tampering")  # what the sandbox keeps from cheating is caught
    return not counts and all(each.kind == "agent-gave-up" for each in attempt.tries)


def _told(tried: Tried) -> str:
    return f": {tried.detail}" if tried.detail else ""
