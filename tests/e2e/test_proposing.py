"""`evolve proposer=agent` with the real Claude Code and codex: only their model is scripted."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from bench.gateway import read_cassettes
from bench.spend import PROPOSER, Reserved, Settled, read_journal
from tests.e2e.agent_dialects import CODEX, HAIKU
from tests.e2e.agent_rig import PLANTED, USAGE, files_with, rules, says
from tests.e2e.commands import run
from tests.e2e.real_agents import Driven, real_agent
from tests.evolve.desk.proposing_project import MARKER, SECRET, SKILL, ProposingProject

_PICODOLLARS = 10**12
_CASE = "# Say less\n\n**Pattern.** Four turns where one would do.\n"


def test_claude_code_reads_the_evidence_and_its_overlay_is_measured_and_promoted(
    tmp_path: Path, drove: Callable[[Driven], None]
) -> None:
    project = ProposingProject(tmp_path)
    skill = (project.root / SKILL).read_text()
    look = "cat evidence/*.json evidence/*.jsonl; ls -R .; echo x > incumbent/new.md || echo refused"
    replies = rules(
        {"session": "propose"},
        says({"name": "Bash", "input": {"command": look, "description": "look"}}),
        says(
            {
                "name": "Write",
                "input": {"file_path": f"/output/overlay/{SKILL}", "content": f"{skill}Briefly.\n"},
            }
        ),
        says({"name": "Write", "input": {"file_path": "/output/proposal.md", "content": _CASE}}),
        says(),
    )
    (project.root / "script.json").write_text(json.dumps({"schema": "script/1", "replies": replies}))
    judged = run(
        "evolve",
        "--quiet",
        *project.plain,
        "proposer=manual",
        "proposer.options.overlay=worse",
        folder=project.root,
    )
    assert judged.code == 0, judged.err

    claude = real_agent("claude_code")
    own = [
        "proposer=agent", "proposer.queue=queue.jsonl",
        "agent@proposer.agent=claude_code", f"proposer.agent.options.program={claude.executable}",
        "model@proposer.model=claude_haiku_4_5", "proposer.model.upstream=scripted", "proposer.model.script=script.json",
        "budget.usd=1", "budget.cell.usd=0.5",
    ]  # fmt: skip
    done = run("evolve", "--json", "--quiet", *project.plain, *own, folder=project.root, more=PLANTED)
    assert done.code == 0, done.err
    (generation,) = done.json["generations"]
    assert (generation["decision"], generation["idea"]) == ("promote", "Say less")

    # what was paid is what the script declared, to the token
    answer = project.answer()
    used = answer["report"]["usage"]
    assert {kind: used[kind] for kind in USAGE} == {kind: 4 * count for kind, count in USAGE.items()}
    assert (used["requests"], used["source"]) == (4, "gateway")
    entries = read_journal(project.run / "spend.jsonl")
    (reserved,) = [each for each in entries if isinstance(each, Reserved) and each.session.arm == PROPOSER]
    (settled,) = [each for each in entries if isinstance(each, Settled) and each.id == reserved.id]
    dollars = sum(Decimal(str(HAIKU[kind])) * 4 * count for kind, count in USAGE.items()) / 10**6
    assert (settled.basis, settled.amounts.picodollars) == ("gateway", dollars * _PICODOLLARS)
    assert (settled.amounts.sessions, settled.amounts.cells) == (1, 0)

    # the model was sent the training split's evidence, and nothing that is held out or secret
    requests = [json.dumps(each.request) for each in read_cassettes(project.proposing / "cassettes")]
    assert len(requests) == 4
    assert "It rambles." in requests[-1]
    assert "refused" in requests[-1]
    for word in (MARKER, "held-out-task", SECRET, *PLANTED.values()):
        assert not any(word in each for each in requests), word
        assert not files_with(project.proposing, word.encode()), word
    drove(Driven("claude_code", claude.version, 1, used["requests"]))


def test_codex_that_goes_on_and_on_gets_no_more_than_its_turns(
    tmp_path: Path, drove: Callable[[Driven], None]
) -> None:
    project = ProposingProject(tmp_path)
    replies = rules({"session": "propose"}, *[says(CODEX.call("shell", "true"))] * 6)
    (project.root / "script.json").write_text(json.dumps({"schema": "script/1", "replies": replies}))
    codex = real_agent("codex")
    own = [
        "proposer=agent", "agent@proposer.agent=codex", f"proposer.agent.options.program={codex.executable}",
        "proposer.agent.options.max_turns=2", "model@proposer.model=gpt_5_5", "proposer.model.upstream=scripted",
        "proposer.model.script=script.json",
    ]  # fmt: skip
    done = run("evolve", "--quiet", *project.plain, *own, folder=project.root, more=PLANTED)
    assert done.code == 1, done.err
    assert "Traceback" not in done.err
    answered = read_cassettes(project.proposing / "cassettes")
    assert len(list(answered)) == 2
    drove(Driven("codex", codex.version, 1, 2))
