"""Captures a hidden behavioural test into memory, before any agent runs."""

from collections.abc import Sequence
from pathlib import Path

from bench.digest import digest_bytes, digest_frames
from bench.suite.declared import DeclaredFile
from bench.suite.files import Refused, check_path, read_file, shown
from bench.suite.model import CommandOracle, OracleFile

MOST_FILE_BYTES = 512 << 10
MOST_BYTES = 2 << 20
LONGEST_TARGET = 240


def capture_oracle(folder: Path, command: str, files: Sequence[DeclaredFile]) -> CommandOracle:
    """The command and the bytes of its files, which lie below the suite `folder`.

    Refused with every problem: a link, a file over 512 KiB, more than 2 MiB together, an unsafe target.
    """
    problems = target_problems([file.target for file in files], LONGEST_TARGET)
    captured: list[OracleFile] = []
    for file in files:
        try:
            content = read_file(folder, check_path(file.source), MOST_FILE_BYTES)
            captured.append(OracleFile(file.target, content))
        except Refused as refusal:
            problems.append(f"the oracle's file `{shown(file.source)}` {refusal}")
    size = sum(len(file.content) for file in captured)
    if size > MOST_BYTES:
        problems.append(
            f"the oracle's files hold {size:,} bytes, more than the {MOST_BYTES:,} that are allowed"
        )
    if problems:
        raise Refused(*problems)
    return CommandOracle(command, tuple(captured), digest_bytes(command.encode()), _digest(command, captured))


def target_problems(targets: Sequence[str], longest: int) -> list[str]:
    """What is wrong with relative places that files are put at: unsafe, in `.git`, or one on top of another."""
    problems: list[str] = []
    for number, target in enumerate(targets):
        try:
            check_path(target, longest)
        except Refused as refusal:
            problems.append(f"the target `{shown(target)}` {refusal}")
        if ".git" in target.casefold().split("/"):
            problems.append(f"the target `{shown(target)}` is inside `.git`, which belongs to the harness")
        problems += [
            f"the targets `{shown(other)}` and `{shown(target)}` are on top of each other"
            for other in targets[:number]
            if f"{target}/".startswith(f"{other}/") or f"{other}/".startswith(f"{target}/")
        ]
    return problems


def _digest(command: str, files: Sequence[OracleFile]) -> str:
    ordered = sorted(files, key=lambda file: file.target.encode())
    return digest_frames(
        [command.encode(), *(part for file in ordered for part in (file.target.encode(), file.content))]
    )
