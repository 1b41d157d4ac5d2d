"""The Python that a task asks for: found by every command of a cell, never writable, prepared once."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cell_project import VERSION, CellProject, make_wheel

from bench.cli import main
from bench.environments import PreparedEnvironment, prepare_environments
from bench.environments.virtual import environment_key, loosen_scripts, make_virtual
from bench.errors import SuiteError
from bench.suite import Environment, Task

CODE = "import sys\nVALUE = 42\ndef main():\n    print('script', VALUE, sys.argv[1:])\n"
PYTHON = {"python": True}
WITH_PACKAGES = {"python": True, "requirements": "requirements.txt"}
WHERE = "import sys; print(sys.prefix, sys.version_info[:3] == tuple(map(int, sys.argv[1].split('.'))))"
VERSIONS = ".".join(map(str, sys.version_info[:3]))


def with_wheel(project: CellProject) -> Path:
    """A task that asks for a package, and the folder that holds the package's wheel."""
    wheels = project.root.parent / "wheels"
    project.write("suites/mine/requirements.txt", make_wheel(wheels, "tinydep", CODE))
    project.tree({"a.txt": "a\n"})
    project.arm("one")
    project.task("t", "tinydep oracle > /tmp/out && grep -q 42 /tmp/out", environment=WITH_PACKAGES)
    return wheels


def prepare(
    project: CellProject, wheels: Path | None, *, contained: bool = True
) -> tuple[PreparedEnvironment, ...]:
    tasks = [task_with(project.root / "suites/mine/requirements.txt")]
    return prepare_environments(
        project.root, tasks, contained=contained, index=wheels, progress=lambda _: None
    )


def task_with(requirements: Path) -> Task:
    environment = Environment(python=True, requirements=requirements.read_bytes())
    return Task(
        id="t",
        class_="trivial",
        split="train",
        source=None,
        change=None,
        prompt="",
        setup="",
        verify="",
        oracle=None,
        environment=environment,
    )  # type: ignore[arg-type]  # only the environment is looked at


def test_every_command_of_a_task_finds_the_interpreter_first_on_its_path(project: CellProject) -> None:
    project.tree({"a.txt": "a\n"})
    look = f'python3 -c "{WHERE}" {VERSIONS}; python -c "{WHERE}" {VERSIONS}; command -v python3'
    project.arm("one")
    project.agent(f"sh({look!r}); sh('cat setup.txt')")
    seen = "/opt/venv True\n/opt/venv True\n/opt/venv/bin/python3\n"
    same = f'test "$({look})" = "$(cat expected.txt)"'
    project.tree({"expected.txt": seen})
    project.task("t", same, setup=f"{{ {look}; }} > setup.txt", verify=same, environment=PYTHON)
    found = project.measure()
    assert found.said("t", "one") == seen * 2
    row = found.rows["t", "one"]
    # nothing was changed, so the cell is not resolved; but both checks saw what the session saw
    assert (row.outcome.verify_passed, row.outcome.oracle_passed) == (True, True)


def test_a_task_that_asks_for_no_python_gets_none(project: CellProject) -> None:
    project.tree({"a.txt": "a\n"})
    project.arm("one")
    project.task("t", "true")
    project.agent("sh('ls /opt/venv 2>&1; echo $PATH')")
    assert "/opt/venv/bin" not in project.measure().said("t", "one")


def test_the_interpreter_brings_nothing_that_is_installed_on_the_host(project: CellProject) -> None:
    project.tree({"a.txt": "a\n"})
    project.arm("one")
    project.task("t", "true", environment=PYTHON)
    project.agent(
        """sh('python3 -c "import msgspec" 2>&1 | tail -1; python3 -c "import json, ssl, sqlite3; print(1)"')"""
    )
    assert project.measure().said("t", "one") == "ModuleNotFoundError: No module named 'msgspec'\n1\n"


def test_nothing_that_a_session_runs_leaves_caches_among_its_changes(project: CellProject) -> None:
    project.tree({"module.py": "x = 1\n"})
    project.arm("one")
    project.task("t", "true", environment=PYTHON)
    project.agent("sh('python3 -c \"import module\"')")
    change = project.measure().rows["t", "one"].change
    assert change is not None
    assert change.files == 0


def test_requirements_are_installed_once_and_found_by_every_command(project: CellProject) -> None:
    wheels = with_wheel(project)
    project.tasks[0] |= {"setup": "tinydep setup > setup.txt", "verify": "tinydep verify"}
    project.agent(
        "sh('cat setup.txt; tinydep a b; python3 -c \"import tinydep; print(tinydep.__file__)\"; touch /opt/venv/x || echo refused > new')"
    )
    (first,) = prepare(project, wheels)
    (again,) = prepare(project, None)
    assert (first.fresh, again.fresh, first.folder == again.folder) == (True, False, True)
    found = project.measure()
    assert found.said("t", "one") == (
        f"script 42 ['setup']\nscript 42 ['a', 'b']\n/opt/venv/lib/python{VERSION}/site-packages/tinydep.py\n"
    )
    assert found.outcome("t", "one") == ("measured", None)
    assert "+refused" in found.patch("t", "one")


