"""The file of a campaign, `campaigns/NAME.jsonl`, and the marks that its runs keep of it.

One process at a time reads, checks and appends, under a lock; an entry is on the disk before its test may begin.
"""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from bench.digest import canonical_json, digest_json
from bench.line_file import LineFile, complete_lines, cut_torn_line, ends_torn
from bench.project import list_runs
from evolve.campaign_chain import (
    Chain,
    Entry,
    Subject,
    check_anchors,
    decided,
    next_decision,
    next_reservation,
    read_chain,
    refuse_decided,
    reservation_of,
    reserved,
    state_of,
)
from evolve.errors import CampaignError, PromotionError
from evolve.gate import CampaignState, Evidence, read_promotion

CAMPAIGNS = "campaigns"
MARK = "campaign.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Campaign:
    """A campaign of a project. CampaignError for a name that is no file name."""

    def __init__(self, root: Path, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise CampaignError(
                f"campaign {name!r} is no name\n  use letters, digits, dots, dashes and underscores"
            )
        self.root, self.name = root, name
        self.path = root / CAMPAIGNS / f"{name}.jsonl"

    def reserve(self, subject: Subject, folder: Path) -> CampaignState:
        """Charge a release test, leave a mark in the run's folder, and return what its verdict may know. The same
        subject is charged once. CampaignError for a file that was edited, cut short or deleted, and for a test that
        was decided: nothing is measured for it any more.
        """
        with self._locked() as chain:
            entry = reserved(chain, subject)
            if entry is None:
                entry = next_reservation(chain, subject)
                self._append(entry)
            refuse_decided(chain, entry)
            state = state_of(chain, entry)
            if state not in read_marks(folder):
                LineFile(folder / MARK).append(canonical_json(state))
        return state

    def place(self, subject: Subject) -> CampaignState:
        """What the verdict on a reserved test may know. CampaignError if it was never reserved."""
        with self._locked() as chain:
            return state_of(chain, reservation_of(chain, subject))

    def decide(self, subject: Subject, decision: str, evidence: Evidence) -> None:
        """Note how a test ended; what is noted already is not noted again. CampaignError if it ended otherwise."""
        with self._locked() as chain:
            entry = next_decision(chain, subject, decision, digest_json(evidence))
            if entry is not None:
                self._append(entry)

    def read(self) -> Chain:
        """The chain, checked against the marks of the project's runs."""
        with self._locked() as chain:
            return chain

    @contextmanager
    def _locked(self) -> Iterator[Chain]:
        try:
            self.path.parent.mkdir(exist_ok=True)
            descriptor = os.open(
                self.path.parent / f".{self.name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            raise CampaignError(
                f"cannot open {self.path}: {error.strerror}\n  fix the permissions of {self.path.parent}"
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield self._checked()
        finally:
            os.close(descriptor)

    def _checked(self) -> Chain:
        """A torn last line is cut off: its entry was never on the disk whole, so no test began with it."""
        lines: list[bytes] = []
        if self.path.exists():
            if ends_torn(self.path):
                cut_torn_line(self.path)
            lines = [line for _, line in complete_lines(self.path)]
        chain = read_chain(self.name, lines)
        check_anchors(chain, list(marks(self.root)))
        return chain

    def _append(self, entry: Entry) -> None:
        LineFile(self.path).append(canonical_json(entry))


def release_faults(root: Path, about: CampaignState, run: str, generation: int) -> Iterator[str]:
    """Why a verdict is not the one that its campaign knows: no test was charged for it, or it was decided otherwise."""
    try:
        campaign = Campaign(root, about.name)
        if not campaign.path.exists():  # nothing is made here, not even a lock
            yield f"campaigns/{about.name}.jsonl does not exist, and holds no release test {about.release_test}"
            return
        chain = campaign.read()
    except CampaignError as error:
        yield str(error)
        return
    known = [entry for entry in chain.entries if digest_json(entry) == about.head]
    if not known or (known[0].subject.run, known[0].subject.generation) != (run, generation):
        yield f"campaigns/{about.name}.jsonl does not hold its release test"
        return
    last = decided(chain, known[0].subject)
    if last is None or last.decision != "promote":
        yield f"campaigns/{about.name}.jsonl does not say that release test {about.release_test} promoted"


def marks(root: Path) -> Iterator[CampaignState]:
    """What the project's runs remember of campaigns: the marks of reservations, and what verdicts were given."""
    for run in list_runs(root):
        for folder in sorted(run.path.glob("gen-*")):
            yield from read_marks(folder)
        for path in sorted(run.path.glob("gen-*/promotion.json")):
            state = _stated(path)
            if state is not None:
                yield state


def read_marks(folder: Path) -> tuple[CampaignState, ...]:
    """The reservations that the folder of a generation remembers; one at most, unless somebody changed it."""
    path = folder / MARK
    return tuple(_mark(path, line) for _, line in complete_lines(path)) if path.exists() else ()


def _mark(path: Path, line: bytes) -> CampaignState:
    try:
        return msgspec.json.decode(line, type=CampaignState)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CampaignError(
            f"{path} is no mark of a campaign: {error}\n  restore it, or delete the run"
        ) from error


def _stated(path: Path) -> CampaignState | None:
    """A promotion that cannot be read marks nothing; who reads it for its own sake is told."""
    try:
        state = read_promotion(path).evidence.campaign
    except PromotionError:
        return None
    return state if isinstance(state, CampaignState) else None
