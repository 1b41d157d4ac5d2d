"""The chain of a campaign: every release test, each entry naming the digest of the one before. Pure.

A release test is charged when it is reserved, before anything of it is measured. A crash, a refused sweep or a
deleted run therefore leaves the budget spent; nothing ever gives it back.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from bench.digest import canonical_json, digest_json
from evolve.errors import CampaignError
from evolve.gate import CampaignState

CHAIN_VERSION = 1
GENESIS = "0" * 64
UNDECIDED = "insufficient_evidence"


class Subject(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a release test is about: the same subject is the same test, however often it is asked for."""

    run: str
    generation: int
    overlay: str
    suite: str
    policy: str


class Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of `campaigns/NAME.jsonl`. `decision` and `evidence` (a digest) belong to `decided` entries."""

    schema_version: int
    index: int
    previous: str
    campaign: str
    kind: Literal["reserved", "decided"]
    release_test: int
    subject: Subject
    decision: str | None = None
    evidence: str | None = None


class Chain(Struct, frozen=True, kw_only=True):
    """A chain that holds."""

    name: str
    entries: tuple[Entry, ...]

    @property
    def head(self) -> str:
        """The digest of the last entry."""
        return digest_json(self.entries[-1]) if self.entries else GENESIS

    @property
    def tests(self) -> int:
        """How many release tests were charged."""
        return sum(entry.kind == "reserved" for entry in self.entries)


def read_chain(name: str, lines: Iterable[bytes]) -> Chain:
    """The chain that these lines are; CampaignError names the first line that does not follow from those before."""
    chain = Chain(name=name, entries=())
    for number, line in enumerate(lines, start=1):
        try:
            entry = msgspec.json.decode(line, type=Entry)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _broken(name, number, f"it is no entry of a campaign ({error})") from error
        if canonical_json(entry) != line.rstrip(b"\n"):
            raise _broken(name, number, "it is not as it was written")
        fault = _fault(chain, entry)
        if fault is not None:
            raise _broken(name, number, fault)
        chain = Chain(name=name, entries=(*chain.entries, entry))
    return chain


def reserved(chain: Chain, subject: Subject) -> Entry | None:
    """The reservation of this subject, if there is one."""
    return next(
        (entry for entry in chain.entries if entry.kind == "reserved" and entry.subject == subject), None
    )


def next_reservation(chain: Chain, subject: Subject) -> Entry:
    """The entry that charges one more release test."""
    return _entry(chain, "reserved", chain.tests + 1, subject)


def reservation_of(chain: Chain, subject: Subject) -> Entry:
    """The reservation of this subject. CampaignError if there is none."""
    reservation = reserved(chain, subject)
    if reservation is None:
        raise CampaignError(f"campaign {chain.name}: no release test was reserved for run {subject.run}")
    return reservation


def decided(chain: Chain, subject: Subject) -> Entry | None:
    """The last decision on this subject, if there is one."""
    ended = (
        entry for entry in reversed(chain.entries) if entry.kind == "decided" and entry.subject == subject
    )
    return next(ended, None)


def refuse_decided(chain: Chain, reservation: Entry) -> None:
    """CampaignError if the test came to an end. One that was insufficient did not: it may go on to measure what is
    missing, and nothing was promoted by it.
    """
    last = decided(chain, reservation.subject)
    if last is not None and last.decision != UNDECIDED:
        raise CampaignError(
            f"campaign {chain.name}: release test {reservation.release_test} of run {reservation.subject.run} was "
            f"decided already ({last.decision})\n"
            "  a test is decided once; start a new run, which is charged as a new test"
        )


def next_decision(chain: Chain, subject: Subject, decision: str, evidence: str) -> Entry | None:
    """The entry that says how a reserved test ended; None if the chain says just that. CampaignError if it was never
    reserved, or ended otherwise.
    """
    reservation, last = reservation_of(chain, subject), decided(chain, subject)
    if last is not None and (last.decision, last.evidence) == (decision, evidence):
        return None
    refuse_decided(chain, reservation)
    entry = _entry(chain, "decided", reservation.release_test, subject)
    return msgspec.structs.replace(entry, decision=decision, evidence=evidence)


def state_of(chain: Chain, entry: Entry) -> CampaignState:
    """What a policy may know of a reservation."""
    return CampaignState(name=chain.name, release_test=entry.release_test, head=digest_json(entry))


def check_anchors(chain: Chain, anchors: Sequence[CampaignState]) -> None:
    """CampaignError if an entry that a run once saw is not in the chain: then lines were deleted or the file replaced."""
    known = {digest_json(entry): entry for entry in chain.entries}
    for anchor in anchors:
        entry = known.get(anchor.head)
        if anchor.name == chain.name and (entry is None or entry.release_test != anchor.release_test):
            raise CampaignError(
                f"campaigns/{chain.name}.jsonl does not hold release test {anchor.release_test}, which a run of this "
                "project made: lines were deleted, or the file was replaced\n"
                "  restore the file from a copy; its error budget cannot be known without it"
            )


def _entry(chain: Chain, kind: Literal["reserved", "decided"], test: int, subject: Subject) -> Entry:
    return Entry(
        schema_version=CHAIN_VERSION,
        index=len(chain.entries),
        previous=chain.head,
        campaign=chain.name,
        kind=kind,
        release_test=test,
        subject=subject,
    )


def _fault(chain: Chain, entry: Entry) -> str | None:
    """Why an entry cannot be the next one."""
    if entry.schema_version != CHAIN_VERSION:
        return f"schema_version {entry.schema_version} is not supported, only {CHAIN_VERSION} is"
    if entry.campaign != chain.name:
        return f"it belongs to campaign {entry.campaign}"
    if entry.index != len(chain.entries) or entry.previous != chain.head:
        return "it does not follow the line before it"
    if entry.kind == "decided":
        known = reserved(chain, entry.subject)
        return (
            None if known and known.release_test == entry.release_test else "it decides a test never reserved"
        )
    if entry.release_test != chain.tests + 1:
        return f"it is not release test {chain.tests + 1}"
    return "its test was reserved before" if reserved(chain, entry.subject) else None


def _broken(name: str, number: int, why: str) -> CampaignError:
    return CampaignError(
        f"campaigns/{name}.jsonl, line {number}: {why}\n"
        "  the file was edited or damaged; restore it from a copy: its error budget cannot be known without it"
    )
