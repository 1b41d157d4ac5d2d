"""From the end of a host process to the result of a command."""

from bench.measured import End, ProcessResult
from bench.sandbox.crash import crash_signal
from bench.sandbox.process import Finished


def result_of(finished: Finished, status: int | None = None) -> ProcessResult:
    """The result of a command: `status` is its exit code, or minus the signal that ended it, where something else
    ran it and knows; else the process's own counts.
    """
    status = finished.status if status is None else status
    end, code, detail = finished.end, None, finished.detail
    if status is not None:
        end, code, detail = _ending(status)
    return ProcessResult(
        end=end,
        code=code,
        detail=detail,
        stdout=finished.stdout,
        stderr=finished.stderr,
        seconds=finished.seconds,
        peak_memory=finished.peak_memory,
    )


def _ending(status: int) -> tuple[End, int | None, str]:
    """How a command ended by itself, its exit code, and the same for people."""
    killer = crash_signal(status)
    if killer is not None:
        return End.KILLED, None, f"killed by {killer.name}"
    return End.EXITED, status, "" if status == 0 else f"exited with {status}"
