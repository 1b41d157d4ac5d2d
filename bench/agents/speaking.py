"""Which protocol an agent that knows several speaks to its model."""

from collections.abc import Mapping
from typing import Any

from bench.config import ModelConfig
from bench.gateway import ModelProtocol

PROTOCOL_OPTION: Mapping[str, Any] = {
    "enum": ["anthropic_messages", "openai_responses", "openai_chat", None],
    "description": "What it speaks to the model; null is what suits the model's upstream.",
}
_BEST: Mapping[str, ModelProtocol] = {"anthropic": "anthropic_messages", "openai": "openai_responses"}


def spoken(chosen: ModelProtocol | None, model: ModelConfig | None) -> ModelProtocol:
    """The protocol that was chosen, else the one of the model's upstream: Chat Completions where it speaks several."""
    upstream = None if model is None else model.upstream
    return chosen or _BEST.get(upstream or "", "openai_chat")
