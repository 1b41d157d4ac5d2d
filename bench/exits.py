"""The exit codes of both commands, in one place."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command's exit status says; the first cause wins."""

    VERDICT = 0  # a verdict was reached, or the command did what was asked
    UNUSABLE = 1  # the evidence is unusable, or an outage stopped the sweep
    REQUEST = 2  # the request was wrong: configuration, suite, overlay
    BUDGET = 3  # a budget or deadline stopped the run
    CHECK = 4  # the check that was asked for says no
    DRIFTED = 5  # something is no longer what a lock says, or came out otherwise
    CANNOT = 6  # a generation cannot be reproduced: its lock, its evidence or its cassettes are not there, or not whole
    INTERRUPTED = 130
