"""Installing the program of an agent: pinned, whole or not at all, once however many ask, without its scripts."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from bench.agents.installed import (
    Installed,
    Pin,
    choose_build,
    install_agent,
    list_agents,
    pin_named,
    read_pins,
    refuse_broken,
)
from bench.agents.installed.npm import install_packages, lock_of
from bench.agents.installed.record import agents_folder
from bench.config import load_config
from bench.errors import AgentError
from bench.sandbox import Layout, ReadOnly, open_sandbox
from tests.bench.agents.packed import NAME, build_of, integrity_of, pack, pin_of, serving

INSTALL = """
import sys, msgspec
from pathlib import Path
from bench.agents.installed import Pin, install_agent
pin = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Pin)
print("at:", install_agent(Path(sys.argv[2]), pin, pin.builds[0], lambda said: print(said, flush=True)).path)
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pack(tmp_path_factory.mktemp("packed"))


@pytest.fixture(autouse=True)
def cold_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What npm fetched for one test is not there for the next."""
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm-cache"))


def quiet(_: str) -> None: ...


def install(root: Path, pin: Pin) -> Installed:
    return install_agent(root, pin, pin.builds[0], quiet)


def what_is_there(root: Path, pin: Pin) -> Installed | None:
    (state,) = list_agents(root, {pin.name: pin})
    return state.installed


def start_installing(root: Path, pin: Pin, name: str = "pin.json") -> "subprocess.Popen[str]":
    root.mkdir(exist_ok=True)
    file = root / name
    file.write_bytes(msgspec.json.encode(pin))
    return subprocess.Popen(
        [sys.executable, "-c", INSTALL, str(file), str(root)], stdout=subprocess.PIPE, text=True
    )


def children_of(process: int) -> list[int]:
    listed = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(each) for each in listed]


def test_an_installed_program_is_found_and_runs(tmp_path: Path, archive: Path) -> None:
    pin = pin_of(build_of(archive))
    installed = install(tmp_path, pin)
    assert what_is_there(tmp_path, pin) == installed
    assert (installed.name, installed.version, installed.way) == ("tiny", "1.2.3", "npm")
    said = subprocess.run([installed.executable], capture_output=True, text=True, check=True).stdout
    assert said == "tiny 1.2.3\n"


def test_no_install_script_is_run_whatever_the_settings_say(
    tmp_path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("npm_config_ignore_scripts", "false")
    install(tmp_path, pin_of(build_of(archive)))
    assert not (archive.parent.parent / "script-ran").exists()


def test_nothing_is_installed_outside_of_the_project(
    tmp_path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("npm_config_prefix", str(tmp_path / "global"))
    monkeypatch.setenv("npm_config_global", "true")
    installed = install(tmp_path / "project", pin_of(build_of(archive)))
    assert installed.path.is_relative_to(tmp_path / "project" / "runs" / "prepared" / "agents")
    assert not (tmp_path / "global").exists()


def test_an_archive_that_is_not_the_pinned_one_is_refused_and_leaves_nothing(
    tmp_path: Path, archive: Path
) -> None:
    other = "sha512-" + "A" * 86 + "=="
    pin = pin_of(build_of(archive, integrity=other))
    with pytest.raises(AgentError, match="does not have the pinned integrity"):
        install(tmp_path, pin)
    assert what_is_there(tmp_path, pin) is None
    assert [each.name for each in agents_folder(tmp_path, "tiny").iterdir()] == [".lock"]


def test_a_registry_that_cannot_be_reached_is_named_as_such(tmp_path: Path, archive: Path) -> None:
    pin = pin_of(build_of(archive, address="http://127.0.0.1:9/tiny.tgz"))
    with pytest.raises(AgentError, match=r"registry cannot be reached \(ECONNREFUSED\)"):
        install(tmp_path, pin)


def test_without_npm_it_is_said_how_to_get_it(
    tmp_path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin = pin_of(build_of(archive))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AgentError, match=r"npm is not installed(.|\n)*apt-get install npm"):
        install(tmp_path, pin)


def test_a_package_without_the_program_is_refused(tmp_path: Path, archive: Path) -> None:
    build = msgspec.structs.replace(build_of(archive), shown=f"node_modules/{NAME}/bin/other")
    with pytest.raises(AgentError, match="holds no node_modules/tiny-agent/bin/other"):
        install(tmp_path, pin_of(build))


def test_what_npm_took_instead_of_the_pinned_package_is_noticed(
    tmp_path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here through an npm that writes another integrity down than it was asked for."""
    liar = tmp_path / "bin" / "npm"
    liar.parent.mkdir()
    liar.write_text(
        "#!/bin/sh\nmkdir -p node_modules\n"
        f'echo \'{{"packages":{{"node_modules/{NAME}":{{"integrity":"sha512-other"}}}}}}\''
        " > node_modules/.package-lock.json\n"
    )
    liar.chmod(0o755)
    monkeypatch.setenv("PATH", f"{liar.parent}:{os.environ['PATH']}")
    folder = tmp_path / "there"
    folder.mkdir()
    source = build_of(archive).source
    assert source.package == NAME
    with pytest.raises(AgentError, match="npm installed something else"):
        install_packages(source, folder)  # type: ignore[arg-type]


