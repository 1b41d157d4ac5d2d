"""What state a run is in, whatever happened to its files, and how that is shown."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from old_project import BENCH_RUN, EVOLVE_RUN, edit_json, run_of

from bench.spend import Amounts, Reserved, SessionName, Settled
from bench.digest import canonical_json
from bench.project import RunFolder, hold_run
from evolve.cli import main
from evolve.runs import RunState, read_run, read_runs
from evolve.runs.words import show_lines
from evolve.schemas import generated_schemas


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def half_measured(root: Path) -> RunFolder:
    """The run as it is while its second cell is at work, or after a kill then."""
    run = run_of(root)
    for name in ("promotion.json", "report.md"):
        (run.path / "gen-1" / name).unlink()
    shutil.rmtree(run.path / "champion")
    rows = run.path / "gen-1" / "results.jsonl"
    first, second, _ = lines_of(rows)
    rows.write_bytes(first + second[:100])
    return run


def state(root: Path, name: str = EVOLVE_RUN) -> RunState:
    return read_run(run_of(root, name))


def test_finished_runs_of_both_commands_are_listed_with_what_they_are(root: Path) -> None:
    evolve, bench = read_runs(root).runs
    assert (evolve.run, evolve.command, evolve.state, evolve.suite) == (EVOLVE_RUN, "evolve", "finished", "starter")
    assert (evolve.generations[0].decision, evolve.unapplied) == ("promote", True)
    assert (bench.run, bench.command, bench.state, bench.unapplied) == (BENCH_RUN, "bench", "finished", False)
    assert evolve.overrides == ('tasks.id="review-b*"',)
    assert evolve.size == sum(path.stat().st_size for path in run_of(root).path.rglob("*") if path.is_file())
    assert 0 < bench.objects_size < evolve.objects_size


def test_a_run_that_is_worked_on_is_running_and_says_by_whom_and_how_far(root: Path) -> None:
    with hold_run(half_measured(root), "evolve"):
        found = state(root)
    assert (found.state, found.generations[0].settled, found.generations[0].left) == ("running", 1, 2)
    assert str(os.getpid()) in found.why
    assert [line.split(":")[0] for line in found.last] == ["review-backup-command/no_skill/0"]


def test_a_killed_run_is_interrupted_and_says_what_is_left(root: Path) -> None:
    run = half_measured(root)
    assert (state(root).state, state(root).why) == ("interrupted", "2 of 3 cells left of generation 1")
    with hold_run(run, "evolve"):
        pass
    assert state(root).state == "interrupted"


@pytest.mark.parametrize(
    ("code", "expected"), [(0, "finished"), (1, "interrupted"), (3, "interrupted"), (130, "interrupted")]
)
def test_a_run_that_said_how_it_ended_is_in_that_state(root: Path, code: int, expected: str) -> None:
    with hold_run(half_measured(root), "evolve") as hold:
        hold.finish(code)
    assert state(root).state == expected


def test_evidence_that_is_unusable_with_nothing_left_is_an_end(root: Path) -> None:
    with hold_run(run_of(root), "evolve") as hold:
        hold.finish(1)
    assert (state(root).state, state(root).why) == ("finished", "exit code 1")


def test_cells_that_failed_or_were_stopped_are_left_and_those_that_were_measured_are_not(root: Path) -> None:
    path = run_of(root, BENCH_RUN).path / "results.jsonl"
    row = msgspec.json.decode(lines_of(path)[-1])
    row["outcome"] |= {"status": "stopped", "kind": "cancelled", "resolved": False}
    path.write_bytes(b"".join(lines_of(path)[:-1]) + canonical_json(row) + b"\n")
    found = state(root, BENCH_RUN)
    assert (found.state, found.generations[0].left, found.generations[0].statuses["stopped"]) == ("interrupted", 1, 1)


def test_a_row_that_was_taken_from_an_earlier_run_counts_as_done_and_as_reused(root: Path) -> None:
    path = half_measured(root).path / "gen-1" / "results.jsonl"
    row = msgspec.json.decode(lines_of(path)[0])
    row |= {"schema_version": 2, "reuse": {"row": "0" * 64, "measured_at": "2026-11-01T00:00:00Z"}}
    row["usage"]["cost_usd"] = 5.0
    path.write_bytes(canonical_json(row) + b"\n")
    (generation,) = state(root).generations
    assert (generation.reused, generation.settled, generation.left, generation.cost_usd) == (1, 1, 2, None)


SESSION = SessionName(generation=1, task="one", arm="review", repeat=0, attempt=0, session="review")


def test_what_was_spent_and_is_reserved_is_told_of_a_run_in_progress(root: Path) -> None:
    path = run_of(root).path / "spend.jsonl"
    entries = [
        {"entry": "opened", "schema_version": 1, "prices": "d"},
        Reserved(id=1, session=SESSION, amounts=Amounts(picodollars=2 * 10**12)),
        Settled(id=1, amounts=Amounts(picodollars=10**12 // 2), seconds=1.0, basis="agent"),
        Reserved(id=2, session=SESSION, amounts=Amounts(picodollars=3 * 10**12)),
    ]
    path.write_bytes(b"".join(canonical_json(each) + b"\n" for each in entries) + b'{"entry": "sett')
    spend = state(root).spend
    assert spend is not None
    assert (spend.sessions, spend.spent_usd, spend.reserved_usd) == (1, 0.5, 3.0)
    unknown = Settled(id=2, amounts=Amounts(), seconds=1.0, basis="agent", unknown=("usd",))
    path.write_bytes(b"".join(canonical_json(each) + b"\n" for each in (*entries, unknown)))
    assert (spend := state(root).spend) is not None
    assert (spend.sessions, spend.spent_usd, spend.reserved_usd) == (2, None, 0.0)
    path.write_bytes(b'{"entry": "opened", "schema_version": 99, "prices": "d"}\n')
    assert "schema_version 99 is not supported" in state(root).why


def test_a_run_that_its_own_limit_keeps_from_its_end_is_not_advised_to_go_on(root: Path) -> None:
    run = half_measured(root).path
    entries = [{"entry": "opened", "schema_version": 1, "prices": "d"}]
    entries += [Reserved(id=each, session=SESSION, amounts=Amounts(sessions=1)) for each in (1, 2)]
    (run / "spend.jsonl").write_bytes(b"".join(canonical_json(each) + b"\n" for each in entries))
    config = json.loads((run / "config.json").read_bytes())
    for most, advised in ((4, "resume"), (3, "run it again with a higher limit")):
        config["config"]["budget"] = {"sessions": most}
        (run / "config.json").write_text(json.dumps(config))
        assert advised in "\n".join(show_lines(state(root))), most


def test_earlier_rows_that_cells_were_taken_from_are_no_cells_themselves(root: Path) -> None:
    run = half_measured(root)
    whole = lines_of(Path(__file__).parents[2] / "fixtures" / "run-v1" / "runs" / EVOLVE_RUN / "gen-1" / "results.jsonl")
    (run.path / "gen-1" / "reused.jsonl").write_bytes(whole[2])
    (generation,) = state(root).generations
    assert (generation.reused, generation.settled, generation.left) == (0, 1, 2)


KILLED_BEFORE = ["config.json", "gen-1", "plan.json", "results.jsonl", "promotion.json", "report.md"]


@pytest.mark.parametrize("step", KILLED_BEFORE)
def test_a_run_that_was_killed_at_any_step_is_listed(root: Path, step: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_of(root)
    for name in KILLED_BEFORE[KILLED_BEFORE.index(step) :]:
        for path in (run.path / name, run.path / "gen-1" / name):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    found = state(root)
    expected = {"config.json": "refused", "report.md": "finished"}.get(step, "interrupted")
    assert found.state == expected
    assert found.why or expected == "finished"
    assert main(["runs", "list", "--root", str(root)]) == 0
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "damage", "said"),
    [
        ("config.json", b"{", "config.json cannot be read"),
        ("config.json", b"\xff\xfe", "config.json cannot be read"),
        ("gen-1/plan.json", b"[]", "plan.json cannot be read"),
        ("gen-1/promotion.json", b'{"schema_version": 1}', "promotion.json cannot be read"),
        ("gen-1/results.jsonl", b"{}\n", "line 1 is not a row"),
        ("gen-1/results.jsonl", b"[" * 100_000 + b"\n", "line 1 is not a row"),
        ("applied.jsonl", b"?\n", "line 1 is not a record of an apply"),
    ],
)
def test_a_damaged_file_is_named_and_the_other_runs_are_still_listed(
    root: Path, name: str, damage: bytes, said: str
) -> None:
    (run_of(root).path / name).write_bytes(damage)
    evolve, bench = read_runs(root).runs
    assert evolve.state == "refused"
    assert said in evolve.why
    assert bench.state == "finished"


@pytest.mark.parametrize("name", ["config.json", "gen-1/plan.json", "gen-1/results.jsonl", "gen-1"])
def test_a_folder_or_a_file_in_place_of_the_other_is_named(root: Path, name: str) -> None:
    path = run_of(root).path / name
    if path.is_dir():
        shutil.rmtree(path)
        path.write_text("")
    else:
        path.unlink()
        path.mkdir()
    assert state(root).state in {"refused", "interrupted"}
    assert state(root).why


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("config.json", {"schema": "config/99"}),
        ("gen-1/plan.json", {"schema_version": 99}),
        ("gen-1/promotion.json", {"schema_version": 99}),
    ],
)
def test_a_future_version_is_refused_by_name_with_what_to_do(root: Path, name: str, change: dict[str, Any]) -> None:
    edit_json(run_of(root).path / name, lambda content: content.update(change))
    found = state(root)
    assert found.state == "refused"
    assert "99" in found.why
    assert "use the version of incumbent that wrote it" in found.why


def test_a_run_that_is_a_link_is_named_as_one(root: Path, tmp_path: Path) -> None:
    run_of(root).path.rename(tmp_path / "elsewhere")
    run_of(root).path.symlink_to(tmp_path / "elsewhere")
    assert (state(root).state, state(root).why) == ("refused", "it is a link: it lies elsewhere")


def test_names_that_drive_a_terminal_are_shown_escaped(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(run_of(root).path, root / "runs" / "20261201T000000Z-\x1b[2J\nx")
    edit_json(run_of(root).path / "config.json", lambda content: content["config"]["suite"].update(name="\x1b]0;evil\x07"))
    assert main(["runs", "list", "--root", str(root)]) == 0
    assert main(["runs", "show", EVOLVE_RUN, "--root", str(root)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\\x1b" in out


def test_a_very_long_name_does_not_break_the_table(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_of(root).path.rename(root / "runs" / ("20261130T200026Z-" + "x" * 230))
    assert main(["runs", "list", "--root", str(root)]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) < 250


def test_what_is_printed_as_data_fits_its_schema(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, name in (
        (["list"], "run-list"),
        (["show", BENCH_RUN], "run-state"),
        (["prune", "--keep", "1", "--dry-run"], "runs-pruned"),
    ):
        assert main(["runs", *words, "--json", "--root", str(root)]) == 0
        jsonschema.validate(msgspec.json.decode(capsys.readouterr().out), generated_schemas()[name])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show"], "takes one word"),
        (["show", "a", "b"], "takes one word"),
        (["show", "nothing"], "there is no run 'nothing'"),
        (["list", "x"], "evolve runs list takes no x"),
        (["list", "--follow"], "takes no --follow"),
        (["prune"], "takes --keep N"),
        (["prune", "--keep", "1", "--older-than", "3"], "takes --keep N"),
        (["prune", "--keep", "-1"], "fewer than no runs"),
        (["prune", "--older-than", "nan"], "is no number of days"),
        (["prune", "--older-than", "1e300"], "is no number of days"),
        (["prune", "--older-than", "-1"], "is no number of days"),
        (["list", "--dry-run"], "removes nothing"),
    ],
)
def test_words_that_fit_no_action_are_refused(
    root: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", *words, "--root", str(root)]) == 2
    assert said in capsys.readouterr().err


def test_without_a_project_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["runs", "list"]) == 2
    assert "there is no project here" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "evolve.toml").write_text("")
    assert main(["runs", "list"]) == 0
    assert "no runs in" in capsys.readouterr().out
