"""The proposing session of a configured generation, lived through against a scripted model."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.cancellation import Cancellation
from bench.config import Config, read_prompt
from bench.errors import MeasurementError, UserError
from bench.gateway import read_cassettes
from bench.project import RunFolder
from bench.skills import Skill
from bench.sweep import Ground, open_messenger
from bench.watch import open_watcher
from evolve.desk import Errands, GenerationDesk
from evolve.history import skills_digest
from evolve.propose import Asking, Proposer, Setting
from evolve.rehearse.findings import Finding, effort_finding
from evolve.rehearse.gestures import GESTURES, Gestures
from evolve.rehearse.script import proposing_script

ABOUT = "proposing"


def rehearse_proposing(
    ground: Ground,
    proposer: Proposer | None,
    scripted: Callable[[Config, Path], Config],
    canonical: Mapping[str, Skill],
    run: RunFolder,
    folders: Sequence[Path],
    cancellation: Cancellation,
) -> tuple[list[Finding], int]:
    """What would go wrong in it (the session breaks, leaves nothing that can be measured, sends no effort), and how
    many proposals came of it: none from a proposer that pays no session. `scripted` gives a configuration answers from a file.
    """
    if not isinstance(proposer, Asking):
        return [], 0
    try:
        sent = proposer.sent(ground.config)
    except UserError:
        return [], 0  # found before
    gestures = GESTURES.get(sent.agent.name)
    if gestures is None:
        said = f"agent {sent.agent.name} cannot be rehearsed: nobody knows how a model would make it write a file"
        return [Finding("note", ABOUT, said)], 0
    script = run.path / "proposing.json"
    config = scripted(sent, script)
    script.write_text(json.dumps(_script(ground, canonical, gestures)), "utf-8")
    try:
        errands = Errands(
            messenger=open_messenger(ground, config, folders),
            prompt=read_prompt(proposer.prompt, ground.root, folders),
        )
        base = skills_digest({name: skill.digest for name, skill in canonical.items()})
        with open_watcher(sys.stderr, quiet=True, stream=None) as watcher:
            proposer.propose(
                Setting(
                    run=run.id,
                    specs=ground.config.skills,
                    incumbents=canonical,
                    base=base,
                    suite=ground.suite.name,
                    judgements=(),
                    desk=GenerationDesk(errands, run, 1, base, (), cancellation, watcher),
                )
            )
    except (UserError, MeasurementError) as error:
        return [Finding("fault", ABOUT, str(error))], 0
    requests = (each.request for each in read_cassettes(run.path / "proposing" / "gen-1" / "cassettes"))
    return effort_finding(config.effort, requests), 1


def _script(ground: Ground, canonical: Mapping[str, Skill], gestures: Gestures) -> dict[str, Any]:
    """A session that adds a line to the first skill."""
    name, skill = next(iter(canonical.items()))
    changed = skill.files["SKILL.md"].decode("utf-8", "replace") + "\nA rehearsal.\n"
    output = ground.sandbox.layout(ground.scratch / "errand").output
    path = f"{output}/overlay/{ground.config.skills[name].root}/{name}/SKILL.md"
    return proposing_script(gestures, {path: changed, f"{output}/proposal.md": "# A rehearsal\n"})
