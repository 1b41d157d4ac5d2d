"""The proposer `learnings`: the next untried note of the queue becomes one bounded overlay."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.config import ProposerConfig
from bench.text import did_you_mean
from evolve.errors import ProposalError
from evolve.history import judged_on, promoted_into
from evolve.propose.protocol import Proposal, Setting
from evolve.propose.queue import Learning, read_queue

SECTION = "## Learned"


class Learnings:
    """Proposes from a queue file, in its order."""

    def __init__(self, queue: Path) -> None:
        self._queue = queue

    def propose(self, setting: Setting) -> Proposal | None:
        """The first note that no judgement on these incumbents covers; notes judged nowhere come first. ProposalError
        for a note that was taken from a task that is held out.
        """
        queue = read_queue(self._queue)
        self._refuse_held_out(queue, setting)
        notes = [
            note
            for note in queue
            if note.skill in setting.incumbents and not holds(_text(setting, note), note)
        ]
        note = next_note(notes, setting)
        return None if note is None else _proposal(note, setting)

    def _refuse_held_out(self, queue: Sequence[Learning], setting: Setting) -> None:
        seen = [note.id for note in queue if note.task is not None and setting.names_held_out(note.task)]
        if seen:
            raise ProposalError(
                f"{self._queue} holds notes that were seen in a task which is held out: {', '.join(seen)}\n"
                "  what is learned there can no longer be tested there: take the note out, or make the task one of the "
                "split `train`"
            )

    def remarks(self, loaded: Collection[str]) -> Iterator[str]:
        """What a person may not expect of the queue: notes on skills that no arm loads are never proposed."""
        unknown = Counter(note.skill for note in read_queue(self._queue) if note.skill not in loaded)
        for skill, count in sorted(unknown.items()):
            near = did_you_mean(skill, loaded)
            yield f"{count} of the queue's learnings are for the skill {skill!r}, which no arm loads{near}"


def next_note(notes: Sequence[Learning], setting: Setting) -> Learning | None:
    """Untried notes in the queue's order, then those that were judged on other incumbents only.

    A note that the incumbents already hold, or that was judged on exactly these, is not proposed.
    """
    held = {each.idea_digest for each in promoted_into(setting.judgements, setting.base)}
    here = judged_on(setting.judgements, base=setting.base, suite=setting.suite)
    elsewhere = {
        each.idea_digest for each in setting.judgements if each.complete and each.suite == setting.suite
    }
    left = [note for note in notes if note.digest not in held | here]
    return next((note for note in left if note.digest not in elsewhere), left[0] if left else None)


def learn(text: str, note: Learning) -> str:
    """A skill's text with the note at the end of its section `## Learned`, which is made if there is none."""
    lines = text.split("\n")
    headings = list(_headings(lines))
    start = next((number for number, heading in headings if heading == SECTION), None)
    if start is None:
        return f"{text.rstrip()}\n\n{SECTION}\n\n{_entry(note)}\n"
    end = next((number for number, _ in headings if number > start), len(lines))
    section = "\n".join(lines[:end]).rstrip()
    return "\n".join([section, "", _entry(note), "", *lines[end:]])


def holds(text: str, note: Learning) -> bool:
    """Whether a skill's text has learned exactly this note, also where no history of it is left."""
    return f"\n{_entry(note)}\n" in f"\n{text}\n".replace("\r\n", "\n")


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The line numbers (from 0) and texts of the headings `#` and `##` that are not in a fenced block."""
    fence = ""
    for number, line in enumerate(lines):
        mark = re.match(r" {0,3}(`{3,}|~{3,})", line)
        if fence:
            closes = mark is not None and mark[1].startswith(fence) and line.strip() == mark[1]
            fence = "" if closes else fence
        elif mark:
            fence = mark[1]
        elif re.match(r"##? ", line):
            yield number, line.rstrip()


def _entry(note: Learning) -> str:
    """What the skill learns: the sentence, then the rule in a block with a fence longer than any inside it."""
    parts = [f"### {note.id}", "", " ".join((note.sentence or note.observation).split())]
    if note.rule is not None:
        fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", note.rule))])
        parts += ["", f"{fence}yaml", note.rule.strip("\n"), fence]
    return "\n".join(parts)


def _text(setting: Setting, note: Learning) -> str:
    return setting.incumbents[note.skill].files["SKILL.md"].decode("utf-8")


def _proposal(note: Learning, setting: Setting) -> Proposal:
    path = f"{setting.specs[note.skill].root}/{note.skill}/SKILL.md"
    return Proposal(
        idea=note.id,
        idea_digest=note.digest,
        files={path: learn(_text(setting, note), note).encode()},
        text=_case(note, path),
    )


def _case(note: Learning, path: str) -> str:
    what = "a rule" if note.rule is not None else "a sentence"
    seen = f" (seen in {note.task})" if note.task else ""
    return (
        f"# Proposal: {note.id}\n\n"
        f"**Pattern.** {note.observation}{seen}\n\n"
        f"**Change.** `{path}` learns {what} from the queue's note of {note.date}; nothing else is touched.\n\n"
        f"**Expected.** More findings where the pattern occurs, the same everywhere else.\n\n"
        f"**Risk.** False positives where the pattern is harmless; the gate looks for them on every task.\n"
    )


class _LearningsFactory:
    """Makes the proposer, which has no options of its own beside the queue."""

    options_schema: Mapping[str, Any] = {"type": "object", "additionalProperties": False}

    def create(self, config: ProposerConfig, root: Path) -> Learnings:
        if config.queue is None:
            raise ProposalError(
                "proposer `learnings` needs a queue: proposer.queue=FILE, or a suite that names one"
            )
        return Learnings(root / config.queue)


LEARNINGS = _LearningsFactory()
