"""What `evolve --help` imports, and how long it takes to answer."""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator

from measuring import Line, milliseconds

HEAVY = ("hydra", "omegaconf", "jsonschema", "yaml", "rich")
ROUNDS = 11

_HELP = "import sys; from evolve.cli import main; sys.exit(main(['--help']))"
_MODULES = f"""\
import contextlib, io, json, sys
from evolve.cli import main
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    main(["--help"])
print(json.dumps([len(sys.modules), [name for name in {HEAVY!r} if name in sys.modules]]))
"""


def of_the_command() -> Iterator[Line]:
    """A bar on the imports only: seconds depend on the machine."""
    count, heavy = json.loads(_python(_MODULES))
    helped, nothing = [], []
    for _ in range(ROUNDS):
        nothing.append(_seconds("pass"))
        helped.append(_seconds(_HELP))
    help_time, empty = statistics.median(helped), statistics.median(nothing)
    yield Line(
        what="evolve --help: imports of " + ", ".join(HEAVY),
        measured=", ".join(heavy) or "none",
        baseline=f"{count} modules in all",
        value=float(len(heavy)),
        bar=0.0,
        unit="",
    )
    yield Line(
        what="  its time, cold",
        measured=milliseconds(help_time),
        baseline=f"{milliseconds(empty)} python -c pass",
        value=help_time / empty,
    )


def _seconds(code: str) -> float:
    began = time.monotonic()
    _python(code)
    return time.monotonic() - began


def _python(code: str) -> bytes:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, check=True, env=environment).stdout