def test_an_environment_holds_no_path_of_the_place_where_it_was_built(project: CellProject) -> None:
    (made,) = prepare(project, with_wheel(project))
    place = str(project.root).encode()
    files = [path for path in made.folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert any(path.suffix == ".pyc" for path in files)
    assert [path for path in files if place in path.read_bytes()] == []
    assert [path.name for path in made.folder.parent.iterdir()] == [made.folder.name]


def test_without_containment_the_path_leads_to_the_real_folder(project: CellProject) -> None:
    wheels = with_wheel(project)
    project.agent("sh('tinydep x; command -v tinydep; echo done > new')")
    (made,) = prepare(project, wheels, contained=False)
    found = project.measure("sandbox=host", "sandbox.accept_no_containment=true")
    assert found.said("t", "one") == f"script 42 ['x']\n{made.folder}/bin/tinydep\n"
    assert found.outcome("t", "one") == ("measured", None)


@pytest.mark.parametrize("sandbox", ["bubblewrap", "host"])
def test_a_suite_whose_environment_is_not_prepared_is_refused_with_the_command(
    project: CellProject, sandbox: str
) -> None:
    with_wheel(project)
    project.task("u", "true", environment=WITH_PACKAGES)
    with pytest.raises(SuiteError) as caught:
        project.measure(f"sandbox={sandbox}", "sandbox.accept_no_containment=true")
    host = " sandbox=host" if sandbox == "host" else ""
    assert str(caught.value) == (
        "the Python environment of task `t` and 1 more is not prepared for this Python\n"
        f"  run `bench prepare mine{host}`"
    )
    assert not (project.root / "runs").exists()


def test_tasks_that_are_left_out_need_no_environment(project: CellProject) -> None:
    with_wheel(project)
    project.task("u", "true")
    assert set(project.measure("tasks.id=u").rows) == {("u", "one")}


def test_a_package_of_another_hash_is_refused_and_nothing_is_left(project: CellProject) -> None:
    wheels = with_wheel(project)
    file = project.root / "suites/mine/requirements.txt"
    file.write_text(file.read_text()[:-9] + "00000000\n")
    with pytest.raises(
        SuiteError, match=r"the requirements of task `t` cannot be installed[\s\S]*DO NOT MATCH THE HASHES"
    ):
        prepare(project, wheels)
    assert list((project.root / "runs/prepared/environments").iterdir()) == []


def test_a_package_that_needs_another_which_is_not_pinned_is_refused(project: CellProject) -> None:
    wheels = with_wheel(project)
    make_wheel(wheels, "other", CODE)
    project.write("suites/mine/requirements.txt", make_wheel(wheels, "needy", CODE, ["other"]))
    with pytest.raises(SuiteError, match=r"every package that it needs must be pinned[\s\S]*other"):
        prepare(project, wheels)


def test_an_environment_is_known_by_its_requirements_and_its_interpreter() -> None:
    environments = [
        Environment(python=True),
        Environment(python=True, requirements=b"a"),
        Environment(python=True, requirements=b"b"),
    ]
    keys = {
        environment_key(each, python)
        for each in environments
        for python in ("/opt/python/bin/python3", "/usr/bin/python3")
    }
    assert len(keys) == 6


@pytest.mark.parametrize("start", ["#!{python}\n", "#!/bin/sh\n'''exec' {python} \"$0\" \"$@\"\n' '''\n"])
def test_a_script_finds_the_interpreter_beside_it_wherever_the_environment_is(
    tmp_path: Path, start: str
) -> None:
    built, moved = tmp_path / "built with blanks", tmp_path / "moved"
    make_virtual(built, sys.executable)
    script = built / "bin" / "tool"
    script.write_text(
        start.format(python=built / "bin" / "python3") + "import sys\nprint(sys.prefix, sys.argv[1:])\n"
    )
    script.chmod(0o755)
    (built / "bin" / "foreign").write_bytes(b"#!/bin/sh\necho unchanged\n")
    (built / "bin" / "binary").write_bytes(b"\x7fELF" + str(built).encode())
    loosen_scripts(built)
    built.rename(moved)
    done = subprocess.run([moved / "bin" / "tool", "a b"], capture_output=True, text=True, check=True)
    assert done.stdout == f"{moved} ['a b']\n"
    assert (moved / "bin" / "foreign").read_bytes() == b"#!/bin/sh\necho unchanged\n"
    assert (moved / "bin" / "binary").read_bytes().startswith(b"\x7fELF")


def test_the_command_prepares_the_environments_of_a_suite(
    project: CellProject, capsys: pytest.CaptureFixture[str]
) -> None:
    wheels = with_wheel(project)
    project.overrides()
    arguments = ["prepare", "mine", "--index", str(wheels), "--root", str(project.root)]
    assert main([*arguments, "--json"]) == 0
    (made,) = json.loads(capsys.readouterr().out)["environments"]
    assert (made["tasks"], made["fresh"]) == (["t"], True)
    assert Path(made["folder"], "bin", "tinydep").is_file()
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert said.out.startswith("suite mine: 1 Python environments for 1 tasks, in ")
    assert said.err == "already prepared: the Python environment of task `t`\n"


def test_a_suite_with_nothing_to_prepare_says_so(
    project: CellProject, capsys: pytest.CaptureFixture[str]
) -> None:
    project.tree({"a.txt": "a\n"})
    project.task("t", "true", environment=PYTHON)
    project.arm("one")
    project.overrides()
    assert main(["prepare", "mine", "--root", str(project.root)]) == 2
    assert "suite mine needs no preparing: it lies in" in capsys.readouterr().err
    assert main(["prepare", "mine", "--index", "/no/where", "--root", str(project.root)]) == 2
    assert "--index /no/where is not a folder of wheels" in capsys.readouterr().err
