"""What proposing itself costs, known before anything is paid."""

from msgspec import Struct

from bench.spend import NOTHING, Amounts
from evolve.desk.asking import Errands


class ProposingCost(Struct, frozen=True, kw_only=True):
    """Of the proposing sessions of a run, one a generation: a sentence for people, whether they cost nobody anything,
    the most dollars that they may cost together (None without a limit), and what one of them needs at the least.
    """

    sentence: str | None
    free: bool
    at_most: float | None
    least: Amounts


FREE = ProposingCost(sentence=None, free=True, at_most=0.0, least=NOTHING)


def proposing_cost(errands: Errands | None, generations: int) -> ProposingCost:
    """The cost of a proposer; nothing for one that pays no session."""
    if errands is None:
        return FREE
    messenger = errands.messenger
    config, free = messenger.crew.config, messenger.free
    cell = config.budget.cell.usd
    model = config.model.id if messenger.crew.agent.calls_model else None
    priced = "which costs nothing" if free else _bounded(cell)
    return ProposingCost(
        sentence=f"one session of {messenger.agent_name}, model {model or 'none'}, per generation, {priced}",
        free=free,
        at_most=0.0 if free else None if cell is None else cell * generations,
        least=messenger.least,
    )


def _bounded(usd: float | None) -> str:
    return "at an unknown cost" if usd is None else f"at most ${usd:.2f} each (budget.cell.usd)"


def sum_at_most(cells: float | None, proposing: ProposingCost, run: float | None) -> float | None:
    """The most dollars that cells and proposing may cost together; `run` is the limit of the whole run."""
    both = None if cells is None or proposing.at_most is None else cells + proposing.at_most
    return min((each for each in (both, run) if each is not None), default=None)
