"""A project with runs whose verdicts were reached from drawn sweeps."""

from datetime import UTC, datetime
from pathlib import Path
from random import Random

from evolve.certify import World, draw
from evolve.gate import Evidence, Policy, PromotionMetadata, promotion_document, write_promotion

ID = "20260101T000000Z-aaaaaa-0001"
OTHER = "20260102T000000Z-bbbbbb-0002"


def metadata(run: str) -> PromotionMetadata:
    return PromotionMetadata(
        contained=True, generated_at=datetime(2026, 1, 1, tzinfo=UTC), run=run, generation=1, idea="an idea",
        idea_digest="f" * 64, suite="starter", suite_digest="9" * 64, overlay="a" * 64, base_skills={},
        result_skills={}, agent="rulebook/1", configuration="c" * 64, rows="d" * 64, exit_code=0,
    )  # fmt: skip


def store(root: Path, policy: Policy, evidence: Evidence, run: str = ID) -> Path:
    (root / "evolve.toml").write_text('name = "stored"\n', encoding="utf-8")
    folder = root / "runs" / run / "gen-1"
    folder.mkdir(parents=True)
    path = folder / "promotion.json"
    write_promotion(path, promotion_document(evidence, policy.decide(evidence), metadata(run)))
    return path


def sweep(effect: float = 0.0, seed: int = 1, tasks: int = 8, repeats: int = 3) -> Evidence:
    return draw(World(tasks=tasks, repeats=repeats, effect=effect), Random(seed))
