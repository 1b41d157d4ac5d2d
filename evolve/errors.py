"""Everything that `evolve` raises on purpose; the rest of the tree is drawn in bench/errors.py.

UserError
├── ProposalError      no candidate can be proposed as configured
├── CampaignError      a campaign's file or its error budget cannot be relied on
├── PromotionError     a promotion cannot be read, recomputed or continued
└── ApplyError         a promotion is not applied or reverted
"""

from bench.errors import UserError


class ProposalError(UserError):
    """No candidate can be proposed as configured."""


class CampaignError(UserError):
    """A campaign's file or its error budget cannot be relied on."""


class PromotionError(UserError):
    """A promotion cannot be read, recomputed or continued."""


class ApplyError(UserError):
    """A promotion is not applied or reverted; the message says what stands in the way, and what was left where."""
