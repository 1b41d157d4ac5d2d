"""Projects with a skill and mirrors, and runs that promoted something: written by hand, sound in every digest."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs
from row_builders import make_row, score

import bench
from bench.arms import Cell
from bench.config import ArmSpec, Config, SessionSpec, SkillSpec, config_digest, load_config
from bench.digest import canonical_json, digest_json
from bench.plan_file import PLAN_VERSION
from bench.project import RunFolder
from bench.results import Outcome, Row
from bench.skills import (
    Overlay,
    Skill,
    apply_overlay,
    combined_digest,
    freeze_overlay,
    make_overlay,
    read_overlay,
    read_skill,
    stack_overlays,
)
from bench.sweep import Declared, Plan, Proposed
from evolve.apply import Step, Tools, exchange_entries
from evolve.gate import (
    PromotionMetadata,
    collect_evidence,
    digest_rows,
    load_policy,
    promotion_document,
    write_promotion,
)
from evolve.promoted import freeze_start, write_champion

STARTER = Path(bench.__file__).parent / "starter" / "project"
NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
RUN = "20260601T100000Z-aaaaaa-0001"
ROOT_OF_SKILLS = ".claude/skills"
MIRRORS = ("cursor/skills", "plugin/skills")
TASKS = ("cart", "quotes")
CRITICAL = ("quotes",)


class Made(Struct, frozen=True):
    """A project and the configuration that its runs have."""

    root: Path
    config: Config

    def path(self, skill: str = "code-review", file: str = "SKILL.md", place: str = ROOT_OF_SKILLS) -> Path:
        return self.root / place / skill / file


class Asked(Struct, kw_only=True):
    """What a test wants of a generation."""

    files: Mapping[str, bytes]
    promote: bool = True
    better: bool | None = None  # as `promote`, unless a policy keeps what is better
    contained: bool = True
    retried: bool = False  # the first cell broke once before it was measured
    generated_at: datetime = NOW - timedelta(hours=1)


@cache
def starter_config() -> Config:
    return load_config(["promotion=threshold_review"], root=STARTER)[0]


def skill_text(skill: str, body: str = "Look twice.") -> bytes:
    return f"---\nname: {skill}\ndescription: What {skill} does.\n---\n\n{body}\n".encode()


def make_project(
    root: Path, skills: Sequence[str] = ("code-review",), mirrors: Sequence[str] = MIRRORS, **changes: Any
) -> Made:
    """A committed project; each skill has SKILL.md and rules.md, the same in every mirror."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "evolve.toml").write_text('name = "made"\n')
    (root / ".gitignore").write_text("/runs/\n")
    for place in (ROOT_OF_SKILLS, *mirrors):
        for skill in skills:
            folder = root / place / skill
            folder.mkdir(parents=True)
            (folder / "SKILL.md").write_bytes(skill_text(skill))
            (folder / "rules.md").write_bytes(b"# Rules\n\n* be kind\n")
    commit(root)
    session = SessionSpec(kind="review", prompt="prompts/review.md")
    arms = {
        "review": ArmSpec(role="incumbent", sessions={"review": session}, skills=tuple(skills)),
        "candidate_review": ArmSpec(
            role="candidate", sessions={"review": session}, skills=tuple(skills), candidate_of="review"
        ),
    }
    specs = {skill: SkillSpec(root=ROOT_OF_SKILLS, mirrors=tuple(mirrors)) for skill in skills}
    return Made(root, structs.replace(starter_config(), **({"skills": specs, "arms": arms} | changes)))


def commit(root: Path, message: str = "the project") -> None:
    environment = os.environ | {
        "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@localhost",
        "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@localhost",
    }  # fmt: skip
    for words in (
        ("init", "-q", "-b", "main"),
        ("add", "-A"),
        ("commit", "-q", "--no-gpg-sign", "-m", message),
    ):
        subprocess.run(("git", *words), cwd=root, env=environment, check=True, capture_output=True)


def change_of(
    skill: str = "code-review", file: str = "SKILL.md", body: str = "Look three times."
) -> dict[str, bytes]:
    """One changed file, by canonical path."""
    content = skill_text(skill, body) if file == "SKILL.md" else f"# Rules\n\n* {body}\n".encode()
    return {f"{ROOT_OF_SKILLS}/{skill}/{file}": content}


def make_run(made: Made, *generations: Asked, id: str = RUN, start: RunFolder | None = None) -> RunFolder:  # noqa: A002
    """A run of these generations on the skills as they are now, or on the champion of `start`."""
    run = RunFolder(made.root / "runs" / id)
    run.path.mkdir(parents=True)
    write_config(run, made.config)
    incumbents = {name: read_skill(made.root / spec.root, name) for name, spec in made.config.skills.items()}
    promoted: list[Overlay] = []
    if start is not None:
        promoted.append(read_overlay(start.path / "champion", made.config.skills))
        freeze_start(run, promoted[0])
        incumbents = apply_overlay(incumbents, promoted[0])
    for number, asked in enumerate(generations, start=1):
        overlay = make_overlay(asked.files, made.config.skills)
        candidates = apply_overlay(incumbents, overlay)
        champion = stack_overlays([*promoted, overlay])
        _write_generation(run, made.config, number, asked, overlay, (incumbents, candidates), champion)
        if asked.promote:
            promoted.append(overlay)
            incumbents = candidates
    if any(asked.promote for asked in generations):
        write_champion(run, stack_overlays(promoted))
    return run


