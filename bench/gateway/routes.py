"""Which requests there are. Anything else has no way out of a cell."""

from typing import Literal

from msgspec import Struct

from bench.gateway.model import ModelProtocol

Action = Literal["generate", "count", "models", "model"]


class Route(Struct, frozen=True):
    """What a path asks for. The models' paths belong to no protocol."""

    action: Action
    protocol: ModelProtocol | None = None


_POSTS = {
    "/v1/messages": Route("generate", "anthropic_messages"),
    "/v1/messages/count_tokens": Route("count", "anthropic_messages"),
    "/v1/responses": Route("generate", "openai_responses"),
    "/v1/responses/input_tokens": Route("count", "openai_responses"),
    "/v1/chat/completions": Route("generate", "openai_chat"),
}
MODELS = "/v1/models"


def route_of(method: str, path: str) -> Route | None:
    """The route of a request, None where there is none."""
    if method == "POST":
        return _POSTS.get(path)
    if method == "GET" and path == MODELS:
        return Route("models")
    if method == "GET" and path.startswith(f"{MODELS}/"):
        return Route("model")
    return None


def protocol_of(path: str) -> ModelProtocol | None:
    """The protocol in whose shape an error on this path is told."""
    return next((route.protocol for known, route in _POSTS.items() if path.startswith(known)), None)
