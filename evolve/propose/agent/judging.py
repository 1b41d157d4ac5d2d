"""What a proposing session left, as a proposal or as a reason why there is none. Pure."""

import re

from bench.digest import digest_files
from bench.errors import OverlayError
from bench.skills import check_against, make_overlay
from bench.text import printable
from evolve.errors import ProposalFailed
from evolve.history import judged_on
from evolve.propose.protocol import Answer, Proposal, Setting

MOST_TEXT = 256 << 10  # bytes of proposal.md
_LONGEST_NAME = 80
_HEADING = re.compile(r"^#\s+(.*\S)", re.MULTILINE)


def proposal_of(answer: Answer, setting: Setting) -> Proposal:
    """The proposal that an answer makes. ProposalFailed says why it cannot be measured: refused by the rules of all
    overlays, without a case, or an idea that was judged on these skills before.
    """
    files = {path: text.encode() for path, text in answer.files.items()}
    why = answer.refused or _fault(files, answer.text, setting)
    if why is not None:
        raise ProposalFailed(
            f"the proposing session left nothing that can be measured: {why}\n"
            f"  what it said and left is in {answer.folder}; it was paid: a new run asks again"
        )
    return Proposal(idea=_name(answer.text), idea_digest=digest_files(files), files=files, text=answer.text)


def _fault(files: dict[str, bytes], text: str, setting: Setting) -> str | None:
    if not text.strip():
        return "proposal.md is missing or empty"
    loaded = {name: setting.specs[name] for name in setting.incumbents}
    try:
        check_against(make_overlay(files, loaded), setting.incumbents)
    except OverlayError as error:
        return str(error)
    digest = digest_files(files)
    if digest in judged_on(setting.judgements, base=setting.base, suite=setting.suite):
        return "it is byte for byte what was judged on these skills before"
    return None


def _name(text: str) -> str:
    """The idea's name: the first heading of its case."""
    found = _HEADING.search(text)
    first = found[1] if found else text.strip().splitlines()[0]
    return printable(first.removeprefix("Proposal:").strip())[:_LONGEST_NAME] or "unnamed"
