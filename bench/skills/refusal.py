"""What is said about skills and overlays that are refused."""

from collections.abc import Iterable, Iterator, Sequence

from bench.text import printable

MOST_LISTED = 20


def listed(problems: Iterable[str]) -> str:
    """The distinct problems as indented lines, each after a line break; at most 20 of them."""
    found = list(dict.fromkeys(map(printable, problems)))
    more = [f"and {len(found) - MOST_LISTED} more"] if len(found) > MOST_LISTED else []
    return "".join(f"\n  {problem}" for problem in [*found[:MOST_LISTED], *more])


def size_problems(sizes: Sequence[int], most_files: int, most_bytes: int) -> Iterator[str]:
    """What is wrong with files of these sizes in bytes: too many, or too large together."""
    if len(sizes) > most_files:
        yield f"it holds {len(sizes)} files, more than the {most_files} that are allowed"
    if sum(sizes) > most_bytes:
        yield f"its files hold {sum(sizes):,} bytes, more than the {most_bytes:,} that are allowed"
