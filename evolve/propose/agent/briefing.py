"""The prompt of a proposing session: how it works, and what it really finds. Pure."""

from collections.abc import Sequence

from evolve.propose.agent.bundle import Bundle

_ROWS_NAME = "each with the names of the files that it left (transcripts: newest events; patches; reviews)"
_AGAIN = "Do not propose one of them again: say why it lost, or look for another pattern"


def proposal_prompt(how: str, bundle: Bundle, files: Sequence[str]) -> str:
    """The prompt file's text with an inventory of what was staged; `files` are the canonical paths that may change."""
    evidence = bundle.evidence
    lines = [
        how.rstrip(),
        "",
        "These files may be replaced:",
        *(f"- `{path}`" for path in sorted(files)),
        "",
        "The evidence holds:",
        f"- `evidence/rows.json`: {len(evidence.rows)} measured cells, the most telling first, {_ROWS_NAME}",
        f"- `evidence/learnings.json`: {len(evidence.learnings)} notes of what was seen elsewhere",
        f"- `evidence/verdicts.json`: what became of {len(evidence.verdicts)} earlier ideas, newest first",
        *_rejected(len(evidence.rejected)),
        *(f"- left out to keep it bounded: {each}" for each in bundle.trimmed),
    ]
    return "\n".join(lines) + "\n"


def _rejected(count: int) -> Sequence[str]:
    if not count:
        return ()
    return (f"- `evidence/rejected-1.md` to `-{count}`: ideas that lost on these very skills. {_AGAIN}",)
