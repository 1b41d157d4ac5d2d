"""What every adapter of a real agent must do, whatever its model does: one run of situations for each agent."""

from collections.abc import Callable

import pytest

from bench.spend import JOURNAL, read_ledger
from tests.e2e.agent_dialects import DIALECTS, agent_of
from tests.e2e.agent_rig import SKILL, USAGE, Dialect, Seen, Stage, says, total
from tests.e2e.real_agents import Driven

TURNS = 20
CAP = 240_000  # tokens: room for some requests, as each holds back what it could use at most
MEASURED = ("measured", None)
BROKEN = ("failed", "provider-error")


@pytest.fixture(scope="module", params=DIALECTS, ids=agent_of)
def dialect(request: pytest.FixtureRequest) -> Dialect:
    return request.param


@pytest.fixture(scope="module")
def lived(dialect: Dialect, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """The situations that end by themselves."""
    stage = Stage(tmp_path_factory.mktemp(dialect.agent), dialect)
    skill, answer, shell = dialect.call("skill"), dialect.call("answer"), dialect.call
    stage.situation("skill-used", says(skill), says(answer), says())
    stage.situation("skill-not-used", says(answer), says())
    stage.situation("skill-fails", says(dialect.call("no-skill")), says(answer), says())
    stage.situation("forbidden-tool", says(skill), says(dialect.call("forbidden")), says(answer), says())
    stage.situation("retried", says(skill), {"error": {"status": 529}}, says(answer), says())
    for status in (401, 429, 500, 529):
        stage.situation(f"always-{status}", {"error": {"status": status}})
    stage.situation("malformed", says(text="Hm.", fault="malformed"))
    stage.situation("page", says(fault="html"))
    stage.situation("dropped", says(fault="drop_connection"))
    stage.situation("cut", says(skill), says(answer, fault="cut"), says(answer), says())
    stage.situation(
        "huge", says(skill), says(shell("shell", "yes x | head -c 3000000")), says(answer), says()
    )
    stage.situation("bytes", says(skill), says(shell("shell", r"printf '\377\376\n'")), says(answer), says())
    stage.situation("claims", says(skill), says(shell("shell", "exit 3")), says(text="I wrote it down."))
    if "subagent" in dialect.tools:
        stage.situation(
            "subagent",
            says(skill),
            says(dialect.call("subagent")),
            says(text="All is well."),
            says(answer),
            says(),
        )
    stage.situation("turns", says(skill), says(shell("shell", "true")))
    return stage.bench("timeout=120", f"agent.options.max_turns={TURNS}")


@pytest.fixture(scope="module")
def stopped(dialect: Dialect, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """The situations that something else must end."""
    stage = Stage(tmp_path_factory.mktemp(dialect.agent), dialect)
    skill = dialect.call("skill")
    stage.situation("hang-before", says(skill), says(fault="hang_before_headers"))
    stage.situation("hang-after", says(skill), says(fault="hang_after_headers"))
    stage.situation("tool-forever", says(skill), says(dialect.call("shell", "tail -f /dev/null")))
    dear = {"input": 30_000, "cache_read": 0, "cache_write": 0, "output": 10}
    stage.situation("budget", says(skill, usage=dear), says(dialect.call("shell", "true"), usage=dear))
    return stage.bench(f"timeout={dialect.seconds}", f"budget.cell.tokens={CAP}", "workers=4")


@pytest.fixture(autouse=True)
def told_of_the_module(request: pytest.FixtureRequest, drove: Callable[[Driven], None]) -> None:
    """The table at the end has the runs that several tests share, too."""
    for name in {"lived", "stopped"} & set(request.fixturenames):
        for each in request.getfixturevalue(name).driven():
            drove(each)


def test_a_skill_that_is_invoked_is_proven_and_the_work_is_judged(lived: Seen) -> None:
    assert lived.end("skill-used") == MEASURED
    assert lived.rows["skill-used"].outcome.skill_invoked is True


@pytest.mark.parametrize("task", ["skill-not-used", "skill-fails"])
def test_an_answer_without_the_skill_is_no_proof_of_it(task: str, lived: Seen) -> None:
    assert lived.end(task) == ("measured", "skill-not-invoked")
    assert lived.rows[task].outcome.oracle_passed is True


def test_tokens_and_dollars_are_those_that_the_model_declared(dialect: Dialect, lived: Seen) -> None:
    row = lived.rows["skill-used"]
    assert row.usage.source == "gateway"
    assert row.usage.requests == 3
    assert {kind: getattr(row.usage, kind) for kind in USAGE} == total([USAGE] * 3)
    assert row.usage.cost_usd == pytest.approx(dialect.dollars(total([USAGE] * 3)), abs=1e-12)


def test_a_forbidden_tool_fails_and_the_session_goes_on(lived: Seen) -> None:
    assert lived.end("forbidden-tool") == MEASURED


def test_a_subagent_is_counted_with_its_session(lived: Seen) -> None:
    if "subagent" not in lived.rows:
        pytest.skip("the agent has none")
    assert lived.end("subagent") == MEASURED
    assert lived.rows["subagent"].usage.requests == 5
    assert lived.rows["subagent"].usage.output == 5 * USAGE["output"]


def test_a_request_that_is_tried_again_costs_what_was_answered(lived: Seen) -> None:
    assert lived.end("retried") == MEASURED
    assert lived.rows["retried"].usage.output == 3 * USAGE["output"]
    assert [each["status"] for each in lived.requests("retried")] == [200, 529, 200, 200]


@pytest.mark.parametrize("task", ["always-401", "always-429", "always-500", "always-529", "page", "dropped"])
def test_a_failing_provider_is_not_the_agents_failure(task: str, lived: Seen, dialect: Dialect) -> None:
    assert lived.end(task) == BROKEN, lived.rows[task].outcome.detail
    assert len(lived.requests(task)) <= 12


def test_an_answer_with_a_malformed_part_is_charged_at_its_ceiling(lived: Seen) -> None:
    assert lived.end("malformed") in (BROKEN, ("measured", "skill-not-invoked"))  # some agents read over it
    assert {"malformed", "ceiling"} <= {
        value for each in lived.requests("malformed") for value in each.values() if isinstance(value, str)
    }


def test_of_a_cut_answer_the_total_is_unknown(lived: Seen) -> None:
    assert lived.end("cut") == MEASURED
    assert lived.rows["cut"].usage.output is None
    assert lived.rows["cut"].usage.cost_usd is None
    assert "ceiling" in [each["settled"] for each in lived.requests("cut")]


@pytest.mark.parametrize("task", ["huge", "bytes"])
def test_whatever_a_tool_prints_the_session_goes_on(task: str, lived: Seen) -> None:
    assert lived.end(task) == MEASURED


def test_an_agent_that_claims_success_after_a_failed_tool_is_judged_by_its_work(lived: Seen) -> None:
    assert lived.end("claims") == ("measured", "oracle-failed")
    assert lived.rows["claims"].outcome.skill_invoked is True


@pytest.mark.parametrize("task", ["hang-before", "hang-after"])
def test_a_model_that_hangs_is_not_the_agents_time_out(task: str, stopped: Seen) -> None:
    assert stopped.end(task) == BROKEN, stopped.rows[task].outcome.detail


def test_an_agent_that_is_asked_to_end_in_a_tool_is_counted_up_to_there(stopped: Seen) -> None:
    assert stopped.end("tool-forever") == ("measured", "agent-timeout")
    usage = stopped.rows["tool-forever"].usage
    assert usage.requests is not None
    assert usage.requests >= 2  # some ask their model again while the tool runs
    assert usage.output == usage.requests * USAGE["output"]
    assert stopped.rows["tool-forever"].outcome.skill_invoked is True


def test_a_budget_ends_the_session_before_it_is_passed(stopped: Seen) -> None:
    assert stopped.end("budget") == ("stopped", "budget-exhausted")
    spent = read_ledger(stopped.folder / JOURNAL).settled
    assert spent.tokens <= CAP * len(stopped.rows)
    assert stopped.rows["budget"].usage.output in range(10, 100)


def test_an_agent_that_goes_on_and_on_is_ended_after_its_turns(lived: Seen) -> None:
    assert lived.end("turns") == ("measured", "agent-gave-up")
    assert lived.rows["turns"].usage.requests == TURNS


def test_the_skill_is_found_where_the_agent_looks_and_nowhere_else(lived: Seen) -> None:
    transcript = lived.kept("skill-used", "transcript-work")
    assert SKILL.encode() in transcript
