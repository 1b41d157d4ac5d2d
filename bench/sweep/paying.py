"""The purse of a run, opened on its journal: what it and its campaign have spent counts, whoever asks."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from bench.agents import Agent
from bench.arms import read_sessions
from bench.cancellation import Cancellation
from bench.config import Config
from bench.errors import RunError
from bench.project import RunFolder
from bench.spend import (
    JOURNAL,
    Ends,
    Journal,
    Opened,
    PriceTable,
    Reserved,
    Rules,
    Spending,
    Terms,
    campaign_caps,
    campaign_runs,
    hold_campaign,
    limits_of,
    make_terms,
    read_journal,
    read_ledger,
    read_prices,
    refuse_spent_campaign,
    run_caps,
    siblings_spent,
    total,
)


class Means(Struct, frozen=True, kw_only=True):
    """What a run's sessions may cost, by which prices, and until when; `siblings` are the runs that share its budget:
    the other points of a multirun.
    """

    terms: Terms
    prices: PriceTable
    ends: Ends = Ends()
    siblings: tuple[str, ...] = ()


def read_means(config: Config, agent: Agent, root: Path, config_dirs: Sequence[Path]) -> Means:
    """The means that a configuration gives, without their end. ConfigError when a limit could not be kept."""
    prices = read_prices(root, config_dirs)
    price = prices.find(config.model.id)
    terms = make_terms(config.budget, calls_model=agent.calls_model, model=config.model.id, price=price)
    return Means(terms=terms, prices=prices)


def is_paid(config: Config, means: Means) -> bool:
    """Whether sessions cost or count towards a limit. Where they do not, a line that a crash of the host takes costs
    nobody anything, and nothing waits for the disk.
    """
    limits = limits_of(run_caps(config.budget), campaign_caps(config.budget), total(()))
    return bool(limits) or means.terms.calls_model


def open_spending(
    config: Config,
    root: Path,
    means: Means,
    run: RunFolder,
    cancellation: Cancellation,
    paid: tuple[int, int] = (0, 0),
) -> Spending:
    """The purse of a run. Its journal goes on where it ended; a session that it left open counts at its ceiling.

    `paid` names a generation and the number of sessions that its rows were paid with: RunError if the journal does
    not know of them.
    """
    path, budget = run.path / JOURNAL, config.budget
    others = campaign_runs(root, config, means.terms, without=run.id)
    shared = siblings_spent(root, means.siblings, means.terms)
    limits = limits_of(run_caps(budget), campaign_caps(budget), total(others), shared)
    ledger = read_ledger(path, limits)
    durable = is_paid(config, means)
    if durable:
        _refuse_forgotten(path, *paid)
        _refuse_lost(run)
    if means.terms.calls_model:
        _refuse_other_prices(path, means.prices.digest)
    journal = Journal(path, means.prices.digest, durable=durable)
    rules = Rules(
        terms=means.terms,
        timeout=config.timeout,
        ends=means.ends,
        prices=f"{', '.join(means.prices.version)} ({means.prices.digest[:12]})",
    )
    return Spending(journal, ledger, rules, cancellation)


def _refuse_forgotten(path: Path, generation: int, sessions: int) -> None:
    """RunError if the run's journal of spending holds fewer sessions than its rows were paid with: it was cut, or
    removed, and what was spent would be spent again.
    """
    known = sum(
        isinstance(entry, Reserved) and entry.session.in_cell and entry.session.generation == generation
        for entry in read_journal(path)
    )
    if known < sessions:
        raise RunError(
            f"{path} holds {known} sessions of generation {generation}, its rows {sessions}: it was cut or removed\n"
            "  restore it from a copy, or start a new run: rows that still hold are reused"
        )


def _refuse_lost(run: RunFolder) -> None:
    """The same of all its generations, by their journals of sessions."""
    ended = sum(len(read_sessions(path)) for path in run.path.glob("gen-*/journal.jsonl"))
    known = sum(isinstance(entry, Reserved) for entry in read_journal(run.path / JOURNAL))
    if known < ended:
        raise RunError(
            f"{run.path / JOURNAL} holds {known} sessions, of which {ended} ended by the journals of the generations: "
            "it was cut or removed\n  restore it from a copy, or start a new run: rows that still hold are reused"
        )


def _refuse_other_prices(path: Path, digest: str) -> None:
    """RunError if what the run has spent was counted by other prices."""
    before = next((entry.prices for entry in read_journal(path) if isinstance(entry, Opened)), digest)
    if before != digest:
        raise RunError(
            f"{path} was counted by the prices {before[:12]}, now there are {digest[:12]}: conf/prices/ was changed\n"
            "  put it back as it was, or start a new run: rows that still hold are reused"
        )


@contextmanager
def paying_campaign(config: Config, root: Path, means: Means) -> Iterator[None]:
    """For as long as a run pays: no other run of a limited campaign does. BudgetSpent if nothing is left of it."""
    with hold_campaign(root, config):
        refuse_spent_campaign(config, campaign_runs(root, config, means.terms))
        yield
