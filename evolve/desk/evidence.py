"""Gathers what a proposer may be shown: rows of the training split, notes, verdicts, ideas that lost. Nothing of a
task of another split, no oracle, no secret.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct, structs

from bench.arms import CHECK_OUTPUT
from bench.disk import read_regular
from bench.errors import RunError
from bench.project import objects_of
from bench.results import ObjectStore, Row, latest_attempts, read_rows
from bench.suite import Task
from evolve.desk.mentions import speaks_of
from evolve.errors import PromotionError
from evolve.gate import read_promotion
from evolve.history import Judgement
from evolve.propose import (
    EarlierVerdict,
    Evidence,
    Exhibit,
    Extent,
    Learning,
    RejectedProposal,
    Seen,
    SeenRow,
    read_queue,
    select_rows,
)

TRAIN = "train"
_MOST_CHECK = 600  # characters of what the visible check printed
_MOST_DETAIL = 600
_MOST_REASONS = 3
_MOST_VERDICTS = 40
_MOST_CASE = 256 << 10
_ROLES = ("incumbent", "candidate")
# what they say comes from the hidden tests
_HIDDEN = frozenset({"oracle-failed", "oracle-unavailable", "tampered"})


class Sources(Struct, frozen=True, kw_only=True):
    """Where evidence comes from. `tasks` are all of the suite, `judgements` those that say something here, oldest
    first; `base` is what the incumbent skills are now, `redacted` takes secrets out.
    """

    root: Path
    suite: str
    tasks: Sequence[Task]
    judgements: Sequence[Judgement]
    base: str
    queue: Path | None
    redacted: Callable[[bytes], bytes]

    def training(self) -> frozenset[str]:
        """The tasks that may be spoken of."""
        return frozenset(task.id for task in self.tasks if task.split == TRAIN)

    def secret(self) -> Callable[[str], bool]:
        """Whether a text speaks of a task that nobody who proposes may know of."""
        return speaks_of({task.id for task in self.tasks} - self.training())

    def text(self, text: str) -> str:
        """The text without secrets."""
        return self.redacted(text.encode("utf-8", "replace")).decode("utf-8", "replace")


def gather(sources: Sources, extent: Extent) -> Evidence:
    """The evidence. RunError if an artifact that a shown row names is damaged, ProposalError for a broken queue."""
    judged = [each for each in reversed(sources.judgements) if each.suite == sources.suite]
    return Evidence(
        rows=tuple(_seen(sources, judged[0].folder(sources.root), extent)) if judged else (),
        learnings=tuple(_learnings(sources, extent.learnings)),
        verdicts=tuple(_verdict(sources, each) for each in judged[:_MOST_VERDICTS]),
        rejected=tuple(_rejected(sources, judged))[: extent.proposals],
    )


def _seen(sources: Sources, folder: Path, extent: Extent) -> Iterator[Seen]:
    """The rows of the latest generation that was judged, with what their cells left."""
    store = ObjectStore(objects_of(sources.root))
    rows = {row.key: row for row in latest_attempts(read_rows(folder / "results.jsonl")[0])}
    training = sources.training()
    shown = [_facts(sources, row, store) for row in rows.values() if _may_be_shown(row, training)]
    left = extent.transcripts
    for facts in select_rows(shown, extent.rows):
        exhibits = _exhibits(sources, rows[facts.key], store, min(left, extent.row_transcripts))
        left -= sum(each.kind == "transcript" for each in exhibits)
        yield Seen(facts, exhibits)


def _may_be_shown(row: Row, training: frozenset[str]) -> bool:
    """Only what was measured, of a task that was and is of the training split, with the project's own skills."""
    measured = row.outcome.status in ("measured", "unusable") and row.outcome.kind != "evidence-unverified"
    trains = row.identity.split == TRAIN and row.identity.task in training
    return measured and trains and row.identity.role in _ROLES


