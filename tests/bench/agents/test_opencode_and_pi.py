"""How opencode and pi are started: the protocol, the effort, what is written into their homes, what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from bench.agents import SessionRequest, SkillPlace, ToolPlace, create_agent
from bench.agents.installed import Installed
from bench.agents.opencode import OpenCode
from bench.agents.opencode.adapter import _Options as OpenCodeOptions
from bench.agents.pi import Pi
from bench.agents.pi.adapter import _Options as PiOptions
from bench.config import AgentConfig, ModelConfig
from bench.errors import AgentError
from bench.gateway import Way
from bench.sandbox import Layout, ReadOnly

INSIDE = Layout("/workspace", "/home/agent", "/tmp", "/output")
WAY = Way(prefix=(), mounts=(), origin="http://127.0.0.1:8787", token="t0k3n")
ANTHROPIC = ModelConfig(name="m", id="model-1", upstream="anthropic", context=100_000, max_output=20_000)
OPENAI = structs.replace(ANTHROPIC, upstream="openai")
SCRIPTED = structs.replace(ANTHROPIC, upstream="scripted")
REQUEST = SessionRequest(
    name="work",
    kind="work",
    prompt="Do it.",
    artifact="/output/notes.md",
    skills=(SkillPlace("greet", "/workspace/.claude/skills/greet"),),
    effort=None,
    model="model-1",
    seed=0,
    way=WAY,
    served=ANTHROPIC,
)
MCP = ToolPlace(name="finder", kind="mcp", command=("/opt/finder", "--serve"))


def program(name: str) -> Installed:
    return Installed(
        name=name,
        version="1.0.0",
        path=Path("/there/node_modules"),
        digest="d",
        way="npm",
        program="pack/start",
        interpreter=Path("/usr/bin/node") if name == "pi" else None,
        tools="" if name == "pi" else "tools/bin",
    )


def opencode(**options: Any) -> OpenCode:
    return OpenCode(OpenCodeOptions(**options), program("opencode"))


def pi(**options: Any) -> Pi:
    return Pi(PiOptions(**options), program("pi"))


def configured(request: SessionRequest, **options: Any) -> dict[str, Any]:
    environment = opencode(**options).command(request, INSIDE).environment
    found: dict[str, Any] = json.loads(environment["OPENCODE_CONFIG_CONTENT"])
    return found


def provider_of_pi(request: SessionRequest, **options: Any) -> dict[str, Any]:
    home = pi(**options).command(request, INSIDE).home
    found: dict[str, Any] = json.loads(home[".pi/agent/models.json"])["providers"]["gateway"]
    return found


@pytest.mark.parametrize(
    ("served", "chosen", "client", "api"),
    [
        (ANTHROPIC, None, "@ai-sdk/anthropic", "anthropic-messages"),
        (OPENAI, None, "@ai-sdk/openai", "openai-responses"),
        (SCRIPTED, None, "@ai-sdk/openai-compatible", "openai-completions"),
        (SCRIPTED, "anthropic_messages", "@ai-sdk/anthropic", "anthropic-messages"),
        (OPENAI, "openai_chat", "@ai-sdk/openai-compatible", "openai-completions"),
    ],
)
def test_what_is_spoken_is_what_was_chosen_else_what_the_upstream_speaks(
    served: ModelConfig, chosen: Any, client: str, api: str
) -> None:
    request = structs.replace(REQUEST, served=served)
    assert configured(request, protocol=chosen)["provider"]["gateway"]["npm"] == client
    assert provider_of_pi(request, protocol=chosen)["api"] == api


def test_a_chosen_protocol_is_the_only_one_that_it_speaks() -> None:
    for agent in (opencode(protocol="openai_chat"), pi(protocol="openai_chat")):
        assert agent.protocols == ("openai_chat",)
    assert len(opencode().protocols) == len(pi().protocols) == 3


def test_each_protocol_gets_the_base_address_that_its_client_expects() -> None:
    assert provider_of_pi(REQUEST)["baseUrl"] == "http://127.0.0.1:8787"
    assert provider_of_pi(structs.replace(REQUEST, served=OPENAI))["baseUrl"] == "http://127.0.0.1:8787/v1"
    assert configured(REQUEST)["provider"]["gateway"]["options"]["baseURL"] == "http://127.0.0.1:8787/v1"


def test_an_effort_is_sent_by_the_name_that_the_protocol_has_for_it() -> None:
    def options(served: ModelConfig) -> Any:
        request = structs.replace(REQUEST, effort="low", served=served)
        return configured(request)["provider"]["gateway"]["models"]["model-1"]["options"]

    assert options(ANTHROPIC) == {"effort": "low"}
    assert options(OPENAI) == {"reasoningEffort": "low"}
    assert configured(REQUEST)["provider"]["gateway"]["models"]["model-1"]["options"] == {}
    assert "--thinking" not in pi().command(REQUEST, INSIDE).argv
    argv = pi().command(structs.replace(REQUEST, effort="low"), INSIDE).argv
    assert argv[argv.index("--thinking") + 1] == "low"


def test_efforts_that_would_be_sent_as_another_one_are_not_listed() -> None:
    assert opencode().efforts(ANTHROPIC) == ("low", "medium", "high", "xhigh", "max")
    assert opencode().efforts(OPENAI) is None
    assert pi().efforts(OPENAI) == ("minimal", "low", "medium", "high")
    assert pi().efforts(ANTHROPIC) == ("minimal", "low", "medium", "high")
    assert pi().efforts(structs.replace(ANTHROPIC, max_output=9216)) == ("minimal", "low", "medium")
    assert pi().efforts(structs.replace(ANTHROPIC, max_output=9215)) == ("minimal", "low")


def test_the_limits_of_the_model_are_handed_on() -> None:
    assert configured(REQUEST)["provider"]["gateway"]["models"]["model-1"]["limit"] == {
        "context": 100_000,
        "output": 20_000,
    }
    (model,) = provider_of_pi(REQUEST)["models"]
    assert (model["contextWindow"], model["maxTokens"]) == (100_000, 20_000)


def test_a_session_without_skills_is_shown_none() -> None:
    assert "--skill" in pi().command(REQUEST, INSIDE).argv
    assert "--skill" not in pi().command(structs.replace(REQUEST, skills=()), INSIDE).argv


def test_the_token_is_in_the_environment_and_in_no_file_or_argument() -> None:
    for agent in (opencode(), pi()):
        command = agent.command(REQUEST, INSIDE)
        assert command.environment["GATEWAY_TOKEN"] == "t0k3n"
        elsewhere = [*command.argv, *(name for name in command.environment if name != "GATEWAY_TOKEN")]
        values = [value for name, value in command.environment.items() if name != "GATEWAY_TOKEN"]
        assert "t0k3n" not in " ".join([*elsewhere, *values, *map(repr, command.home.values())])


def test_all_that_a_cell_sees_of_an_agent_is_looked_at_again() -> None:
    for agent in (opencode(), pi()):
        shown = {
            mount.source for mount in agent.command(REQUEST, INSIDE).mounts if isinstance(mount, ReadOnly)
        }
        assert set(agent.sources) == shown


def test_servers_are_started_by_opencode_and_refused_for_pi() -> None:
    request = structs.replace(REQUEST, tools=(MCP,))
    assert configured(request)["mcp"] == {
        "finder": {"type": "local", "command": ["/opt/finder", "--serve"], "enabled": True}
    }
    with pytest.raises(AgentError, match="pi starts no MCP servers, and the arm has the tool finder"):
        pi().command(request, INSIDE)


def test_what_opencode_looks_for_comes_first_on_its_path() -> None:
    assert opencode().command(REQUEST, INSIDE).search == ("/opt/agent/node_modules/tools/bin",)


@pytest.mark.parametrize("name", ["opencode", "pi"])
def test_without_the_program_the_command_that_installs_it_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(AgentError, match=f"evolve agents install {name}"):
        create_agent(AgentConfig(name=name, options={}), tmp_path)
