"""Everything that `evolve` raises on purpose; the rest of the tree is drawn in bench/errors.py.

UserError
├── ProposalError      no candidate can be proposed as configured
├── CampaignError      a campaign's file or its error budget cannot be relied on
├── PromotionError     a promotion cannot be read, recomputed or continued
├── LockError          the lock of a generation, or what it needs, cannot be relied on: exit 6
└── ApplyError         a promotion is not applied or reverted
"""

from bench.errors import NotReproducible, UserError


class ProposalError(UserError):
    """No candidate can be proposed as configured."""


class CampaignError(UserError):
    """A campaign's file or its error budget cannot be relied on."""


class PromotionError(UserError):
    """A promotion cannot be read, recomputed or continued."""


class ApplyError(UserError):
    """A promotion is not applied or reverted; the message says what stands in the way, and what was left where."""


class LockError(NotReproducible):
    """The lock of a generation cannot be relied on, or what it needs is not there: it cannot be reproduced."""
