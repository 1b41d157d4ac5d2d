"""What sessions may cost and did cost: prices, limits, the journal of both, and what to expect."""

from bench.spend.account import Account
from bench.spend.campaign import (
    RunSpend,
    campaign_runs,
    has_caps,
    hold_campaign,
    read_ledger,
    refuse_spent_campaign,
    total,
)
from bench.spend.earlier import earlier_rows
from bench.spend.expectation import Expectation, cost, expect, seconds
from bench.spend.journal import JOURNAL, Journal, read_journal
from bench.spend.ledger import ArmSpend, Caps, Ledger, Limit, Refused, limits_of, replay
from bench.spend.model import (
    NOTHING,
    Amounts,
    Entry,
    Opened,
    Reserved,
    SessionName,
    Settled,
    Stop,
    dollars,
    picodollar_cap,
    picodollars,
    shown,
)
from bench.spend.price_files import read_prices
from bench.spend.prices import Price, PriceTable, cost_of, rates_of, tokens_of
from bench.spend.purse import Allowance, OpenPurse, Purse, Rules, Spending
from bench.spend.schema import spend_schema
from bench.spend.terms import (
    Ceiling,
    SessionUse,
    Terms,
    campaign_caps,
    make_terms,
    run_caps,
    session_ceiling,
    settlement,
)
from bench.spend.time_left import LEAST_FREE, LEAST_PAID, Ends, ends_of, session_seconds
from bench.spend.worked import WORKED, Worked, at_work, read_worked

__all__ = [
    "JOURNAL",
    "LEAST_FREE",
    "LEAST_PAID",
    "NOTHING",
    "WORKED",
    "Account",
    "Allowance",
    "Amounts",
    "ArmSpend",
    "Caps",
    "Ceiling",
    "Ends",
    "Entry",
    "Expectation",
    "Journal",
    "Ledger",
    "Limit",
    "OpenPurse",
    "Opened",
    "Price",
    "PriceTable",
    "Purse",
    "Refused",
    "Reserved",
    "Rules",
    "RunSpend",
    "SessionName",
    "SessionUse",
    "Settled",
    "Spending",
    "Stop",
    "Terms",
    "Worked",
    "at_work",
    "campaign_caps",
    "campaign_runs",
    "cost",
    "cost_of",
    "dollars",
    "earlier_rows",
    "ends_of",
    "expect",
    "has_caps",
    "hold_campaign",
    "limits_of",
    "make_terms",
    "picodollar_cap",
    "picodollars",
    "rates_of",
    "read_journal",
    "read_ledger",
    "read_prices",
    "read_worked",
    "refuse_spent_campaign",
    "replay",
    "run_caps",
    "seconds",
    "session_ceiling",
    "session_seconds",
    "settlement",
    "shown",
    "spend_schema",
    "tokens_of",
    "total",
]
