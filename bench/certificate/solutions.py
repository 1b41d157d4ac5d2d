"""Which solutions are tried on a task that is judged by a hidden test. Pure."""

from collections.abc import Iterator, Sequence

from bench.certificate.model import Solution, Worth
from bench.certificate.patches import changed_code, with_each_sign_turned, without_each_part
from bench.certificate.tricks import tricks
from bench.suite import Task

_PATCH = "solution.patch"


def work_solutions(task: Task, paths: Sequence[str]) -> Iterator[Solution]:
    """The reference first, if one is known; `paths` are the files of the starting state."""
    right = task.solutions.reference
    if right is not None:
        yield _patched("reference", "reference", right)
    yield Solution(name="untouched", worth="untouched")
    targets = changed_code(right) if right is not None else ()
    emptied = [path for path in targets if path in paths]
    yield Solution(name="empty", worth="empty", steps=tuple(_empty(emptied)))
    for name, patch in task.solutions.wrong:
        yield _patched(name, "wrong", patch)
    if right is not None:
        for name, patch in (*without_each_part(right), *with_each_sign_turned(right)):
            yield _patched(name, "mutated", patch)
    yield from tricks(paths, targets)


def _empty(paths: Sequence[str]) -> Iterator[dict[str, str]]:
    """Steps that leave nothing of the files that a solution changes; or a note, where nobody knows which these are."""
    for path in paths:
        yield {"write": path, "text": ""}
    if not paths:
        yield {"write": "notes.txt", "text": "Nothing was done.\n"}


def _patched(name: str, worth: Worth, patch: bytes) -> Solution:
    return Solution(name=name, worth=worth, steps=({"apply": _PATCH},), files={_PATCH: patch})
