"""Ten thousand points of a multirun: read and expanded without composing them."""

import time
from collections.abc import Callable, Iterator

from measuring import Line, milliseconds

from bench.config import load_config, load_swept
from bench.multirun import expand

POINTS = 10_000
ROUNDS = 5


def of_many_points() -> Iterator[Line]:
    """Against composing one point: composing them all would be ten thousand times that."""
    load_config(["seed=1"], root=None)
    composed = min(_seconds(lambda: load_config(["seed=1"], root=None)) for _ in range(ROUNDS))
    expanded = min(_seconds(_expanded) for _ in range(ROUNDS))
    yield Line(
        what=f"reading and expanding {POINTS} points",
        measured=milliseconds(expanded),
        baseline=f"{milliseconds(composed)} composing one",
        value=expanded / composed,
        bar=4.0,
    )


def _expanded() -> None:
    swept = load_swept(["seed=range(0,2500)", "repeats=range(1,5)"], root=None)
    assert sum(1 for _ in expand(swept)) == POINTS


def _seconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began
