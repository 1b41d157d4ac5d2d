"""`promotion.json`: a verdict together with all that it was reached from, so that anybody can reach it again."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from bench.digest import canonical_json
from bench.durable import write_durably
from bench.errors import ConfigError, RunError
from bench.strict_json import parse_json
from evolve.errors import PromotionError
from evolve.gate.evidence import EVIDENCE_VERSION
from evolve.gate.model import Decision, Evidence, Verdict
from evolve.gate.policy import policy_named

PROMOTION_VERSION = 1


class PromotionMetadata(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a verdict is about; no verdict depends on any of it.

    `idea` names what was proposed, `idea_digest` is its identity. `base_skills` maps each skill to the digest
    it was measured against, `result_skills` to the one it has with the overlay; `rows` is `digest_rows` of the
    sweep; `agent` is name/version, `contained` whether its sandbox contained it. ValueError for a time without an offset.
    """

    generated_at: Annotated[datetime, Meta(tz=True)]
    run: str
    generation: int
    idea: str
    idea_digest: str
    suite: str
    suite_digest: str
    overlay: str
    base_skills: Mapping[str, str]
    result_skills: Mapping[str, str]
    agent: str
    contained: bool
    configuration: str
    rows: str
    exit_code: int

    def __post_init__(self) -> None:
        if self.generated_at.tzinfo is None:
            raise ValueError("generated_at needs an explicit offset")


class Promotion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file `promotion.json`. `decision` is the verdict's own."""

    schema_version: int
    decision: Decision
    metadata: PromotionMetadata
    evidence: Evidence
    verdict: Verdict


class _Version(Struct):
    schema_version: int


def promotion_document(evidence: Evidence, verdict: Verdict, metadata: PromotionMetadata) -> Promotion:
    """A verdict and its evidence as `promotion.json` holds them."""
    promotion = Promotion(
        schema_version=PROMOTION_VERSION,
        decision=verdict.decision,
        metadata=metadata,
        evidence=evidence,
        verdict=verdict,
    )
    return msgspec.json.decode(canonical_json(promotion), type=Promotion)


def write_promotion(path: Path, promotion: Promotion) -> None:
    """Write canonical JSON at once or not at all. RunError if the disk does not take it."""
    try:
        write_durably(path, canonical_json(promotion) + b"\n")
    except OSError as error:
        raise RunError(
            f"cannot write {path}: {error.strerror}\n  free some space or fix the permissions, then start a new run"
        ) from error


def read_promotion(path: Path) -> Promotion:
    """The promotion in a file. PromotionError if it is none, of another version, or was edited by hand."""
    try:
        content = path.read_bytes()
        parse_json(content)  # a key that is there twice is said by its name
        version = msgspec.json.decode(content, type=_Version).schema_version
        if version != PROMOTION_VERSION:
            raise PromotionError(
                f"{path}: schema_version {version} is not supported, only {PROMOTION_VERSION} is\n"
                "  use the version of incumbent that wrote it, or start a new run"
            )
        promotion = msgspec.json.decode(content, type=Promotion)
    except OSError as error:
        raise PromotionError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise PromotionError(f"{path} is not a promotion: {error}") from error
    if promotion.evidence.schema_version != EVIDENCE_VERSION:
        raise PromotionError(f"{path}: its evidence is of a version that is not supported")
    if content != canonical_json(promotion) + b"\n":
        raise PromotionError(
            f"{path} is not as it was written\n  it was edited; take the original, or start a new run"
        )
    return promotion


def recompute(promotion: Promotion) -> Verdict:
    """The verdict reached again from the embedded evidence by the named policy, equal byte for byte.

    PromotionError if it differs: then evidence, parameters, verdict or decision were edited.
    """
    stated = promotion.verdict
    try:
        verdict = policy_named(stated.policy, stated.parameters).decide(promotion.evidence)
    except ConfigError as error:
        raise PromotionError(f"the promotion's parameters are not those of its policy: {error}") from error
    differing = [
        field
        for field in Verdict.__struct_fields__
        if canonical_json(getattr(verdict, field)) != canonical_json(getattr(stated, field))
    ]
    if promotion.decision != verdict.decision and "decision" not in differing:
        differing.append("decision")
    if differing:
        raise PromotionError(
            f"the promotion does not follow from its own evidence: {', '.join(differing)} differ\n"
            f"  it says {promotion.decision}; its evidence gives {verdict.decision}; do not apply it"
        )
    return verdict
