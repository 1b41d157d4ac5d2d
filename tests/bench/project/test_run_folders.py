"""The folders of runs: no two runs share one, and they are found again in their order."""

import os
import re
import threading
from pathlib import Path

import pytest

from bench.errors import RunError
from bench.project import RunFolder, create_run, list_runs


def test_fifty_runs_that_begin_at_once_get_fifty_folders(tmp_path: Path) -> None:
    start = threading.Barrier(50)
    runs: list[RunFolder] = []

    def begin() -> None:
        start.wait()
        runs.append(create_run(tmp_path, "0123456789abcdef"))

    threads = [threading.Thread(target=begin) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({run.path for run in runs}) == 50
    assert all(run.path.is_dir() for run in runs)


def test_a_folder_that_is_taken_is_never_given_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = iter(["aaaa", "aaaa", "aaaa", "bbbb", "aaaa", "bbbb", "cccc"])
    monkeypatch.setattr("bench.project.runs.secrets.token_hex", lambda _: next(chance))

    runs = [create_run(tmp_path, "abcdef") for _ in range(3)]

    assert len({run.path for run in runs}) == 3


def test_a_run_is_named_by_time_configuration_and_chance(tmp_path: Path) -> None:
    run = create_run(tmp_path, "0123456789abcdef")

    assert re.fullmatch(r"\d{8}T\d{6}Z-012345-[0-9a-f]{4}", run.id)
    assert run.path == tmp_path / "runs" / run.id


def test_runs_of_a_project_share_one_object_store(tmp_path: Path) -> None:
    stores = {create_run(tmp_path, "abcdef").objects for _ in range(2)}

    assert stores == {tmp_path / "runs" / "objects"}


def test_a_generation_has_one_folder_however_often_it_is_asked_for(tmp_path: Path) -> None:
    run = create_run(tmp_path, "abcdef")

    assert run.generation(2) == run.generation(2) == run.path / "gen-2"
    assert (run.path / "gen-2").is_dir()


def test_runs_are_listed_by_their_time_and_nothing_else_is_taken_for_a_run(tmp_path: Path) -> None:
    names = [
        f"202601{day:02}T000000Z-{(day * 7) % 31:06x}-0000"
        for day in sorted(range(1, 29), key=lambda day: day * 5 % 29)
    ]
    for name in (*names, "starter", "objects", "campaigns", ".starter-x"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    (tmp_path / "runs" / "20260103T000000Z-a-file").write_text("")

    assert [run.id for run in list_runs(tmp_path)] == sorted(names)


def test_a_project_without_runs_has_none(tmp_path: Path) -> None:
    assert list_runs(tmp_path) == ()


@pytest.mark.parametrize("place", ["no-such-folder", "file"])
def test_a_place_where_no_folder_can_be_made_is_refused_with_the_reason(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(RunError, match=r"the folder .*/runs cannot be made: (No such|Not a)"):
        create_run(tmp_path / place, "abcdef")


def test_a_file_where_the_runs_should_be_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")

    with pytest.raises(RunError, match=r"the folder .*/runs cannot be made: File exists"):
        create_run(tmp_path, "abcdef")


def test_a_runs_folder_that_takes_nothing_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "runs").symlink_to("/proc")

    with pytest.raises(RunError, match="no run folder can be made below"):
        create_run(tmp_path, "abcdef")


def test_of_two_runs_of_one_second_the_first_that_was_configured_is_the_older(tmp_path: Path) -> None:
    for name, began in (("20261130T000000Z-b", 1), ("20261130T000000Z-a", 2), ("20261129T000000Z-c", 3)):
        config = tmp_path / "runs" / name / "config.json"
        config.parent.mkdir(parents=True)
        config.write_text("{}")
        os.utime(config, ns=(began, began))
    assert [run.id[-1] for run in list_runs(tmp_path)] == ["c", "b", "a"]
