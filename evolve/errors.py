"""Everything that `evolve` raises on purpose; the rest of the tree is drawn in bench/errors.py.

UserError
├── ProposalError      no candidate can be proposed as configured
├── CampaignError      a campaign's file or its error budget cannot be relied on
├── PromotionError     a promotion cannot be read, recomputed or continued
├── LockError          the lock of a generation, or what it needs, cannot be relied on: exit 6
└── ApplyError         a promotion is not applied or reverted

MeasurementError
└── ProposalFailed     a proposing session was paid for nothing
    └── ProposalStopped  it was stopped by a signal or the deadline
"""

from bench.errors import MeasurementError, NotReproducible, UserError
from bench.exits import ExitCode


class ProposalError(UserError):
    """No candidate can be proposed as configured."""


class ProposalFailed(MeasurementError):  # noqa: N818 - what became of the session, named as such
    """A proposing session broke, or left nothing that can be measured; `code` is what the run exits with."""

    code = ExitCode.UNUSABLE


class ProposalStopped(ProposalFailed):
    """A proposing session was stopped, or not begun any more."""

    def __init__(self, message: str, code: ExitCode) -> None:
        super().__init__(message)
        self.code = code


class CampaignError(UserError):
    """A campaign's file or its error budget cannot be relied on."""


class PromotionError(UserError):
    """A promotion cannot be read, recomputed or continued."""


class ApplyError(UserError):
    """A promotion is not applied or reverted; the message says what stands in the way, and what was left where."""


class LockError(NotReproducible):
    """The lock of a generation cannot be relied on, or what it needs is not there: it cannot be reproduced."""
