"""What `evolve doctor` does: looks, says, and answers with its exit code."""

import argparse
import os
from pathlib import Path

from bench import __version__
from bench.cli_run import print_json
from bench.commandline import current_folder
from bench.config import find_root
from bench.exits import ExitCode
from evolve.doctor.looking import look
from evolve.doctor.model import Diagnosis, lines


def doctor_command(options: argparse.Namespace) -> ExitCode:
    """CHECK if something that the project needs does not work. Outside a project the built-in defaults count."""
    root = find_root(current_folder(), None if options.root is None else Path(options.root))
    diagnosis = Diagnosis(
        version=__version__,
        root=None if root is None else str(root),
        findings=tuple(look(root, os.environ)),
    )
    if options.json:
        print_json(diagnosis)
    else:
        print("\n".join(lines(diagnosis)))
    return ExitCode.VERDICT if diagnosis.healthy else ExitCode.CHECK
