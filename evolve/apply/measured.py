"""The files of a skill as they were measured, looked for in the repository's history by their digest."""

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from bench.digest import digest_files

MOST_COMMITS = 100

# Nothing that the repository configures is run: only its objects are read.
_GIT = (
    "git",
    "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never",
    "--no-optional-locks", "--literal-pathspecs",
)  # fmt: skip
_PATIENCE = 60.0  # seconds


def measured_files(root: Path, folder: str, digest: str) -> dict[str, bytes] | None:
    """The newest committed state of a folder with this digest, by path from it; None if no commit has one."""
    try:
        return next((files for files in _states(root, folder) if digest_files(files) == digest), None)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None  # no git, no repository or an unreadable one: then nothing is known, as the caller says


def drift_between(measured: Mapping[str, bytes], current: Mapping[str, bytes]) -> tuple[str, ...]:
    """How each file of `current` that is not as it was measured differs, by path."""
    words = {True: "was added", False: "was changed"}
    gone = dict.fromkeys(measured.keys() - current.keys(), "is missing")
    other = {path: words[path not in measured] for path in current if current[path] != measured.get(path)}
    return tuple(f"{path} {what}" for path, what in sorted((gone | other).items()))


def _states(root: Path, folder: str) -> Iterator[dict[str, bytes]]:
    """The folder in the commits that changed it, newest first."""
    commits = _git(root, "log", "--format=%H", f"--max-count={MOST_COMMITS}", "HEAD", "--", folder).split()
    for commit in commits:
        yield _files(root, folder, commit.decode())


def _files(root: Path, folder: str, commit: str) -> dict[str, bytes]:
    """The regular files below a folder in one commit; paths are as git gives them below `root`."""
    listed = _git(root, "ls-tree", "-r", "-z", commit, "--", f"{folder}/").split(b"\0")
    blobs = [entry.partition(b"\t") for entry in listed if entry.startswith(b"100")]
    contents = _contents(root, [about.split()[2] for about, _, _ in blobs])
    paths = [
        PurePosixPath(path.decode("utf-8", "surrogateescape")).relative_to(folder) for _, _, path in blobs
    ]
    return {str(path): content for path, content in zip(paths, contents, strict=True)}


def _contents(root: Path, blobs: Sequence[bytes]) -> list[bytes]:
    """The bytes of blobs, in their order."""
    answer = _git(root, "cat-file", "--batch", given=b"".join(blob + b"\n" for blob in blobs))
    contents: list[bytes] = []
    while answer:
        head, _, rest = answer.partition(b"\n")
        size = int(head.split()[2])
        contents.append(rest[:size])
        answer = rest[size + 1 :]
    return contents


def _git(root: Path, *arguments: str, given: bytes = b"") -> bytes:
    # A hook of another repository would point git there.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(
        (*_GIT, "-C", str(root), *arguments),
        env=inherited | {"GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
        input=given,
        capture_output=True,
        check=True,
        timeout=_PATIENCE,
    ).stdout
