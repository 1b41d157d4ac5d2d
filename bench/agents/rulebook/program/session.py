"""Carries out one session and always says how it ended."""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .changes import plan, work
from .contract import SessionProblem, Transcript, parse_session
from .review import review
from .rules import read_rules
from .search import Engine


def main() -> None:
    """Carry out the session on stdin. No result is written only where this program itself is at fault."""
    transcript = Transcript(sys.stdout.buffer)
    try:
        message = _carry_out(sys.argv[1:], sys.stdin.buffer.read(), transcript)
    except SessionProblem as problem:
        transcript.end("error", str(problem))
    except OSError as error:
        transcript.end("error", f"The operating system refused a step: {error}.")
    else:
        transcript.end("completed", message)


def _carry_out(arguments: Sequence[str], raw_session: bytes, transcript: Transcript) -> str:
    if len(arguments) != 1:
        raise SessionProblem("This program takes one argument: the path of ast-grep.")
    session = parse_session(raw_session)
    if not session.workspace.is_dir():
        raise SessionProblem(f"The workspace {session.workspace} is not a folder.")
    rules = read_rules(session, transcript)
    with tempfile.TemporaryDirectory(prefix="rulebook-") as scratch:
        engine = Engine(arguments[0], session.workspace, Path(scratch), transcript)
        act = {"review": review, "plan": plan, "work": work}[session.kind]
        return act(session, engine, rules)
