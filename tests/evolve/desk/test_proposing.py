"""`evolve proposer=agent`, with a program as the agent in a real sandbox: what it sees, what becomes of what it leaves."""

import json
import signal
import time
from pathlib import Path

import pytest

from evolve.cli import main
from tests.e2e.commands import start
from tests.evolve.desk.proposing_project import BRIEF, MARKER, SECRET, SKILL, ProposingProject

Output = pytest.CaptureFixture[str]
QUIET = ("--quiet",)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProposingProject:
    """A fresh one, where commands are typed."""
    made = ProposingProject(tmp_path)
    monkeypatch.chdir(made.root)
    return made


def test_what_a_session_proposes_is_measured_and_promoted(project: ProposingProject) -> None:
    assert project.evolve(*QUIET) == 0
    promotion = json.loads((project.run / "gen-1" / "promotion.json").read_text())
    assert (promotion["decision"], promotion["metadata"]["idea"]) == ("promote", "Be brief")
    assert (project.run / "gen-1" / "proposal.md").read_text() == project.answer()["text"]
    assert project.paid() == (1, 1)


# Looks at every file that the sandbox shows, and tries to change what it was only shown.
_SNOOP = f"""
found = subprocess.run(["grep", "-rlsI", "{MARKER[:-1]}[{MARKER[-1]}]", "/workspace", "/home", "/output", "/opt", "/tmp", "/run", "/etc"], capture_output=True, text=True)
say(type="message", text="found: " + found.stdout)
for path in ("evidence/rows.json", "incumbent/{SKILL}"):
    try: open(paths["workspace"] + "/" + path, "a").write("x"); say(type="message", text="written: " + path)
    except OSError: pass
{BRIEF}
"""


def test_nothing_of_a_holdout_task_and_no_secret_is_anywhere_in_the_session_s_view(
    project: ProposingProject,
) -> None:
    project.judge_another()
    rows = [json.loads(line) for line in (project.run / "gen-1" / "results.jsonl").read_text().splitlines()]
    store = project.root / "runs" / "objects"
    seen = [
        row["artifacts"]["transcript-work"]["digest"] for row in rows if row["identity"]["split"] == "holdout"
    ]
    assert seen
    assert all(MARKER in (store / digest[:2] / digest[2:]).read_text() for digest in seen)

    project.proposes(_SNOOP)
    assert project.evolve(*QUIET) == 0
    told = project.told()
    assert MARKER not in told
    assert "held-out-task" not in told
    assert SECRET not in told
    assert "found: \n" in f"{told}\n"
    assert "written: " not in told
    # and what it was meant to see is there
    assert "Key [redacted] seen." in told
    assert "It rambles." in told
    assert told.count('"task": "one"') > 1
    assert "By hand: " in told  # the case of what lost on these skills
    assert "median change" not in told  # numbers of all tasks decided


def test_an_answer_is_found_again_after_a_crash_and_not_paid_twice(project: ProposingProject) -> None:
    assert project.evolve(*QUIET) == 0
    before = project.answer()
    project.forget(answer=False)
    project.proposes("sys.exit(7)")

    assert main(["resume", project.run.name, *QUIET]) == 0
    assert project.answer() == before
    assert project.paid() == (1, 0)
    promotion = json.loads((project.run / "gen-1" / "promotion.json").read_text())
    assert promotion["decision"] == "promote"


def test_a_session_that_was_lost_with_its_process_is_asked_again_and_both_count(
    project: ProposingProject,
) -> None:
    assert project.evolve(*QUIET) == 0
    project.forget(answer=True)
    assert main(["resume", project.run.name, *QUIET]) == 0
    assert project.paid() == (2, 1)
    assert project.answer()["text"].startswith("# Be brief")


def test_a_run_that_is_interrupted_while_a_proposal_is_written_ends_as_interrupted_and_has_no_answer(
    project: ProposingProject,
) -> None:
    project.proposes("import time; time.sleep(600)")
    command = start("evolve", *project.words, *QUIET, folder=project.root)
    while not any(b'"reserved"' in each.read_bytes() for each in project.root.glob("runs/*/spend.jsonl")):
        assert command.poll() is None
        time.sleep(0.05)
    command.send_signal(signal.SIGINT)
    printed, _ = command.communicate()
    assert command.returncode == 130
    assert "evolve resume" in printed
    assert not (project.proposing / "answer.json").exists()
    assert project.paid() == (1, 1)


def test_a_later_generation_that_gets_no_proposal_leaves_what_the_others_decided(
    project: ProposingProject, capsys: Output
) -> None:
    project.proposes("put(incumbent if 'Briefly' in incumbent else incumbent + 'Briefly.\\n'); argue()")
    assert project.evolve("generations=2", "--json") == 1
    printed = capsys.readouterr()
    (generation,) = json.loads(printed.out)["generations"]
    assert generation["decision"] == "promote"
    assert "identical to the incumbent" in printed.err
    assert (project.run / "champion").is_dir()


