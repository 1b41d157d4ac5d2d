"""Whole generations with real agents, real sandboxes, hidden oracles and the gate: only the model is scripted."""

import gzip
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec import structs

from bench.results import Row, read_rows
from tests.e2e.agent_dialects import CLAUDE_CODE, CODEX, DIALECTS, agent_of
from tests.e2e.agent_rig import PLANTED, PRICES, SKILL, USAGE, Dialect, Stage, files_with, rules, says, total
from tests.e2e.commands import Done, overlay_of, run, start, starter_root

TASKS = "tasks.id='review-[ce]*-[aq]*'"  # two reviews, with other labels each
LABELS = {"review-cached-quotes": "cached-quotes", "review-expiry-alerts": "expiry-alerts"}
EFFORTS = (
    (CLAUDE_CODE, "claude_opus_5", "xhigh"),
    (CLAUDE_CODE, "claude_opus_4_5", "low"),
    (CODEX, "gpt_5_5", "low"),
)
BRIEF = {"input": 40, "cache_read": 0, "cache_write": 0, "output": 3}


@pytest.fixture(params=DIALECTS, ids=agent_of)
def dialect(request: pytest.FixtureRequest) -> Dialect:
    return request.param


def labels_of(root: Path, task: str) -> list[dict[str, Any]]:
    path = root / "suites" / "starter" / "labels" / f"{LABELS[task]}.json"
    return json.loads(path.read_text())["findings"]


def review(labels: Sequence[Mapping[str, Any]], moved: int = 0) -> str:
    """A review that finds these labels, or something that many lines below them."""
    findings = [
        {
            "id": f"f{number}", "severity": label["severity"], "path": label["path"],
            "line": label["line_start"] + moved, "end_line": label["line_end"] + moved,
            "category": label["category"], "scenario": "It goes wrong.", "evidence": "The line.",
            "recommendation": "Mend it.", "blocking": label["severity"] in ("critical", "high"),
        }
        for number, label in enumerate(labels)
    ]  # fmt: skip
    verdict = "request_changes" if any(each["blocking"] for each in findings) else "approve"
    return json.dumps({"schema_version": 1, "verdict": verdict, "findings": findings})


def descendants(pid: int) -> set[int]:
    """The processes below one, itself included."""
    found = {pid}
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found |= {each for child in task.read_text().split() for each in descendants(int(child))}
    return found


def words_of(pids: set[int]) -> set[str]:
    """The words of their command lines, paths up to the agent's folder."""
    words: set[str] = set()
    for pid in pids:
        with suppress(OSError):
            words |= set(Path(f"/proc/{pid}/cmdline").read_text().split("\0"))
    return {"/opt/agent" if word.startswith("/opt/agent/") else word for word in words}


