"""Finds text of hidden oracles in files, in memory that does not grow with the files."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from bench.suite import Entry, LabelOracle, Task

SHORTEST = 24  # bytes; a shorter line says too little to be a trace
LONGEST = 256  # bytes; of a longer line, its beginning is looked for
_WORD = 8
_PIECE = 1 << 20


def find_trace(folder: Path, entries: Iterable[Entry], template: Path, tasks: Iterable[Task]) -> str | None:
    """The first of the files `entries` below `folder` that holds, byte for byte, a long line of an oracle file or
    a long label id of one of the tasks, which the tree `template` does not hold itself. None if there is none.
    """
    finder = TextFinder(hidden_texts(tasks))
    found = {
        entry.path: texts
        for entry in entries
        if entry.kind == "file" and (texts := finder.find_in(folder / entry.path))
    }
    if not found:
        return None
    suspicious = TextFinder(frozenset[bytes]().union(*found.values()))
    known = {text for path in _files(template) for text in suspicious.find_in(path)}
    return next((path for path, texts in found.items() if texts - known), None)


def hidden_texts(tasks: Iterable[Task]) -> frozenset[bytes]:
    """What must not be shown of the tasks' oracles, as far as it is long enough to be recognised."""
    lines = (line.strip() for task in tasks for line in _hidden_lines(task))
    return frozenset(line[:LONGEST] for line in lines if len(line) >= SHORTEST)


class TextFinder:
    """Finds which of some texts, of 24 to 256 bytes each, occur in a stream.

    Whatever its position, an occurrence covers two aligned words of 8 bytes: only where these agree with those of
    a text (at one of 8 offsets) is anything compared.
    """

    def __init__(self, texts: Iterable[bytes]) -> None:
        self._places: dict[tuple[int, int], list[tuple[bytes, int]]] = {}
        for text in texts:
            for offset in range(_WORD):
                first, second = _words(text[offset : offset + 2 * _WORD])
                self._places.setdefault((first, second), []).append((text, offset))
        self._first = frozenset(first for first, _ in self._places)

    def find_in(self, path: Path) -> frozenset[bytes]:
        """Those of the texts that the file holds."""
        with path.open("rb") as stream:
            return self.find(stream)

    def find(self, stream: BinaryIO) -> frozenset[bytes]:
        """Those of the texts that the stream holds."""
        found: set[bytes] = set()
        kept = b""
        while self._places and (piece := stream.read(_PIECE)):
            data = kept + piece
            found.update(self._in(data))
            kept = data[-LONGEST:]
        return frozenset(found)

    def _in(self, data: bytes) -> Iterator[bytes]:
        words = _words(data)
        near = self._first.intersection(words)
        if not near:
            return
        for index, word in enumerate(words[:-1]):
            if word in near:
                for text, offset in self._places.get((word, words[index + 1]), ()):
                    start = index * _WORD - offset
                    if start >= 0 and data.startswith(text, start):
                        yield text


def _words(data: bytes) -> list[int]:
    """The whole words of 8 bytes that `data` begins with."""
    return memoryview(data)[: len(data) // _WORD * _WORD].cast("Q").tolist()


def _hidden_lines(task: Task) -> Iterator[bytes]:
    if isinstance(task.oracle, LabelOracle):
        yield from (label.id.encode() for label in task.oracle.labels)
    else:
        yield from (line for file in task.oracle.files for line in file.content.splitlines())


def _files(tree: Path) -> Iterator[Path]:
    """The regular files of a template's work tree; what git keeps of them is compressed, and a copy."""
    for folder, folders, names in os.walk(tree):
        if Path(folder) == tree and ".git" in folders:
            folders.remove(".git")
        paths = (Path(folder) / name for name in names)
        yield from (path for path in paths if path.is_file() and not path.is_symlink())