def test_a_run_whose_proposals_may_cost_money_asks_first_though_its_cells_are_free(
    project: ProposingProject, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    paid = ["model@proposer.model=claude_haiku_4_5", "proposer.agent.options.calls_model=true"]
    words = [*project.words, *paid, "budget.cell.usd=0.5", "--json"]
    assert main(["plan", *words]) == 0
    forecast = json.loads(capsys.readouterr().out)
    assert "at most $0.50 each" in forecast["proposing"]
    assert (forecast["cost_usd"], forecast["cost_at_most"]) == (None, 0.5)
    assert main([*words, "budget.confirm=true"]) == 2
    assert "may cost money" in capsys.readouterr().err
    assert not list(project.root.glob("runs/2*"))


def test_a_session_that_broke_is_told_and_paid_anew_only_when_the_run_goes_on(
    project: ProposingProject, capsys: Output
) -> None:
    project.proposes(f"{BRIEF}\nsys.exit(7)")
    assert project.evolve(*QUIET) == 1
    said = capsys.readouterr().err
    assert "the proposing session broke" in said
    assert "Traceback" not in said
    assert not (project.proposing / "answer.json").exists()
    assert project.paid() == (1, 1)

    project.proposes(BRIEF)
    assert main(["resume", project.run.name, *QUIET]) == 0
    assert project.paid() == (2, 2)
    assert (project.proposing / "transcript-0.jsonl").exists()


@pytest.mark.parametrize(
    ("does", "why"),
    [
        ('put(incumbent + "x"); os.symlink("/etc/passwd", overlay + "/more.md"); argue()', "symbolic link"),
        ('put(incumbent); os.rename(overlay, out + "/aside"); os.symlink("/", out + "/overlay/.claude/skills/craft"); argue()', "symbolic link"),
        ('put("#", "new.md"); argue()', "an overlay replaces files"),
        ('put(incumbent + "x"); open(out + "/overlay/run.sh", "w").write("id"); argue()', "is not inside a skill"),
        ('put(incumbent + "x"); argue("x" * (300 << 10))', "more than 262144 bytes"),
    ],
    ids=["link", "escape", "new file", "outside", "large case"],
)  # fmt: skip
def test_what_may_not_be_an_overlay_is_refused_with_its_reason_and_kept_to_look_at(
    project: ProposingProject, capsys: Output, does: str, why: str
) -> None:
    project.proposes(does)
    assert project.evolve(*QUIET) == 1
    said = capsys.readouterr().err
    assert why in said
    assert "Traceback" not in said
    assert (project.proposing / "transcript-0.jsonl").exists()
    assert project.paid() == (1, 1)
    assert not (project.run / "gen-1").exists()


def test_a_refused_answer_is_not_paid_again_when_the_run_goes_on(
    project: ProposingProject, capsys: Output
) -> None:
    project.proposes("put(incumbent); argue()")
    assert project.evolve(*QUIET) == 1
    capsys.readouterr()
    assert main(["resume", project.run.name, *QUIET]) == 1
    assert "identical to the incumbent" in capsys.readouterr().err
    assert project.paid() == (1, 1)


def test_a_plan_says_that_proposing_costs_a_session_and_a_budget_that_lacks_it_is_refused(
    project: ProposingProject, capsys: Output
) -> None:
    assert main(["plan", *project.words, "reuse=none"]) == 0
    assert "proposing: one session of command/1" in capsys.readouterr().out
    cells = ["reuse=none", "agent.options.deterministic=false"]
    assert main(["plan", *project.words, *cells, "budget.sessions=7"]) == 0
    assert main(["plan", *project.words, *cells, "budget.sessions=6"]) == 3
    assert "needs at least 7 sessions" in capsys.readouterr().err
    assert main(["plan", *project.words, *cells, "budget.cells=6"]) == 0


def test_an_agent_that_only_follows_rules_cannot_propose(project: ProposingProject, capsys: Output) -> None:
    words = [word for word in project.words if "proposer.agent" not in word]
    assert main(["plan", *words, "agent@proposer.agent=rulebook"]) == 2
    assert "needs a coding agent" in capsys.readouterr().err


def test_a_prompt_that_is_not_there_is_refused_before_anything_is_paid(
    project: ProposingProject, capsys: Output
) -> None:
    assert main(["plan", *project.words, "proposer.options.prompt=prompts/none.md"]) == 2
    assert "there is no prompt 'prompts/none.md'" in capsys.readouterr().err