def eventually(holds: Callable[[], bool]) -> bool:
    """Whether it comes to hold within a minute."""
    deadline = time.monotonic() + 60
    while not (held := holds()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return held


# what one review each can show
ONCE = ("promotion=threshold_review", "promotion.options.min_runs=1")


class Reviews:
    """The starter project, reviewed by a real agent whose model follows a script."""

    def __init__(self, folder: Path, dialect: Dialect) -> None:
        self.root, self.folder, self.dialect = starter_root(folder), folder, dialect
        self.replies: list[dict[str, Any]] = []
        prices = self.root / "conf" / "prices" / "test.json"
        prices.parent.mkdir(parents=True, exist_ok=True)
        prices.write_text(json.dumps(PRICES))

    def arm(self, arm: str, task: str, text: str, *, skill: bool = True) -> None:
        """What the model does in all cells of an arm and a task."""
        before = [says(self.dialect.call("read-skill", "code-review"))] if skill else []
        steps = [*before, says(self.dialect.call("write-review", text)), says()]
        self.replies += rules({"cell": f"{task}/{arm}/*"}, *steps)

    def evolve(self, *more: str) -> Done:
        (self.root / "script.json").write_text(json.dumps({"schema": "script/1", "replies": self.replies}))
        overlay = overlay_of(self.root, self.folder, lambda text: text + "\nLook at every line.\n")
        return run(
            "evolve", "--json", "--quiet", *self.dialect.overrides(), "model.script=script.json", TASKS,
            "proposer=manual", f"proposer.options.overlay={overlay}", "retries=0",
            *ONCE, *more, folder=self.folder, timeout=300, more=PLANTED,
        )  # fmt: skip


def rows_of(done: Done) -> dict[tuple[str, str, int], Row]:
    assert done.code == 0, done.err
    return {row.key: row for row in read_rows(Path(done.json["folder"]) / "gen-1" / "results.jsonl")[0]}


def counts(row: Row) -> tuple[int, int, int]:
    assert row.score is not None, row.outcome
    return row.score.true_positives, row.score.false_positives, row.score.false_negatives


def test_a_review_that_finds_more_is_promoted_with_the_tokens_and_dollars_that_were_declared(
    project: Path, dialect: Dialect
) -> None:
    reviews = Reviews(project, dialect)
    for task in LABELS:
        labels = labels_of(reviews.root, task)
        reviews.arm("no_skill", task, review([]), skill=False)
        reviews.arm("review", task, review(labels[:1]))
        reviews.arm("candidate_review", task, review(labels))
    done = reviews.evolve("repeats=2", "workers=8")
    rows = rows_of(done)
    assert done.json["decision"] == "promote"
    assert len(rows) == 12
    for (task, arm, _), row in rows.items():
        whole = len(labels_of(reviews.root, task))
        found = {"no_skill": 0, "review": 1, "candidate_review": whole}[arm]
        assert counts(row) == (found, 0, whole - found)
        assert row.outcome.skill_invoked is (None if arm == "no_skill" else True)
        declared = total([USAGE] * (2 if arm == "no_skill" else 3))
        assert {kind: getattr(row.usage, kind) for kind in USAGE} == declared
        assert row.usage.cost_usd == pytest.approx(dialect.dollars(declared), abs=1e-12)
        assert row.usage.source == "gateway"
    for key in PLANTED.values():
        assert not files_with(project, key.encode())


def test_a_finding_in_the_wrong_place_and_an_answer_without_the_skill_keep_the_incumbent(
    project: Path, dialect: Dialect
) -> None:
    reviews = Reviews(project, dialect)
    wrong, unused = LABELS
    for task in LABELS:
        labels = labels_of(reviews.root, task)
        reviews.arm("no_skill", task, review([]), skill=False)
        reviews.arm("review", task, review(labels[:1]))
    reviews.arm("candidate_review", wrong, review(labels_of(reviews.root, wrong)[:1], moved=-60))
    reviews.arm("candidate_review", unused, review(labels_of(reviews.root, unused)), skill=False)
    done = reviews.evolve("repeats=1")
    rows = rows_of(done)
    assert done.json["decision"] == "keep_incumbent"
    misplaced = rows[wrong, "candidate_review", 0]
    assert counts(misplaced) == (0, 1, len(labels_of(reviews.root, wrong)))
    assert (misplaced.outcome.status, misplaced.outcome.skill_invoked) == ("measured", True)
    assert rows[unused, "candidate_review", 0].outcome.kind == "skill-not-invoked"


@pytest.mark.parametrize(("usage", "decision"), [(BRIEF, "promote"), (USAGE, "keep_incumbent")])
def test_work_for_less_is_promoted_and_work_for_as_much_is_not(
    usage: dict[str, int], decision: str, tmp_path: Path, dialect: Dialect
) -> None:
    stage = Stage(tmp_path, dialect)
    stage.write("suites/mine/oracles/other", "43\n")
    arms = yaml.safe_load((tmp_path / "conf/arms/mine.yaml").read_text())
    candidate = {**arms["direct"], "role": "candidate", "candidate_of": "direct"}
    stage.write("conf/arms/mine.yaml", yaml.safe_dump({**arms, "candidate_direct": candidate}))
    text = (tmp_path / f".claude/skills/{SKILL}/SKILL.md").read_text()
    stage.write(f"overlay/.claude/skills/{SKILL}/SKILL.md", text + "Be brief.\n")
    for task, expected, answer in (("first", "expected", "42"), ("second", "other", "43")):
        stage.task(task, expected)
        for arm, used in (("direct", USAGE), ("candidate_direct", usage)):
            steps = (dialect.call("skill"), dialect.call("shell", f"echo {answer} > answer.txt"))
            when = {"cell": f"{task}/{arm}/*"}
            stage.reply(when, *(says(step, usage=used) for step in steps), says(usage=used))
    done = stage.command(
        "evolve", "proposer=manual", f"proposer.options.overlay={tmp_path / 'overlay'}",
        "promotion=threshold_cost", "promotion.options.min_runs=1", "workers=4",
    )  # fmt: skip
    rows = rows_of(done)
    assert {key: row.outcome.kind for key, row in rows.items()} == dict.fromkeys(rows)
    assert done.json["decision"] == decision


def test_an_effort_reaches_the_model_and_one_that_would_not_is_refused(tmp_path: Path) -> None:
    for dialect, model, effort in EFFORTS:
        stage = Stage(tmp_path / model, structs.replace(dialect, model=model))
        stage.situation("one", says())
        done = stage.command("bench", f"effort={effort}")
        recorded = next(Path(done.json["folder"]).glob("cassettes/*")).read_bytes()
        asked = json.loads(gzip.decompress(recorded).splitlines()[0])["request"]
        assert effort in (*asked.get("output_config", {}).values(), *asked.get("reasoning", {}).values())
        refused = stage.command("bench", "effort=tremendous")
        assert refused.code == 2
        assert "effort=tremendous would have no effect" in refused.err
        assert effort in refused.err
    refused = Stage(tmp_path / "none", CLAUDE_CODE)
    refused.situation("one", says())
    assert "it sends none to this model" in refused.command("bench", "effort=low").err


def test_nothing_is_left_of_a_run_that_was_killed(tmp_path: Path, dialect: Dialect) -> None:
    stage = Stage(tmp_path, dialect)
    stage.situation("hang", says(fault="hang_before_headers"))
    stage.command("bench", "timeout=1")  # writes the project's files
    process = start("bench", *stage.overrides("timeout=300"), folder=tmp_path)
    try:
        reached = eventually(
            lambda: {"bench.gateway.server", "/opt/agent"} <= words_of(descendants(process.pid))
        )
        family = descendants(process.pid)
    finally:
        process.kill()
        process.communicate()
    assert reached
    assert eventually(lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in family))