def promote(made: Made, files: Mapping[str, bytes] | None = None, **changes: Any) -> RunFolder:
    """A run with one promoted generation."""
    return make_run(made, Asked(files=change_of() if files is None else files, **changes))


def write_config(run: RunFolder, config: Config) -> None:
    document = {
        "schema": "config/1",
        "digest": config_digest(config),
        "config": msgspec.to_builtins(config),
        "overrides": [],
        "sources": {},
    }
    (run.path / "config.json").write_bytes(canonical_json(document))


def _write_generation(
    run: RunFolder,
    config: Config,
    number: int,
    asked: Asked,
    overlay: Overlay,
    skills: tuple[Mapping[str, Skill], Mapping[str, Skill]],
    champion: Overlay,
) -> None:
    folder = run.generation(number)
    freeze_overlay(overlay, folder / "overlay")
    base, result = ({name: skill.digest for name, skill in each.items()} for each in skills)
    proposed = Proposed(
        idea="an idea",
        idea_digest=digest_json([run.id, number]),
        base_skills=base,
        result_skills=result,
        champion=champion.digest,
    )
    plan = _plan(config, number, overlay, proposed, asked)
    (folder / "plan.json").write_bytes(canonical_json(plan) + b"\n")
    rows = [_row(plan, cell, skills[cell.role == "candidate"], asked) for cell in plan.cells]
    rows = [*([_broken(rows[0])] if asked.retried else []), *rows]
    (folder / "results.jsonl").write_bytes(b"".join(canonical_json(row) + b"\n" for row in rows))
    assert config.promotion is not None
    evidence = collect_evidence(
        rows,
        tasks=[(task, "review-defect", "train", task in CRITICAL) for task in TASKS],
        pairs=[("review", "candidate_review")],
        model="rulebook/1",
        deterministic=False,
        stopped=None,
        split=config.promotion.split,
    )
    verdict = load_policy(config.promotion).decide(evidence)
    assert (verdict.decision == "promote") == asked.promote, verdict.reasons
    metadata = PromotionMetadata(
        contained=asked.contained,
        generated_at=asked.generated_at,
        run=run.id,
        generation=number,
        idea=proposed.idea,
        idea_digest=proposed.idea_digest,
        suite=config.suite.name,
        suite_digest=plan.suite,
        overlay=overlay.digest,
        base_skills=base,
        result_skills=result,
        agent="rulebook/1",
        configuration=config_digest(config),
        rows=digest_rows(rows),
        exit_code=0,
    )
    write_promotion(folder / "promotion.json", promotion_document(evidence, verdict, metadata))


def _plan(config: Config, number: int, overlay: Overlay, proposed: Proposed, asked: Asked) -> Plan:
    keys = [
        (task, arm, repeat) for task in TASKS for arm in ("review", "candidate_review") for repeat in range(3)
    ]
    cells = [
        Cell(index=index, task=task, arm=arm, role=config.arms[arm].role, repeat=repeat)
        for index, (task, arm, repeat) in enumerate(keys)
    ]
    return Plan(
        schema_version=PLAN_VERSION, generation=number, suite="5" * 64, overlay=overlay.digest,
        configuration=config_digest(config), seed=config.seed,
        declared=Declared(
            suite=config.suite.name, agent="rulebook/1", model="rulebook/1", deterministic=False,
            contained=asked.contained, critical=CRITICAL,
        ),
        proposed=proposed, arms=("review", "candidate_review"), tasks=TASKS,
        cells=tuple(cells), left_out={},
    )  # fmt: skip


def _row(plan: Plan, cell: Cell, skills: Mapping[str, Skill], asked: Asked) -> Row:
    better = cell.role == "candidate" and (asked.promote if asked.better is None else asked.better)
    row = make_row(
        cell.task, cell.arm, cell.repeat, generation=plan.generation, scored=score(0.9 if better else 0.5)
    )
    return structs.replace(
        row,
        identity=structs.replace(row.identity, plan=digest_json(plan), seed=plan.seed),
        provenance=structs.replace(
            row.provenance,
            skill=combined_digest(skills),
            overlay=plan.overlay if cell.role == "candidate" else None,
        ),
        started_at=asked.generated_at - timedelta(minutes=1),
        finished_at=asked.generated_at,
    )


def _broken(row: Row) -> Row:
    """An attempt of the same cell that came before and broke."""
    outcome = Outcome(status="failed", kind="session-error")
    before = structs.replace(row.identity, attempt=row.identity.attempt - 1)
    return structs.replace(row, identity=before, outcome=outcome, score=None)


def tools(observe: Any = None, exchange: Any = exchange_entries, now: datetime = NOW) -> Tools:
    return Tools(exchange=exchange, observe=observe or _watch, token=os.urandom(4).hex(), now=now)


def _watch(step: Step) -> None:
    """Looks and says nothing."""


def snapshot(root: Path) -> dict[str, tuple[bytes, int]]:
    """Every file of a project, with its permissions; links by what they lead to."""
    found: dict[str, tuple[bytes, int]] = {}
    for path in sorted(root.rglob("*")):
        if path.is_symlink():
            found[str(path.relative_to(root))] = (bytes(path.readlink()), 0)
        elif path.is_file() and ".git" not in path.relative_to(root).parts:
            found[str(path.relative_to(root))] = (path.read_bytes(), path.stat().st_mode & 0o7777)
    return found


def temporaries(root: Path) -> list[str]:
    """What an apply has left."""
    return sorted(str(path.relative_to(root)) for path in root.rglob(".incumbent-*"))
