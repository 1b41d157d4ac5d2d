"""The exit codes of both commands, in one place."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command's exit status says; the first cause wins."""

    VERDICT = 0  # a verdict was reached, or the command did what was asked
    UNUSABLE = 1  # the evidence is unusable, or an outage stopped the sweep
    REQUEST = 2  # the request was wrong: configuration, suite, overlay
    BUDGET = 3  # a budget or deadline stopped the run
    CHECK = 4  # the check that was asked for says no
    INTERRUPTED = 130