def test_a_missing_key_is_told_before_anything_is_started(project: Path, dialect: Dialect) -> None:
    upstream = dialect.provider
    done = run("bench", *dialect.overrides(), f"model.upstream={upstream}", folder=project)
    assert done.code == 2
    assert "_API_KEY is not set" in done.err
    assert not list((starter_root(project) / "runs").glob("2*"))


def test_without_containment_an_agent_is_refused_and_works_through_the_gateway_where_that_was_accepted(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path, CLAUDE_CODE)
    call = CLAUDE_CODE.call
    stage.situation("one", says(call("skill")), says(call("shell", "echo 42 > answer.txt")), says())
    refused = stage.command("bench", "sandbox=host")
    assert refused.code == 2
    assert "sandbox=host does not contain an agent that calls a model" in refused.err
    seen = stage.bench("sandbox=host", "sandbox.accept_no_containment=true")
    row = seen.rows["one"]
    assert (seen.end("one"), row.outcome.oracle_passed) == (("measured", None), True)
    assert row.usage.source == "gateway"
    assert {kind: getattr(row.usage, kind) for kind in USAGE} == total([USAGE] * 3)
    # what was planted for the provider is not the agent's, even where it could read everything
    assert not [kept for key in PLANTED.values() for kept in files_with(seen.folder, key.encode())]
