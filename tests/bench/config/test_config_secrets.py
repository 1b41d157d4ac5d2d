"""Credentials never enter a configuration, and what refuses them never repeats them."""

import string

import pytest
from config_project import Project
from hypothesis import given
from hypothesis import strategies as st

from bench.config.guards import refuse_credentials, value_complaints
from bench.errors import ConfigError

LETTERS = string.ascii_letters + string.digits
# Put together here, so that no scanner of repositories takes this file for a leak.
FILL = "a1B2" * 9
CREDENTIALS = {
    "an API key": "sk-" + FILL,
    "a GitHub token": "ghp_" + FILL,
    "a fine-grained GitHub token": "github_pat_" + FILL,
    "an AWS key": "AKIA" + "A1B2" * 4,
    "a Google key": "AIza" + FILL[:35],
    "a Slack token": "xoxb-" + FILL,
    "a JSON web token": f"eyJ{FILL}.{FILL}.{FILL}",
    "a private key": "-----BEGIN RSA PRIVATE" + " KEY-----",
    "an address with a password": "https://user:" + FILL + "@example.org",
}
SECRET_KEYS = [
    "token",
    "api_key",
    "apiKey",
    "API-KEY",
    "github_token",
    "client_secret",
    "db.password",
    "private_key",
]


@pytest.mark.parametrize("credential", CREDENTIALS.values(), ids=CREDENTIALS.keys())
@pytest.mark.parametrize(
    "shape", ["model.id={}", "model.id='{}'", "+agent.options={{a: [{}]}}", "{}=1", "{}"]
)
def test_an_override_that_holds_a_credential_is_refused_and_not_repeated(shape: str, credential: str) -> None:
    with pytest.raises(ConfigError) as caught:
        refuse_credentials(["workers=3", shape.format(credential)])
    said = str(caught.value)
    assert "${secret:NAME}" in said
    assert credential not in said
    assert FILL not in said


@given(
    st.sampled_from(SECRET_KEYS), st.text(LETTERS, min_size=8, max_size=40), st.sampled_from(["", "+", "++"])
)
def test_an_override_whose_key_names_a_secret_is_refused_and_not_repeated(
    key: str, value: str, sign: str
) -> None:
    for override in (f"{sign}{key}={value}", f"{sign}agent.options={{{key}: {value}}}"):
        with pytest.raises(ConfigError) as caught:
            refuse_credentials([override])
        assert value not in str(caught.value).replace("environment", "").replace("variable", "")


@pytest.mark.parametrize(
    "override",
    [
        "agent.options.api_key=${secret:ANTHROPIC_API_KEY}",
        "agent.options={token: '${secret:GITHUB_TOKEN}'}",
        "agent.options.api_key=secret://env/ANTHROPIC_API_KEY",
        "agent.options.max_tokens=100000",
        "agent.options.token_budget=123456789",
        "agent.options.token=null",
        "name=task-aaaaaaaaaaaaaaaaaaaaaaaa",
        "model.id=claude-haiku-4-5-20251001",
        "suite.path=/home/someone/secrets/suite",
    ],
)
def test_what_only_resembles_a_credential_is_let_through(override: str) -> None:
    refused: list[str] = []
    try:
        refuse_credentials([override])
    except ConfigError as error:
        refused.append(str(error))
    assert refused == []


def test_a_credential_in_an_override_is_refused_before_any_file_is_read(project: Project) -> None:
    project.marker("not [ toml")
    assert "looks like" in project.refusal(f"model.id={CREDENTIALS['an API key']}")


@pytest.mark.parametrize("credential", CREDENTIALS.values(), ids=CREDENTIALS.keys())
def test_a_file_that_holds_a_credential_is_refused_by_name_and_not_repeated(
    project: Project, credential: str
) -> None:
    said = project.option("model/own.yaml", f"# Mine.\nname: own\nid: '{credential}'\n").refusal("model=own")
    assert "model.id: looks like" in said
    assert "(conf/model/own.yaml)" in said
    assert credential not in said


@pytest.mark.parametrize("key", ["token", "api_key", "client_secret"])
def test_a_value_under_a_secret_key_is_refused_unless_it_is_a_reference(key: str) -> None:
    assert list(value_complaints({"options": {key: "0123456789"}}))
    assert not list(value_complaints({"options": {key: "secret://env/NAME"}}))
    assert not list(value_complaints({"options": {key: "Bearer secret://env/NAME"}}))


def test_a_secret_stays_a_reference_and_is_never_looked_up(
    project: Project, extension: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "value-of-my-key")
    project.option(
        "agent/scripted.yaml",
        "# Scripted.\nname: scripted\noptions: {turns: 3, tone: calm, key: '${secret:MY_KEY}'}\n",
    )
    config, composed = project.load("agent=scripted")
    typed = project.config("agent=scripted", "agent.options.key=${secret:MY_KEY}")
    assert config.agent.options["key"] == typed.agent.options["key"] == "secret://env/MY_KEY"
    assert "value-of-my-key" not in repr(composed)
