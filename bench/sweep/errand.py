"""A paid session outside of any cell: checked before anything is paid, under the budget of its run."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct, structs

from bench.agents import create_agent
from bench.arms import OUTPUT, Crew, Errand, Session, run_outside, use_of
from bench.cancellation import Cancellation
from bench.config import Config
from bench.disk import fresh_folder
from bench.errors import SandboxUnavailable
from bench.project import RunFolder
from bench.redaction import Redactor
from bench.sandbox import containment_refusal
from bench.spend import NOTHING, Amounts, SessionName, Stop
from bench.sweep.ground import Ground
from bench.sweep.modelling import check_model, is_local, open_model
from bench.sweep.paying import Means, open_spending, read_means
from bench.workspace import remove_tree


class Messenger(Struct, frozen=True, kw_only=True):
    """Who goes on the errands of a run: its `crew`, whose agent and model may be others than those that are measured,
    and what its sessions may cost.
    """

    ground: Ground
    crew: Crew
    means: Means
    redactor: Redactor

    @property
    def agent_name(self) -> str:
        """The agent as evidence names it: name/version."""
        return f"{self.crew.agent.name}/{self.crew.agent.version}"

    @property
    def free(self) -> bool:
        """Whether a session costs nobody anything: no model is called, or answers come from a file."""
        return not self.crew.agent.calls_model or is_local(self.crew.config.model)

    @property
    def least(self) -> Amounts:
        """What one session uses at the very least: money only where it counts as a declared amount."""
        terms = self.means.terms
        declared = terms.unpriced if terms.calls_model and terms.price is None else None
        return Amounts(sessions=1, picodollars=declared or 0)

    def redacted(self, content: bytes) -> bytes:
        """What may be kept or shown of `content`: no key of the run or of the errands is in it."""
        return self.redactor.bytes(self.ground.redactor.bytes(content))


class Assignment(Struct, frozen=True, kw_only=True):
    """Which session of which run an errand is, and the folder that its exchanges are recorded in."""

    run: RunFolder
    session: SessionName
    record: Path


def open_messenger(ground: Ground, config: Config, config_dirs: Sequence[Path]) -> Messenger:
    """The messenger of a run; `config` is its configuration with the agent, model and effort of the errands in it.
    UserError for anything that would fail once a session is paid.
    """
    agent = create_agent(config.agent, ground.root)
    means = structs.replace(read_means(config, agent, ground.root, config_dirs), ends=ground.means.ends)
    key = check_model(config, agent, ground.root, means.prices)
    contains = ground.sandbox.contains
    refusal = containment_refusal(config.sandbox, contains=contains, calls_model=agent.calls_model)
    if refusal is not None:
        raise SandboxUnavailable(refusal)
    return Messenger(
        ground=ground,
        crew=Crew(config=config, agent=agent, sandbox=ground.sandbox),
        means=means,
        redactor=Redactor((key,)),
    )


def run_errand(
    messenger: Messenger,
    errand: Errand,
    assignment: Assignment,
    cancellation: Cancellation,
    keep: Callable[[Session, bytes, Path], None],
) -> Session | Stop:
    """Run one session that the budget allows, or say why it does not. `keep` gets the session, the log of its
    requests and the folder that it left files in, before it is settled: what is settled is never paid again.
    """
    ground, crew = messenger.ground, messenger.crew
    prices = messenger.means.prices
    folder = fresh_folder(ground.scratch, "e")
    try:
        with open_model(crew.config, crew.agent, ground.root, prices, assignment.record) as access:
            purse = open_spending(crew.config, ground.root, messenger.means, assignment.run, cancellation)
            allowance = purse.begin(assignment.session, NOTHING)
            if isinstance(allowance, Stop):
                return allowance
            began, ran = time.monotonic(), None
            try:
                ran, requests = run_outside(crew, errand, folder, access, allowance, cancellation)
                keep(ran, requests, folder / OUTPUT)
            finally:
                purse.end(allowance, use_of(ran, time.monotonic() - began))
            return ran
    finally:
        remove_tree(folder)
