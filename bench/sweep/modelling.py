"""The model of a run: what is checked of it before anything is paid, and the gateway that leads to it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import to_builtins

from bench.agents import Agent
from bench.arms import ModelAccess
from bench.config import Config, ModelConfig
from bench.digest import digest_bytes
from bench.disk import read_regular
from bench.errors import ConfigError
from bench.gateway import (
    GatewayConfig,
    Rates,
    ServedModel,
    UpstreamConfig,
    open_gateway,
    read_script,
    resolved_key,
)
from bench.spend import Price, PriceTable, rates_of

_LOCAL = ("scripted", "replay")
_SPOKEN = {"anthropic": {"anthropic_messages"}, "openai": {"openai_responses", "openai_chat"}}
_LARGEST_SCRIPT = 64 << 20


def calls_through_gateway(config: Config, agent: Agent) -> bool:
    """Whether the cells' agent reaches its model through the gateway."""
    return agent.calls_model and config.model.upstream is not None


def is_local(model: ModelConfig) -> bool:
    """Whether answers come from a file: they cost nothing, whatever their tokens are counted as."""
    return model.upstream in _LOCAL


def check_model(config: Config, agent: Agent, root: Path, prices: PriceTable) -> str:
    """The provider's key, empty where none is needed. ConfigError and GatewayError, before anything is started, for
    a model that the agent cannot be measured with.
    """
    if not agent.calls_model:
        return ""
    _check_named(config, agent)
    _check_effort(config, agent)
    if not calls_through_gateway(config, agent):
        return ""
    if config.model.script is not None and config.model.upstream == "scripted":
        read_script(root / config.model.script)
    return resolved_key(gateway_config(config, root, prices, None), os.environ)


def gateway_config(config: Config, root: Path, prices: PriceTable, record: Path | None) -> GatewayConfig:
    """What the gateway depends on; paths of the configuration are relative to the project."""
    model = config.model
    price = prices.find(model.id)
    if model.upstream is None or model.id is None:
        raise ConfigError("the gateway serves no model\n  see model.id and model.upstream")
    return GatewayConfig(
        upstream=UpstreamConfig(
            kind=model.upstream,
            base_url=model.base_url,
            key=None if is_local(model) else model.key,
            requests_per_minute=model.requests_per_minute,
        ),
        models=(_served(model, price),),
        record=None if record is None or not model.record else str(record),
        script=str(root / model.script) if model.script and model.upstream == "scripted" else None,
        cassettes=str(root / model.cassettes) if model.cassettes and model.upstream == "replay" else None,
    )


@contextmanager
def open_model(
    config: Config, agent: Agent, root: Path, prices: PriceTable, record: Path | None
) -> Iterator[ModelAccess | None]:
    """The gateway, while the block lasts, recording to the folder `record`; None where no gateway is needed."""
    if not calls_through_gateway(config, agent):
        yield None
        return
    price = prices.find(config.model.id)
    rates = None if price is None else Rates(**rates_of(price))  # type: ignore[arg-type]
    with open_gateway(gateway_config(config, root, prices, record), os.environ) as gateway:
        yield ModelAccess(gateway=gateway, rates=rates)


def measured_with(model: ModelConfig, root: Path) -> object:
    """What of the model's configuration a measurement depends on: not its key, its speed or what is recorded."""
    if model.upstream is None:
        return [model.name, model.id]
    left_out = ("key", "record", "requests_per_minute", "script", "cassettes", "efforts")
    kept = {name: value for name, value in to_builtins(model).items() if name not in left_out}
    script = root / model.script if model.upstream == "scripted" and model.script else None
    if script is not None:
        kept["script"] = digest_bytes(read_regular(script, _LARGEST_SCRIPT))
    return kept


def _served(model: ModelConfig, price: Price | None) -> ServedModel:
    return ServedModel(
        id=str(model.id),
        context=model.context or (price.context if price else None),
        most_output=model.max_output or (price.max_output if price else None),
    )


def _check_named(config: Config, agent: Agent) -> None:
    """An agent that needs the gateway needs a model behind it that speaks its protocol."""
    model = config.model
    if model.upstream is None:
        if agent.name == "command":  # a program of the user's own may need no model, or none of ours
            return
        raise ConfigError(
            f"agent {agent.name} calls a model, and model={model.name} has no upstream\n"
            "  choose one of conf/model, as model=claude_sonnet_5; without a key, try model.upstream=scripted "
            "with model.script=FILE (docs/agents.md)"
        )
    if model.id is None:
        raise ConfigError(f"model={model.name} has no id\n  give the exact id: model.id=ID")
    spoken = _SPOKEN.get(model.upstream)
    if spoken is not None and not spoken & set(agent.protocols):
        raise ConfigError(
            f"agent {agent.name} speaks {', '.join(agent.protocols)}, which the upstream {model.upstream} does not\n"
            "  choose a model of another provider, or a proxy that translates: model.upstream=openai_compatible"
        )


def _check_effort(config: Config, agent: Agent) -> None:
    """ConfigError for an effort that would not reach the model, or that it does not know."""
    effort, model = config.effort, config.model
    if effort is None:
        return
    for who, known in ((f"agent {agent.name}", agent.efforts(model)), (f"model {model.id}", model.efforts)):
        if known is not None and effort not in known:
            listed = f"it would send: {', '.join(known)}" if known else "it sends none to this model"
            told = listed if who.startswith("agent") else f"it honours: {', '.join(known) or 'none'}"
            raise ConfigError(
                f"effort={effort} would have no effect: {who} does not take it; {told}\n"
                "  choose one of them, or effort=null"
            )
