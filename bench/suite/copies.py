"""Tells a copy of a suite, or of a hidden file, by what it holds: where it lies and its name say nothing. Pure."""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from bench.suite.model import CommandOracle, Suite, Task

MANIFEST = b"suite.yaml"
CERTIFICATE = "certificate.json"  # beside it: what `bench validate` found out
# what is shorter tells nothing and may well be somebody else's: an empty file, `__init__.py`
TELLING = 64

_NAME = re.compile(rb"^name:[ \t]*[\"']?([^\s\"'#]+)", re.MULTILINE)
_TASK = re.compile(
    rb"^[ \t]*(?:-[ \t]+)?(?:\{[ \t]*)?[\"']?id[\"']?:[ \t]*[\"']?([^\s\"',}#]+)", re.MULTILINE
)


class Hidden(Struct, frozen=True):
    """What no working copy may hold, wherever it lies: the suite with this name and these tasks, and `contents`."""

    suite: bytes = b""
    tasks: frozenset[bytes] = frozenset()
    manifest: bytes = b""
    contents: frozenset[bytes] = frozenset()

    @property
    def files(self) -> frozenset[bytes]:
        """The bytes that are hidden under any name."""
        return frozenset(each for each in (*self.contents, self.manifest) if each)

    def is_copy(self, manifest: bytes) -> bool:
        """Whether a suite file is of this suite: itself, an older one, or one that was given another name."""
        if manifest == self.manifest:
            return True
        name, ids = _NAME.search(manifest), set(_TASK.findall(manifest))
        shared = len(ids & self.tasks)
        same_name = name is not None and name[1] == self.suite
        return shared > 0 and (same_name or 2 * shared >= len(ids))


def hidden_of(suite: Suite, others: Iterable[bytes] = ()) -> Hidden:
    """What of a suite is hidden; `others` are files that are as private as it is, an untried overlay's."""
    return Hidden(
        suite=suite.name.encode(),
        tasks=frozenset(task.id.encode() for task in suite.tasks),
        manifest=suite.manifest,
        contents=suite.labels | {content for content in others if len(content) >= TELLING},
    )


def to_leave_out(files: Iterable[tuple[bytes, bytes]], hidden: Hidden) -> Iterator[bytes]:
    """Of files (path, content): the folders that hold a copy of the suite, and the hidden files outside of them.
    The root of a source is never left out: where it is the copy, its hidden files are.
    """
    for path, content in files:
        folder, _, name = path.rpartition(b"/")
        if name == MANIFEST and hidden.is_copy(content):
            yield folder or path
        elif content in hidden.files:
            yield path


def open_oracle(task: Task, files: Iterable[tuple[bytes, bytes]]) -> tuple[bytes, ...]:
    """Where all of a task's hidden test lies open among files (path, content); empty if some of it is hidden.

    Single files of it may be there: a hidden test brings its own copy of what the repository shares with it, so
    that nobody can change it, and only a part that nobody has seen is what it looks for.
    """
    if not isinstance(task.oracle, CommandOracle):
        return ()
    telling = {file.content for file in task.oracle.files if len(file.content) >= TELLING}
    seen = {content: path for path, content in files if content in telling}
    return tuple(sorted(seen.values())) if telling and telling == set(seen) else ()
