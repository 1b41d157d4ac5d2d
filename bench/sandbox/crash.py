"""Exit codes that stand for a death by signal."""

import signal

# What kills a process that crashed or ran out of something; not what people and shells send to end one.
_CRASHES = frozenset(
    {
        signal.SIGABRT,
        signal.SIGBUS,
        signal.SIGFPE,
        signal.SIGILL,
        signal.SIGKILL,
        signal.SIGSEGV,
        signal.SIGSYS,
        signal.SIGTRAP,
        signal.SIGXCPU,
        signal.SIGXFSZ,
    }
)

_SHELL_OFFSET = 128


def crash_signal(status: int) -> signal.Signals | None:
    """The signal of which a process died: `status` is minus its number or, as shells and bubblewrap report the
    death of the command that they ran, 128 plus its number. None if it ended by itself.
    """
    if status < 0:
        return signal.Signals(-status)
    return next((crash for crash in _CRASHES if status == _SHELL_OFFSET + crash), None)
