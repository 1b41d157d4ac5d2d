"""The decisions in a sentence, for the screen and the report alike."""

from evolve.gate import Decision

SENTENCES: dict[Decision, str] = {
    "promote": "PROMOTE: the candidate beats the incumbent",
    "keep_incumbent": "KEEP INCUMBENT: the candidate does not beat it",
    "insufficient_evidence": "INSUFFICIENT EVIDENCE: nothing can be said about the candidate",
}


def topup_advice(run: str, missing: int) -> str:
    """What to type where cells failed or were stopped, and that is what the decision lacks."""
    return f"{missing} cells have no measurement; this measures them again: evolve topup {run}"
