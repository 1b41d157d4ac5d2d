"""Reads a pip requirements file in which every package is pinned: one version, and the hashes of its wheels."""

import re
from collections.abc import Iterator
from pathlib import Path

from bench.suite.files import Refused, as_text, read_file, shown

MOST_BYTES = 1 << 20

_COMMENT = re.compile(r"(?:^|\s)#.*$")
# No blank before a `-` in a marker: pip would take what follows for an option.
_PIN = re.compile(
    r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
    r"(?:\[[A-Za-z0-9._,-]+\])?"
    r"\s*==\s*[A-Za-z0-9][A-Za-z0-9.!+_]*"
    r"(?:\s*;\s*[\w .'\"()<>=!~]+?)?"
    r"(?:\s+--hash=sha256:[0-9a-f]{64})+"
)
_FORM = "write NAME==VERSION --hash=sha256:… (as `pip-compile --generate-hashes` does)"


def read_requirements(folder: Path, path: str, name: str, task: str) -> bytes:
    """The bytes of the requirements file `path` of the suite `folder`; messages call the file `name`.

    Refused with every line that does not pin a package to one version with SHA-256 hashes.
    """
    try:
        content = read_file(folder, path, MOST_BYTES)
        text = as_text(content)
    except Refused as refusal:
        raise Refused(f"{name}: task `{task}`: {refusal}") from refusal
    lines = [(number, line) for number, line in _logical_lines(text) if line]
    problems = [
        f"{name}:{number}: task `{task}`: {problem}" for number, line in lines if (problem := _problem(line))
    ]
    if not lines:
        problems = [f"{name}:1: task `{task}`: names no package; leave `requirements` out for none"]
    if problems:
        raise Refused(*problems)
    return content


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines as pip reads them, without comments, continued ones joined, each with its first line's number."""
    parts: list[str] = []
    first = 1
    for number, line in enumerate([*text.splitlines(), ""], 1):
        first = first if parts else number
        plain = _COMMENT.sub("", line)
        parts.append(plain.removesuffix("\\"))
        if not plain.endswith("\\"):
            yield first, " ".join(parts).strip()
            parts = []


def _problem(line: str) -> str | None:
    """What is wrong with one requirement, or None."""
    if _PIN.fullmatch(line):
        return None
    word = shown(line.split(maxsplit=1)[0])
    if line.startswith("-"):
        return f"`{word}` is an option of pip; only pinned packages may stand here"
    if "--hash=" not in line:
        return f"`{word}` has no hash; {_FORM}"
    return f"`{word}` is not pinned to one version by == and SHA-256 hashes; {_FORM}"
