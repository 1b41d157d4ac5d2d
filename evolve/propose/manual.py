"""The proposer `manual`: an overlay folder that a person wrote."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.config import ProposerConfig
from bench.digest import digest_files
from bench.skills import read_overlay
from evolve.errors import ProposalError
from evolve.propose.protocol import Proposal, Setting


class Manual:
    """Proposes one folder as it is, once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def propose(self, setting: Setting) -> Proposal | None:
        """The folder's files; None once this run has judged them: asking again would only repeat it."""
        overlay = read_overlay(self._folder, setting.specs)
        digest = digest_files(overlay.files)
        if any(each.idea_digest == digest and each.run == setting.run for each in setting.judgements):
            return None
        note = self._folder.parent / "proposal.md"
        text = (
            note.read_text("utf-8", "replace")
            if note.is_file()
            else f"# Proposal\n\nBy hand: `{self._folder}`\n"
        )
        return Proposal(
            idea=f"manual {self._folder.name}", idea_digest=digest, files=overlay.files, text=text
        )


class _ManualFactory:
    """Makes the proposer from the folder that its option names."""

    options_schema: Mapping[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "required": ["overlay"],
        "properties": {
            "overlay": {"type": "string", "description": "The overlay folder, mirroring skill paths."}
        },
    }

    def create(self, config: ProposerConfig, root: Path) -> Manual:
        folder = root / config.options["overlay"]
        if not folder.is_dir():
            raise ProposalError(
                f"the overlay folder does not exist: {folder}\n  see proposer.options.overlay"
            )
        return Manual(folder)


MANUAL = _ManualFactory()
