"""Git patches taken apart, so that a right one can be made wrong in ways that look right. Pure."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from bench.scoring import is_test

MOST_OF_A_KIND = 4
_HUNK = re.compile(rb"^@@ .*$", re.MULTILINE)
_FILE = re.compile(rb"^diff --git ", re.MULTILINE)
_NAME = re.compile(rb"^\+\+\+ b/([^\t\n]+)", re.MULTILINE)
_PROSE = (".md", ".rst", ".txt", ".adoc")
_COMMENT = (b"#", b"//", b"*", b"/*", b'"""', b"--")
# what a line says, and what somebody might have written instead; the first that fits is taken
_TURNS: tuple[tuple[re.Pattern[bytes], bytes], ...] = tuple(
    (re.compile(pattern), instead)
    for pattern, instead in (
        (rb" == ", b" != "),
        (rb" != ", b" == "),
        (rb" <= ", b" < "),
        (rb" >= ", b" > "),
        (rb" < ", b" >= "),
        (rb" > ", b" <= "),
        (rb"\bis not\b", b"is"),
        (rb"\bnot ", b""),
        (rb"\bTrue\b", b"False"),
        (rb"\bFalse\b", b"True"),
        (rb"\btrue\b", b"false"),
        (rb"\bfalse\b", b"true"),
        (rb" and ", b" or "),
        (rb" or ", b" and "),
        (rb" && ", b" || "),
        (rb" \|\| ", b" && "),
        (rb" \+ ", b" - "),
        (rb" - ", b" + "),
        (rb" \* ", b" + "),
        (rb"(?<![\w.\"'])0(?![\w.\"'])", b"1"),
        (rb"(?<![\w.\"'])1(?![\w.\"'])", b"2"),
        (rb"\bNone\b", b"0"),
    )
)


class Hunk(Struct, frozen=True):
    """One hunk of a patch: its bytes, header line included."""

    content: bytes


class Section(Struct, frozen=True):
    """The part of a patch for one file: what stands before its hunks, and them. `path` is None where it is gone."""

    path: str | None
    head: bytes
    hunks: tuple[Hunk, ...]

    @property
    def is_code(self) -> bool:
        """Whether it changes what a program does, not its tests or its prose."""
        return self.path is not None and not is_test(self.path) and not self.path.lower().endswith(_PROSE)


def sections(patch: bytes) -> tuple[Section, ...]:
    """A patch, file by file."""
    starts = [found.start() for found in _FILE.finditer(patch)]
    return tuple(
        _section(patch[start:end]) for start, end in zip(starts, [*starts[1:], len(patch)], strict=True)
    )


def changed_code(patch: bytes) -> tuple[str, ...]:
    """The paths of the code that a patch changes or adds."""
    return tuple(each.path for each in sections(patch) if each.path is not None and each.is_code)


def without_each_part(patch: bytes) -> Iterator[tuple[str, bytes]]:
    """The patch without one of its hunks of code, for each of the first few, by a name; nothing if it has one only."""
    found = sections(patch)
    places = [
        (number, hunk) for number, each in enumerate(found) if each.is_code for hunk in range(len(each.hunks))
    ]
    if len(places) < 2:  # noqa: PLR2004 - without its only part, nothing is left
        return
    for count, (number, hunk) in enumerate(places[:MOST_OF_A_KIND], 1):
        kept = tuple(each for position, each in enumerate(found[number].hunks) if position != hunk)
        changed = Section(found[number].path, found[number].head, kept)
        yield (
            f"without-part-{count}",
            _joined([*found[:number], *([changed] if kept else []), *found[number + 1 :]]),
        )


def with_each_sign_turned(patch: bytes) -> Iterator[tuple[str, bytes]]:
    """The patch with one added line of code saying something near it, for a few lines that lie apart."""
    found = sections(patch)
    turned = [
        _joined([*found[:number], made, *found[number + 1 :]])
        for number, each in enumerate(found)
        if each.is_code
        for made in _turned(each)
    ]
    step = max(1, -(-len(turned) // MOST_OF_A_KIND))
    for count, made in enumerate(turned[::step], 1):
        yield f"turned-{count}", made


def _section(content: bytes) -> Section:
    starts = [found.start() for found in _HUNK.finditer(content)]
    name = _NAME.search(content)
    hunks = tuple(
        Hunk(content[start:end]) for start, end in zip(starts, [*starts[1:], len(content)], strict=True)
    )
    path = name[1].decode("utf-8", "replace") if name else None
    return Section(path, content[: starts[0]] if starts else content, hunks)


def _turned(section: Section) -> Iterator[Section]:
    for number, hunk in enumerate(section.hunks):
        lines = hunk.content.split(b"\n")
        for position, line in enumerate(lines):
            other = _other(line)
            if other is not None:
                content = b"\n".join([*lines[:position], other, *lines[position + 1 :]])
                hunks = (*section.hunks[:number], Hunk(content), *section.hunks[number + 1 :])
                yield Section(section.path, section.head, hunks)


def _other(line: bytes) -> bytes | None:
    """What somebody might have written in place of an added line; None if nothing comes to mind."""
    if not line.startswith(b"+") or line[1:].lstrip().startswith(_COMMENT):
        return None
    return next(
        (b"+" + sign.sub(to, line[1:], count=1) for sign, to in _TURNS if sign.search(line[1:])), None
    )


def _joined(parts: Sequence[Section]) -> bytes:
    return b"".join(b"".join([part.head, *(hunk.content for hunk in part.hunks)]) for part in parts)
