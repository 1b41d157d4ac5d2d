"""The only way to a model: attribution, usage, budget, record and replay, scripted provider."""

from bench.gateway.allowance import Allowance, Limit, Rates, Tariff, TokenTariff
from bench.gateway.cassette import read_cassettes
from bench.gateway.client import CellTraffic, Gateway, GatewayCell, open_gateway
from bench.gateway.forwarding import Way, way_to
from bench.gateway.model import (
    Cause,
    Ceiling,
    GatewayConfig,
    GatewayLimits,
    ModelProtocol,
    RequestRecord,
    ServedModel,
    TokenUsage,
    UpstreamConfig,
    UpstreamKind,
    sum_tokens,
)
from bench.gateway.opening import resolved_key
from bench.gateway.purse import Hold, Purse, Refused, UnlimitedPurse
from bench.gateway.script import Script, read_script, said_last

__all__ = [
    "Allowance",
    "Cause",
    "Ceiling",
    "CellTraffic",
    "Gateway",
    "GatewayCell",
    "GatewayConfig",
    "GatewayLimits",
    "Hold",
    "Limit",
    "ModelProtocol",
    "Purse",
    "Rates",
    "Refused",
    "RequestRecord",
    "Script",
    "ServedModel",
    "Tariff",
    "TokenTariff",
    "TokenUsage",
    "UnlimitedPurse",
    "UpstreamConfig",
    "UpstreamKind",
    "Way",
    "open_gateway",
    "read_cassettes",
    "read_script",
    "resolved_key",
    "said_last",
    "sum_tokens",
    "way_to",
]
