"""Writes whole files, each in one step."""

import os
import tempfile
from pathlib import Path

from .contract import Session, SessionProblem, Transcript


def write_artifact(session: Session, transcript: Transcript, content: bytes) -> None:
    """Write what the session was asked for."""
    if session.artifact is None:
        raise SessionProblem("The session names no artifact.")
    session.artifact.parent.mkdir(parents=True, exist_ok=True)
    write_file(session.artifact, content, 0o644, transcript)


def write_file(path: Path, content: bytes, mode: int, transcript: Transcript) -> None:
    """Put a file in place under a temporary name and rename it: nobody ever sees a part of it."""
    handle, name = tempfile.mkstemp(prefix=".rulebook-", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    transcript.step()
