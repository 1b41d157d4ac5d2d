"""Values that are made once, whoever asks for them and however many do at once."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Once(Generic[Result]):
    """Values made once per key. Who asks while one is made waits for it; a failure is remembered as well."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, Future[Result]] = {}

    def get(self, key: str, make: Callable[[], Result]) -> Result:
        """The value of `key`: what `make` returned to the first who asked, or raised."""
        with self._lock:
            first = key not in self._known
            future = self._known.setdefault(key, Future())
        if first:
            try:
                future.set_result(make())
            except BaseException as error:
                future.set_exception(error)
                raise
        return future.result()
