"""What `evolve rehearse` does."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import structs

from bench.agents import create_agent, spoken
from bench.arms import CHECK_OUTPUT
from bench.cancellation import Cancellation
from bench.cli_run import Loaded, load, print_json
from bench.commandline import cancel_on_signals
from bench.config import BudgetConfig, Config
from bench.errors import ConfigError, UserError
from bench.exits import ExitCode
from bench.gateway import read_cassettes, said_last
from bench.project import RunFolder
from bench.results import ObjectStore, Row
from bench.skills import required_arms
from bench.suite import Task
from bench.sweep import (
    CASSETTES,
    Ground,
    canonical_skills,
    check_model,
    make_arms,
    measure_plan,
    open_ground,
    read_means,
    seal_plan,
    with_reuse,
    works_on,
)
from bench.text import printable
from bench.watch import open_watcher
from evolve.propose import Asking, Proposer, create_proposer
from evolve.rehearse.findings import Finding, artifact_findings, effort_finding, findings_of
from evolve.rehearse.gestures import GESTURES
from evolve.rehearse.proposing import ABOUT as PROPOSING
from evolve.rehearse.proposing import rehearse_proposing
from evolve.rehearse.script import rehearsal_script

Say = Callable[[str], None]
_LONGEST = 300.0  # seconds that a session of a rehearsal may take


def rehearse_command(options: argparse.Namespace, root: Path, say: Say) -> ExitCode:
    """Live through a few cells of the configured generation without paying, and say what would have failed."""
    loaded = load(options, root, "evolve")
    _refuse_unknown(loaded.config)
    found = [*_checked(loaded.config, loaded.folders, root)]
    proposer = _proposer(loaded.config, root)
    found += _checked_proposer(loaded, proposer, root)
    if any(each.about == f"{PROPOSING}: agent" for each in found):
        proposer = None
    lived = (0, 0)
    if not any(each.about == "agent" for each in found):
        with cancel_on_signals(quiet=options.quiet) as cancellation:
            known = frozenset(each.said for each in found)
            more, lived = _lived(loaded, proposer, root, known, say, cancellation)
        found += more
    cells, proposals = lived
    faults = [each for each in found if each.level == "fault"]
    if options.json:
        print_json({"cells": cells, "proposals": proposals, "sound": not faults, "findings": found})
    else:
        for each in found:
            print(printable(f"{each.level}: {each.about}: {each.said}"))
        beside = " and a proposal" if proposals else ""
        print(f"rehearsed {cells} cells{beside}: {len(faults)} faults, {len(found) - len(faults)} notes")
    return ExitCode.CHECK if faults else ExitCode.VERDICT


def _refuse_unknown(config: Config) -> None:
    if config.agent.name not in GESTURES:
        raise ConfigError(
            f"agent {config.agent.name} cannot be rehearsed: nobody knows how a model would make it use a skill\n"
            f"  these can: {', '.join(GESTURES)}"
        )


def _proposer(config: Config, root: Path) -> Proposer | None:
    """The configured proposer; None where it cannot be made, as one that lacks its queue: it pays no session."""
    try:
        return None if config.proposer is None else create_proposer(config.proposer, root)
    except UserError:
        return None


def _checked_proposer(loaded: Loaded, proposer: Proposer | None, root: Path) -> Iterator[Finding]:
    """The same of a proposer that pays sessions, as far as its agent or model is another one."""
    if not isinstance(proposer, Asking):
        return
    try:
        sent = proposer.sent(loaded.config)
    except UserError as error:
        yield Finding("fault", PROPOSING, str(error))
        return
    if (sent.agent, sent.model, sent.effort) != (
        loaded.config.agent,
        loaded.config.model,
        loaded.config.effort,
    ):
        for each in _checked(sent, loaded.folders, root):
            yield structs.replace(each, about=f"{PROPOSING}: {each.about}")


def _checked(config: Config, folders: Sequence[Path], root: Path) -> Iterator[Finding]:
    """What the configuration alone tells, all of it and not only the first."""
    try:
        agent = create_agent(config.agent, root)
    except UserError as error:
        yield Finding("fault", "agent", str(error))
        return
    try:
        prices = read_means(config, agent, root, folders).prices
        if prices.find(config.model.id) is None:
            yield Finding(
                "fault", "price", f"model {config.model.id} has no price: its cost would be unknown"
            )
    except UserError as error:
        yield Finding("fault", "budget", str(error))
        prices = read_means(_free(config), agent, root, folders).prices
    said = set()
    for asked in (config, structs.replace(config, effort=None)):
        try:
            check_model(asked, agent, root, prices)
        except UserError as error:
            if str(error) not in said:
                said.add(str(error))
                yield Finding("fault", "model", str(error))


def _free(config: Config) -> Config:
    """The configuration without anything that costs or limits money, or that another run would notice."""
    return structs.replace(
        config,
        campaign=None,
        repeats=1,
        retries=0,
        breaker=0,
        timeout=min(config.timeout, _LONGEST),
        reuse=structs.replace(config.reuse, source="none"),
        budget=BudgetConfig(confirm=False, unpriced=1.0),
    )


def _scripted(config: Config, script: Path) -> Config:
    """The same with answers from a file, in the protocol of the configured upstream."""
    agent = config.agent
    if "protocol" in agent.options and agent.options["protocol"] is None:
        protocol = spoken(None, config.model)
        agent = structs.replace(agent, options={**agent.options, "protocol": protocol})
    model = structs.replace(
        config.model, upstream="scripted", script=str(script), key=None, cassettes=None, record=True
    )
    return structs.replace(_free(config), agent=agent, model=model)


def _lived(
    loaded: Loaded,
    proposer: Proposer | None,
    root: Path,
    known: frozenset[str],
    say: Say,
    cancellation: Cancellation,
) -> tuple[list[Finding], tuple[int, int]]:
    """What the cells and a proposal showed, and how many of each there were. An effort that is known to be refused is left out."""
    with TemporaryDirectory(prefix="rehearsal-") as scratch:
        script = Path(scratch) / "script.json"
        script.write_text(
            json.dumps(rehearsal_script({}, GESTURES[loaded.config.agent.name], skills="", output="")),
            "utf-8",
        )
        config = _scripted(loaded.config, script)
        for asked in (config, structs.replace(config, effort=None)):
            try:
                with open_ground(asked, root, loaded.folders, cancellation) as ground:
                    found, cells = _measured(ground, script, say, cancellation)
                    run, skills = RunFolder(_run_of(script)), canonical_skills(asked, root)
                    lived = (run, loaded.folders, cancellation)
                    more, proposals = rehearse_proposing(ground, proposer, _scripted, skills, *lived)
                    new = [each for each in more if each.said not in known]
                    return [*found, *new], (cells, proposals)
            except UserError as error:
                if str(error) not in known:
                    return [Finding("fault", "before the first cell", str(error))], (0, 0)
    return [], (0, 0)


def _run_of(script: Path) -> Path:
    return script.parent / "runs" / "rehearsal"


def _measured(
    ground: Ground, script: Path, say: Say, cancellation: Cancellation
) -> tuple[list[Finding], int]:
    sampled = structs.replace(ground, tasks=_sample(ground))
    config = ground.config
    layout = ground.sandbox.layout(ground.scratch / "cell")
    written = rehearsal_script(
        config.arms,
        GESTURES[ground.agent.name],
        skills=f"{layout.workspace}/{ground.agent.skill_root}",
        output=layout.output,
    )
    script.write_text(json.dumps(written), "utf-8")
    selected = required_arms(config.arms, None)
    arms = make_arms(sampled, selected, canonical_skills(config, ground.root))
    sealed = with_reuse(sampled, seal_plan(sampled, selected, 0, None), arms, cancellation)
    run = RunFolder(_run_of(script))
    run.path.mkdir(parents=True)
    say(f"rehearsing {len(sealed.plan.cells)} cells with {ground.agent_name}; nothing is paid")
    with open_watcher(sys.stderr, quiet=True, stream=None) as watcher:
        result = measure_plan(sampled, sealed, arms, run, run.path, watcher, cancellation)
    cassettes = run.path / CASSETTES
    exchanges = read_cassettes(cassettes) if cassettes.is_dir() else ()
    last = {(each.cell, each.session): said_last(each.request) for each in exchanges}
    unwritten = artifact_findings(result.rows, config.arms, last)
    return [
        *findings_of(result.rows, _printed(run, result.rows), unwritten),
        *effort_finding(config.effort, [each.request for each in exchanges]),
    ], len(result.rows)


def _printed(run: RunFolder, rows: Sequence[Row]) -> dict[str, str]:
    """What the visible checks printed, by task."""
    store = ObjectStore(run.objects)
    return {
        row.identity.task: store.get(row.artifacts[CHECK_OUTPUT].digest).decode("utf-8", "replace")
        for row in rows
        if CHECK_OUTPUT in row.artifacts
    }


def _sample(ground: Ground) -> tuple[Task, ...]:
    """For every arm the first task that it works on."""
    first = (
        next((task for task in ground.tasks if works_on(arm, task)), None)
        for arm in ground.config.arms.values()
    )
    return tuple({task.id: task for task in first if task is not None}.values())
