"""The one owner of concurrency: threads that measure cells, results folded in the order of the plan.

Threads and not an event loop, because the unit of work is a child process that lives for minutes: every wait
is on a process, and tracebacks stay plain (research/harnesses.md §6.1).
"""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ALL_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from bench.cancellation import Cancellation

Item = TypeVar("Item")
Result = TypeVar("Result")
LONGEST_WAIT = 0.5


def run_ordered(
    items: Sequence[Item],
    work: Callable[[Item], Result],
    fold: Callable[[Item, Result], None],
    *,
    workers: int,
    window: int,
    cancellation: Cancellation,
) -> None:
    """Work on the items with `workers` threads, and fold each result in the items' own order.

    At most `window` items are begun beyond the fold point, which bounds how far a stop that is decided while
    folding can be overrun. After a cancellation nothing new begins; what runs is waited for and folded.
    The first exception of `work` or `fold` cancels the rest and is raised once every other result was folded;
    what goes wrong after it becomes its notes. No result is folded twice.
    """

    def begin(item: Item) -> list[Result]:
        return [] if cancellation.cancelled else [work(item)]

    waiting = deque(items)
    running: deque[tuple[Item, Future[list[Result]]]] = deque()
    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="cell") as threads:
        try:
            while waiting or running:
                while waiting and len(running) < window and not cancellation.cancelled:
                    item = waiting.popleft()
                    running.append((item, threads.submit(begin, item)))
                if not running:
                    return
                item, future = running[0]
                while not future.done():
                    # bounded: a signal that comes just before a wait would only be seen after it
                    wait([future], timeout=LONGEST_WAIT)
                results = future.result()
                running.popleft()
                for result in results:
                    fold(item, result)
        except BaseException as error:
            cancellation.cancel("a fault of the harness")
            _fold_what_is_left(running, fold, error)
            raise


def _fold_what_is_left(
    running: "deque[tuple[Item, Future[list[Result]]]]",
    fold: Callable[[Item, Result], None],
    first: BaseException,
) -> None:
    """Keep what the siblings of a failed item measured: it is paid for."""
    wait([future for _, future in running], return_when=ALL_COMPLETED)
    for item, future in running:
        if future.exception() is first:
            continue
        try:
            for result in future.result():
                fold(item, result)
        except Exception as error:  # noqa: BLE001 - noted, and the first one is raised
            first.add_note(f"and of {item}: {type(error).__name__}: {error}")
