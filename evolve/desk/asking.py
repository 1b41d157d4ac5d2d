"""Proposing sessions as a run pays them: reserved, run in the sandbox, kept, settled."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from bench.arms import LARGEST_ARTIFACT, Errand, Session
from bench.cancellation import Cancellation
from bench.config import SkillSpec, read_prompt
from bench.digest import digest_bytes
from bench.disk import write_whole
from bench.errors import BudgetExhausted, MeasurementError, OverlayError
from bench.exits import ExitCode
from bench.measured import End
from bench.project import RunFolder
from bench.skills import read_overlay
from bench.spend import JOURNAL, PROPOSER, Reserved, SessionName, Stop, read_journal
from bench.sweep import Assignment, Ground, Messenger, open_messenger, run_errand
from bench.watch import Noted, Watcher
from evolve.desk.answers import (
    ANSWER_VERSION,
    AnswerFile,
    ShownFile,
    answer_folder,
    read_answer,
    write_answer,
)
from evolve.desk.evidence import Sources, gather
from evolve.errors import ProposalFailed, ProposalStopped
from evolve.history import Judgement
from evolve.propose import Answer, Ask, Asking, Evidence, Extent, Proposer

_SESSION = "propose"
_CASE = "proposal.md"


class Errands(Struct, frozen=True, kw_only=True):
    """What the proposing sessions of a run have in common: who goes, and the text of their prompt file."""

    messenger: Messenger
    prompt: str


def open_errands(proposer: Proposer, ground: Ground, config_dirs: Sequence[Path]) -> Errands | None:
    """All that can be checked before a proposing session is paid has been; None for a proposer that pays none."""
    if not isinstance(proposer, Asking):
        return None
    messenger = open_messenger(ground, proposer.sent(ground.config), config_dirs)
    return Errands(messenger=messenger, prompt=read_prompt(proposer.prompt, ground.root, config_dirs))


class GenerationDesk:
    """The desk of one generation; `base` is what its incumbent skills are."""

    def __init__(
        self,
        errands: Errands,
        run: RunFolder,
        number: int,
        base: str,
        judgements: Sequence[Judgement],
        cancellation: Cancellation,
        watcher: Watcher,
    ) -> None:
        self._errands, self._messenger = errands, errands.messenger
        self._run, self._number, self._base = run, number, base
        self._judgements, self._cancellation, self._watcher = judgements, cancellation, watcher
        self._folder = answer_folder(run, number)

    @property
    def prompt(self) -> str:
        """The text of the prompt file."""
        return self._errands.prompt

    def recall(self) -> Answer | None:
        """The answer that an earlier process paid for."""
        return read_answer(self._folder, self._base)

    def evidence(self, extent: Extent) -> Evidence:
        """Evidence of the training split."""
        ground = self._messenger.ground
        queue = ground.config.proposer.queue if ground.config.proposer else None
        sources = Sources(
            root=ground.root,
            suite=ground.suite.name,
            tasks=ground.suite.tasks,
            judgements=self._judgements,
            base=self._base,
            queue=None if queue is None else ground.root / queue,
            redacted=self._messenger.redacted,
        )
        return gather(sources, extent)

    def ask(self, ask: Ask) -> Answer:
        """Pay one session."""
        errand = Errand(
            name=_SESSION,
            prompt=ask.prompt,
            shown={"incumbent": ask.incumbents, "evidence": ask.evidence},
            artifact=_CASE,
        )
        assignment = Assignment(
            run=self._run, session=self._session_name(), record=self._folder / "cassettes"
        )
        kept: list[Answer] = []

        def keep(session: Session, requests: bytes, output: Path) -> None:
            self._keep_session(assignment.session.attempt, session, requests)
            if _broke(session) is None:
                kept.append(write_answer(self._folder, self._answer(ask, session, output)))

        self._folder.mkdir(parents=True, exist_ok=True)
        who, shown = self._messenger.agent_name, len(ask.evidence)
        said = (
            f"generation {self._number}: {who} is asked for a proposal; it is shown {shown} files of evidence"
        )
        self._watcher.see(Noted(message=said))
        try:
            ran = run_errand(self._messenger, errand, assignment, self._cancellation, keep)
        except MeasurementError as error:
            raise ProposalFailed(f"the proposing session could not be run: {error}") from error
        if isinstance(ran, Stop):
            raise self._unpaid(ran)
        if not kept:
            raise self._broken(str(_broke(ran)))
        return kept[0]

    def _session_name(self) -> SessionName:
        """Each session of a generation has a number of its own."""
        before = sum(
            isinstance(each, Reserved)
            and not each.session.in_cell
            and each.session.generation == self._number
            for each in read_journal(self._run.path / JOURNAL)
        )
        return SessionName(
            generation=self._number, task="", arm=PROPOSER, repeat=0, attempt=before, session=_SESSION
        )

    def _keep_session(self, attempt: int, session: Session, requests: bytes) -> None:
        stream, said = session.result.stdout, session.result.stderr
        redacted = self._messenger.redacted
        write_whole(self._folder / f"transcript-{attempt}.jsonl", redacted(stream.head + stream.tail))
        write_whole(self._folder / f"stderr-{attempt}.txt", redacted(said.text().encode()))
        write_whole(self._folder / f"requests-{attempt}.jsonl", redacted(requests))

    def _answer(self, ask: Ask, session: Session, output: Path) -> AnswerFile:
        config = self._messenger.crew.config
        case = session.artifact or b""
        files, refused = _read_files(output / "overlay", config.skills)
        if len(case) > LARGEST_ARTIFACT:
            files, refused = {}, f"{_CASE} has more than {LARGEST_ARTIFACT} bytes"
        return AnswerFile(
            schema_version=ANSWER_VERSION,
            base=self._base,
            agent=self._messenger.agent_name,
            model=config.model.id if self._messenger.crew.agent.calls_model else None,
            effort=config.effort,
            prompt=digest_bytes(ask.prompt.encode()),
            seconds=session.result.seconds,
            report=session.report,
            evidence={name: ShownFile(digest_bytes(each), len(each)) for name, each in ask.evidence.items()},
            trimmed=ask.trimmed,
            files=files,
            text=self._messenger.redacted(case[:LARGEST_ARTIFACT]).decode("utf-8", "replace"),
            refused=refused,
        )

    def _unpaid(self, stop: Stop) -> Exception:
        """Why the session did not begin, as what the run ends with."""
        if self._cancellation.cancelled:
            return ProposalStopped(stop.detail, _code_of(self._cancellation))
        return BudgetExhausted(
            f"{stop.detail}\n  the proposing session of generation {self._number} did not begin"
        )

    def _broken(self, why: str) -> ProposalFailed:
        """What became of a session that came to no end of its own."""
        if self._cancellation.cancelled:
            return ProposalStopped("the proposing session was stopped", _code_of(self._cancellation))
        return ProposalFailed(
            f"the proposing session broke: {why}\n"
            f"  what it said is in {self._folder}; evolve resume {self._run.id} pays another one"
        )


def _code_of(cancellation: Cancellation) -> ExitCode:
    return ExitCode.BUDGET if cancellation.cause == "deadline" else ExitCode.INTERRUPTED


def _broke(session: Session) -> str | None:
    """Why a session gives no answer, whatever it left; None for one that came to its end."""
    if session.fault is not None:
        return session.fault.detail
    if session.result.end is not End.EXITED:
        return f"{session.result.end} {session.result.detail}".strip()
    if session.report.status == "completed":
        return None
    return f"{session.report.status}: {session.report.detail or session.result.account()}"


def _read_files(folder: Path, skills: Mapping[str, SkillSpec]) -> tuple[dict[str, str], str | None]:
    """The overlay's files, or why they are refused: nothing in the folder is followed or trusted."""
    try:
        overlay = read_overlay(folder, dict(skills))
    except OverlayError as error:
        return {}, str(error).replace(str(folder), "overlay")
    return {path: content.decode() for path, content in overlay.files.items()}, None
