"""What is known of a cell while it is measured."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from bench.agents import Usage, sum_usage
from bench.arms.judge import Checks, Finding, invoked, outcome
from bench.arms.live import Seen, first_other
from bench.arms.model import Session, Turn
from bench.arms.provenance import identity, provenance
from bench.arms.workbench import Arm, Workbench
from bench.results import SCHEMA_VERSION, Artifact, ChangeSummary, Provenance, Row, Timings
from bench.scoring import ReviewScore, score_review
from bench.spend import NOTHING, SessionName
from bench.suite import LabelOracle, Task
from bench.workspace import Change, Entry, Template, WorkingCopy


class Measurement:
    """The notebook of one cell: what is known so far, from which the row is written at any point."""

    def __init__(self, bench: Workbench, turn: Turn) -> None:
        self.bench, self.turn = bench, turn
        self.cell = turn.cell
        self.task: Task = bench.tasks[turn.cell.task]
        self.arm: Arm = bench.arms[turn.cell.arm]
        self.started_at = datetime.now(UTC)
        self.template: Template | None = None
        self._provenance: tuple[Template | None, Provenance] | None = None
        self.sessions: list[Session] = []
        self._changed: tuple[WorkingCopy, tuple[Entry, ...]] | None = None
        self.change: Change | None = None
        self.checks = Checks()
        self.finding: Finding | None = None
        self.paid = NOTHING
        self.seen = Seen()
        self.diagnostics: list[str] = []
        self.artifacts: dict[str, Artifact] = {}
        self._seconds: dict[str, float] = {}
        self._began = time.monotonic()

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Add the seconds of the block to a phase of the row's timings."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.spent(phase, time.monotonic() - began)

    def spent(self, phase: str, seconds: float) -> None:
        """Add seconds that an earlier process measured."""
        self._seconds[phase] = self._seconds.get(phase, 0.0) + seconds

    def session_name(self, session: str) -> SessionName:
        """How the run's budget names a session of this cell."""
        return SessionName(
            generation=self.bench.generation,
            task=self.cell.task,
            arm=self.cell.arm,
            repeat=self.cell.repeat,
            attempt=self.turn.attempt,
            session=session,
        )

    def keep(self, name: str, content: bytes) -> Artifact:
        """Store an artifact, redacted."""
        self.artifacts[name] = self.bench.store.put(self.bench.redactor.bytes(content))
        return self.artifacts[name]

    def changed(self, copy: WorkingCopy) -> tuple[Entry, ...]:
        """What differs in the working copy of the latest session, looked at once: all that is made of it agrees."""
        if self._changed is None or self._changed[0] is not copy:
            self._changed = (copy, copy.entries())
        return self._changed[1]

    def work_went_on(self) -> None:
        """Something ran in the working copy: what differs in it is to be looked at again."""
        self._changed = None

    def depends_on(self) -> Provenance:
        """Digests of all that the measurement depends on, worked out once for a template."""
        if self._provenance is None or self._provenance[0] is not self.template:
            found = provenance(self.bench, self.arm, self.task, self.template)
            self._provenance = (self.template, found)
        return self._provenance[1]

    def look(self) -> Finding | None:
        """Look at what the cell sees live, before it sees it; a finding if that is not what the run says it is."""
        self.seen = self.bench.live.look(self.cell.arm, self.cell.task)
        return None if self.seen.changed is None else Finding("failed", "infra-error", self.seen.changed)

    def look_again(self) -> Finding | None:
        """A finding if what the cell saw live was not the same throughout, whatever it is now."""
        now = self.bench.live.look(self.cell.arm, self.cell.task)
        if now.changed is not None:
            return Finding("failed", "infra-error", now.changed)
        if now.stamps == self.seen.stamps:
            return None
        pairs = zip(self.seen.stamps, now.stamps, strict=True)
        names = [first_other(Path(), before, after) for before, after in pairs if before != after]
        return Finding(
            "failed",
            "infra-error",
            f"{names[0]} was written while the cell used it; what it holds is the same again, but nobody knows what "
            "the cell saw",
        )

    def skill_invoked(self) -> bool | None:
        """Whether the arm's skills were used, once its sessions are over."""
        return invoked(sorted(self.arm.skills), self.sessions) if self.sessions else None

    def row(self) -> Row:
        """The record of the cell as it stands."""
        finding = self.finding or Finding("failed", "infra-error", "the cell ended without a finding")
        redacted = Finding(finding.status, finding.kind, self.bench.redactor.text(finding.detail))
        usages = {session.name: session.report.usage for session in self.sessions}
        return Row(
            schema_version=SCHEMA_VERSION,
            identity=identity(self.bench, self.cell, self.turn.attempt),
            provenance=self.depends_on(),
            outcome=outcome(
                redacted,
                self.checks,
                self.skill_invoked(),
                [self.bench.redactor.text(note) for note in self.diagnostics],
            ),
            score=self._score(finding),
            usage=sum_usage(list(usages.values())) if usages else Usage(),
            sessions=usages,
            reported={
                each.name: each.report.reported for each in self.sessions if each.report.reported is not None
            },
            timings=self._timings(),
            change=self._change_summary(),
            artifacts=self.artifacts,
            started_at=self.started_at,
            finished_at=datetime.now(UTC),
        )

    def _score(self, finding: Finding) -> ReviewScore | None:
        """The score of a measured review; an agent that failed before it left one has found nothing."""
        if finding.status != "measured" or not isinstance(self.task.oracle, LabelOracle):
            return None
        return self.checks.score or score_review(None, self.task.oracle.labels)

    def _timings(self) -> Timings:
        peaks = [each.result.peak_memory for each in self.sessions if each.result.peak_memory is not None]
        return Timings(
            **self._seconds,
            total=time.monotonic() - self._began,
            neighbours=self.turn.neighbours,
            peak_memory=max(peaks, default=None),
        )

    def _change_summary(self) -> ChangeSummary | None:
        if self.change is None:
            return None
        return ChangeSummary(
            files=len(self.change.paths),
            insertions=self.change.insertions,
            deletions=self.change.deletions,
            patch=self.artifacts["patch"].digest if "patch" in self.artifacts else None,
            fingerprint=self.change.fingerprint,
        )
