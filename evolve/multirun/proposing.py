"""One skill file ships for all points of a multirun: what the first point proposes on some skills, the others measure too."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bench.config import Config
from bench.project import RUNS, RunFolder
from evolve.begun import read_begun
from evolve.history import skills_digest
from evolve.propose import Proposal, Proposer, Setting


class SharedProposer:
    """Gives the proposals that other points were given on the same skills, in their order, and asks for a new one only
    once there are no more of them. `own` are those that an earlier process gave this point.
    """

    def __init__(
        self, proposer: Proposer, made: Mapping[str, Sequence[Proposal]], own: Mapping[str, int]
    ) -> None:
        self._proposer = proposer
        self._made = made
        self._given = Counter(own)

    def propose(self, setting: Setting) -> Proposal | None:
        """The next candidate on these skills."""
        made = self._made.get(setting.base, ())
        number = self._given[setting.base]
        self._given[setting.base] += 1
        return made[number] if number < len(made) else self._proposer.propose(setting)


def share(proposer: Proposer, root: Path, runs: Iterable[str], config: Config, own: str | None) -> Proposer:
    """The proposer for a point beside others: `runs` are theirs, `own` is the one that goes on."""
    made: dict[str, Sequence[Proposal]] = {}
    for run in runs:
        for base, proposals in _proposed(RunFolder(root / RUNS / run), config).items():
            if len(proposals) > len(made.get(base, ())):
                made[base] = proposals
    mine = {} if own is None else _proposed(RunFolder(root / RUNS / own), config)
    return SharedProposer(proposer, made, {base: len(given) for base, given in mine.items()})


def _proposed(run: RunFolder, config: Config) -> dict[str, list[Proposal]]:
    """What a run proposed, by the digest of the skills that it changes, in the order of its generations."""
    found: dict[str, list[Proposal]] = {}
    number = 1
    while (run.path / f"gen-{number}" / "plan.json").exists():
        begun = read_begun(run, number, config)
        if begun is None or begun.plan.proposed is None:
            break
        base = skills_digest(dict(begun.plan.proposed.base_skills))
        found.setdefault(base, []).append(begun.proposal)
        number += 1
    return found
