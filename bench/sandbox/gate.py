"""Waits at a gate, then becomes a command. Run as a program by the sandbox `host`, which limits it meanwhile.

Usage: gate.py GATE STATUS, two descriptors. GATE brings the number of arguments, the arguments and the environment,
each ended by a zero byte. STATUS gets the error number if the command cannot be started.
"""

import _signal  # type: ignore[import-not-found]  # `signal` would double the time that this takes to start
import os
import sys


def main() -> None:
    """Become the command that the gate brings."""
    gate, status = (int(argument) for argument in sys.argv[1:])
    with os.fdopen(gate, "rb") as file:
        count, *parts = os.fsdecode(file.read()).split("\0")[:-1]
    arguments, environment = parts[: int(count)], parts[int(count) :]
    os.set_inheritable(status, False)
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):  # Python ignores them, and what it becomes would
        _signal.signal(number, _signal.SIG_DFL)
    try:
        os.execvpe(  # noqa: S606
            arguments[0], arguments, dict(entry.split("=", 1) for entry in environment)
        )
    except OSError as error:
        os.write(status, str(error.errno).encode())


if __name__ == "__main__":
    main()