def test_a_killed_installation_leaves_nothing_that_counts(tmp_path: Path, archive: Path) -> None:
    with serving(archive) as registry:
        pin = pin_of(build_of(archive, address=registry.address))
        process = start_installing(tmp_path, pin)
        assert registry.asked.wait(60)
        (npm,) = children_of(process.pid)
        watched = os.pidfd_open(npm)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert select.select([watched], [], [], 60)[0], "npm outlived the command that started it"
    assert what_is_there(tmp_path, pin) is None
    assert any(agents_folder(tmp_path, "tiny").glob(".unfinished-*"))
    assert install(tmp_path, pin_of(build_of(archive))).version == "1.2.3"
    assert not any(agents_folder(tmp_path, "tiny").glob(".unfinished-*"))


def test_two_installations_at_once_fetch_once(tmp_path: Path, archive: Path) -> None:
    with serving(archive) as registry:
        pin = pin_of(build_of(archive, address=registry.address))
        first = start_installing(tmp_path, pin, "first.json")
        assert registry.asked.wait(60)
        second = start_installing(tmp_path, pin, "second.json")
        assert second.stdout is not None
        assert second.stdout.readline() == "waiting for another installation of tiny to end\n"
        registry.let.set()
        said_first, said_second = first.communicate()[0], second.communicate()[0]
        assert registry.requests == 1
    assert "already installed" in said_second
    assert said_first.splitlines()[-1] == said_second.splitlines()[-1]


def test_an_installed_program_is_not_fetched_again(tmp_path: Path, archive: Path) -> None:
    installed = install(tmp_path, pin_of(build_of(archive)))
    away = pin_of(build_of(archive, address="http://127.0.0.1:9/tiny.tgz"))
    assert install(tmp_path, away) == installed


def test_a_changed_program_is_refused_and_installed_anew(tmp_path: Path, archive: Path) -> None:
    pin = pin_of(build_of(archive))
    before = install(tmp_path, pin)
    before.executable.write_text("#!/bin/sh\necho evil\n")
    (state,) = list_agents(tmp_path, {"tiny": pin})
    assert (state.installed, "changed after it was installed" in state.reason) == (None, True)
    assert install(tmp_path, pin).digest == before.digest


def test_a_project_that_was_copied_keeps_its_programs(tmp_path: Path, archive: Path) -> None:
    pin = pin_of(build_of(archive))
    before = install(tmp_path, pin)
    os.utime(before.executable, (1, 1))
    assert what_is_there(tmp_path, pin) == before


def test_the_digest_is_of_the_program_and_not_of_the_way_it_came(tmp_path: Path, archive: Path) -> None:
    pin = pin_of(build_of(archive))
    first, second = install(tmp_path / "a", pin), install(tmp_path / "b", pin)
    assert first.digest == second.digest
    other = pack(tmp_path / "other", says="tiny 1.2.4")
    assert install(tmp_path / "c", pin_of(build_of(other))).digest != first.digest


def test_a_program_is_tried_in_the_sandbox(tmp_path: Path, archive: Path) -> None:
    (tmp_path / "evolve.toml").touch()
    config, _ = load_config([f"sandbox.scratch={tmp_path}"], root=tmp_path)
    sandbox = open_sandbox(config.sandbox)
    refuse_broken(install(tmp_path / "a", pin_of(build_of(archive))), sandbox)
    other = pack(tmp_path / "other", says="tiny 9.9.9")
    with pytest.raises(AgentError, match=r"installed as 1\.2\.3, but says that it is 9\.9\.9"):
        refuse_broken(install(tmp_path / "b", pin_of(build_of(other))), sandbox)


def test_a_sandbox_sees_the_program_and_nothing_beside_it(tmp_path: Path, archive: Path) -> None:
    installed = install(tmp_path, pin_of(build_of(archive)))
    start, mounts = installed.start(Layout("/workspace", "/home/agent", "/tmp", "/output"))
    assert start == ("/opt/agent/tiny",)
    assert mounts == (ReadOnly(installed.path, "/opt/agent/tiny"),)
    outside = Layout(*map(str, [tmp_path] * 4), contained=False)
    assert installed.start(outside)[0] == (str(installed.executable),)


def test_an_untested_version_is_refused_with_the_tested_range() -> None:
    with pytest.raises(AgentError, match=r"claude_code 1\.0\.0 is not supported: tested is 2\.1\.332"):
        choose_build(pin_named("claude_code"), "1.0.0", None)


def test_an_agent_that_does_not_exist_is_met_with_a_suggestion() -> None:
    with pytest.raises(AgentError, match="did you mean 'claude_code'"):
        pin_named("claude-code")


def test_a_way_that_an_agent_does_not_come_is_refused() -> None:
    assert choose_build(pin_named("claude_code"), None, "pip").way == "pip"
    with pytest.raises(AgentError, match="does not come through pip, only through npm"):
        choose_build(pin_named("pi"), None, "pip")


@pytest.mark.parametrize("pin", read_pins().values(), ids=lambda pin: pin.name)
def test_every_package_of_every_pin_has_its_integrity(pin: Pin) -> None:
    assert pin.covers(pin.pinned)
    assert {build.version for build in pin.builds if pin.covers(build.version)} >= {pin.pinned}
    for source in (build.source for build in pin.builds if build.way == "npm"):
        packages = lock_of(source)["packages"]  # type: ignore[arg-type]
        others = {path: each for path, each in packages.items() if path}
        assert others
        assert all(each["integrity"].startswith("sha512-") for each in others.values())
        assert all(each["resolved"].startswith("https://registry.npmjs.org/") for each in others.values())


def test_the_integrity_of_the_pin_is_what_npm_compares(tmp_path: Path, archive: Path) -> None:
    package = lock_of(build_of(archive).source)["packages"][f"node_modules/{NAME}"]  # type: ignore[arg-type]
    assert package["integrity"] == integrity_of(archive)