def _facts(sources: Sources, row: Row, store: ObjectStore) -> SeenRow:
    outcome, identity = row.outcome, row.identity
    check = row.artifacts.get(CHECK_OUTPUT)
    printed = b"" if check is None else _content(store, check.digest)
    change = row.change
    return SeenRow(
        task=identity.task,
        task_class=identity.task_class,
        arm=identity.arm,
        repeat=identity.repeat,
        status=outcome.status,
        kind=outcome.kind,
        detail="" if outcome.kind in _HIDDEN else sources.text(outcome.detail)[:_MOST_DETAIL],
        resolved=outcome.resolved,
        cost_usd=row.usage.cost_usd,
        turns=row.usage.turns,
        output_tokens=row.usage.output,
        change=f"{change.files} files, +{change.insertions} -{change.deletions}" if change else "",
        check=sources.redacted(printed).decode("utf-8", "replace")[-_MOST_CHECK:],
        score=structs.asdict(row.score) if row.score else {},
    )


def _exhibits(sources: Sources, row: Row, store: ObjectStore, transcripts: int) -> tuple[Exhibit, ...]:
    names = sorted(row.artifacts)
    chosen = [
        *[("transcript", name) for name in names if name.startswith("transcript-")][:transcripts],
        *[("patch", name) for name in names if name == "patch"],
        *[("review", name) for name in names if name.startswith("review-")],
    ]
    return tuple(
        Exhibit(kind, sources.redacted(_content(store, row.artifacts[name].digest)))  # type: ignore[arg-type]
        for kind, name in chosen
    )


def _content(store: ObjectStore, digest: str) -> bytes:
    """An artifact's bytes; RunError says what to do without them."""
    try:
        return store.get(digest)
    except RunError as error:
        raise RunError(
            f"evidence for the proposal is damaged: {error}\n"
            "  see `bench store verify`; without earlier cells: proposer.options.rows=0"
        ) from error


def _learnings(sources: Sources, most: int) -> Sequence[Learning]:
    """The newest notes that were seen in training, or nowhere in particular."""
    if sources.queue is None or most == 0:
        return ()
    training, secret = sources.training(), sources.secret()
    allowed = [
        note
        for note in read_queue(sources.queue)
        if note.task is None or note.task in training
        if not secret(" ".join(filter(None, (note.id, note.observation, note.sentence, note.rule))))
    ]
    return [_redacted(sources, note) for note in reversed(allowed[-most:])]


def _redacted(sources: Sources, note: Learning) -> Learning:
    words = {name: value for name, value in structs.asdict(note).items() if isinstance(value, str)}
    return structs.replace(note, **{name: sources.text(value) for name, value in words.items()})


def _verdict(sources: Sources, judged: Judgement) -> EarlierVerdict:
    secret = sources.secret()
    return EarlierVerdict(
        idea="(not told)" if secret(judged.idea) else sources.text(judged.idea),
        decision=judged.decision,
        on_these_skills=judged.base == sources.base,
        reasons=tuple(sources.text(reason) for reason in _reasons(sources, judged) if not secret(reason))[
            :_MOST_REASONS
        ],
    )


def _reasons(sources: Sources, judged: Judgement) -> tuple[str, ...]:
    """None where a task of another split had a say: what they were measured with may not be told."""
    try:
        promotion = read_promotion(judged.folder(sources.root) / "promotion.json")
    except PromotionError:
        return ()
    training = sources.training()
    tasks = [task for pair in promotion.evidence.pairs for task in pair.tasks]
    trained = all(task.split == TRAIN and task.task in training for task in tasks)
    return promotion.verdict.reasons if trained else ()


def _rejected(sources: Sources, judged: Sequence[Judgement]) -> Iterator[RejectedProposal]:
    """What lost on exactly these skills, newest first, as far as its case can be told."""
    secret = sources.secret()
    for each in judged:
        if each.decision == "promote" or each.base != sources.base or not each.complete:
            continue
        try:
            case = read_regular(each.folder(sources.root) / "proposal.md", _MOST_CASE).decode(
                "utf-8", "replace"
            )
        except OSError:
            continue
        if not secret(case):
            yield RejectedProposal(idea=sources.text(each.idea), text=sources.text(case))
