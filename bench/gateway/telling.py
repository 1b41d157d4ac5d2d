"""A scripted reply, spoken in each protocol: as events of a stream, or as one object."""

import json
from typing import Any, assert_never

from msgspec import Struct

from bench.gateway.model import ModelProtocol
from bench.gateway.script import Reply, ToolCall

_ANTHROPIC_STOPS = {"end": "end_turn", "tool": "tool_use", "length": "max_tokens", "refusal": "refusal"}
_CHAT_STOPS = {"end": "stop", "tool": "tool_calls", "length": "length", "refusal": "content_filter"}


class Told(Struct, frozen=True):
    """A reply as it goes out: its events (a stream) or its single body."""

    content_type: str
    parts: tuple[bytes, ...]


def tell(protocol: ModelProtocol, reply: Reply, model: str, name: str, *, stream: bool) -> Told:
    """The reply in a protocol; `name` makes its ids unique."""
    match protocol:
        case "anthropic_messages":
            whole, events = _anthropic(reply, model, name)
        case "openai_responses":
            whole, events = _responses(reply, model, name)
        case "openai_chat":
            whole, events = _chat(reply, model, name)
        case _:
            assert_never(protocol)
    return Told("text/event-stream", tuple(events)) if stream else Told("application/json", (_bytes(whole),))


def native_usage(protocol: ModelProtocol, reply: Reply) -> dict[str, Any] | None:
    """The usage that the reply declares, in the protocol's own fields."""
    if reply.native_usage is not None or reply.usage is None:
        return reply.native_usage
    if protocol == "anthropic_messages":
        names = {
            "input": "input_tokens",
            "cache_write": "cache_creation_input_tokens",
            "cache_read": "cache_read_input_tokens",
            "output": "output_tokens",
        }
        return {native: reply.usage[ours] for ours, native in names.items() if ours in reply.usage}
    if protocol == "openai_responses":
        return _openai_usage(reply.usage, "input_tokens", "output_tokens")
    return _openai_usage(reply.usage, "prompt_tokens", "completion_tokens")


def _openai_usage(usage: dict[str, Any], whole: str, output: str) -> dict[str, Any]:
    """The whole of the input, of which the cached is a part; a value that is no number is sent as it is."""
    native: dict[str, Any] = {}
    if "input" in usage:
        parts = [usage["input"], usage.get("cache_read", 0), usage.get("cache_write", 0)]
        native[whole] = sum(parts) if all(isinstance(part, int) for part in parts) else usage["input"]
    details = {"cached_tokens": "cache_read", "cache_write_tokens": "cache_write"}
    found = {name: usage[ours] for name, ours in details.items() if ours in usage}
    native |= {f"{whole}_details": found} if found else {}
    native |= {output: usage["output"]} if "output" in usage else {}
    if "reasoning" in usage:
        native[f"{output}_details"] = {"reasoning_tokens": usage["reasoning"]}
    if all(isinstance(native.get(name), int) for name in (whole, output)):
        native["total_tokens"] = native[whole] + native[output]
    return native


def _stop(reply: Reply) -> str:
    return reply.stop or ("tool" if reply.tools else "end")


def _anthropic(reply: Reply, model: str, name: str) -> tuple[dict[str, Any], list[bytes]]:
    usage = native_usage("anthropic_messages", reply)
    stop = _ANTHROPIC_STOPS[_stop(reply)]
    blocks: list[dict[str, Any]] = (
        [{"type": "text", "text": reply.text}] if reply.text or not reply.tools else []
    )
    blocks += [
        {
            "type": "tool_use",
            "id": call.id or f"toolu_{name}_{number}",
            "name": call.name,
            "input": call.input,
        }
        for number, call in enumerate(reply.tools)
    ]
    message = {"id": f"msg_{name}", "type": "message", "role": "assistant", "model": model}
    whole = message | {"content": blocks, "stop_reason": stop, "stop_sequence": None} | _given(usage)
    begun = None if usage is None else usage | ({"output_tokens": 1} if "output_tokens" in usage else {})
    start = message | {"content": [], "stop_reason": None, "stop_sequence": None} | _given(begun)
    last = {"output_tokens": usage["output_tokens"]} if usage and "output_tokens" in usage else None
    delta = {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}} | _given(last)
    events = [{"type": "message_start", "message": start}]
    events += [event for number, block in enumerate(blocks) for event in _anthropic_block(number, block)]
    return whole, [_named(event) for event in [*events, delta, {"type": "message_stop"}]]


def _anthropic_block(number: int, block: dict[str, Any]) -> list[dict[str, Any]]:
    if block["type"] == "text":
        empty, delta = block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        empty = block | {"input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return [
        {"type": "content_block_start", "index": number, "content_block": empty},
        {"type": "content_block_delta", "index": number, "delta": delta},
        {"type": "content_block_stop", "index": number},
    ]


def _responses(reply: Reply, model: str, name: str) -> tuple[dict[str, Any], list[bytes]]:
    items = [_message_item(reply, name)] if reply.text or not reply.tools else []
    items += [_call_item(call, f"{name}_{number}") for number, call in enumerate(reply.tools)]
    length = _stop(reply) == "length"
    base: dict[str, Any] = {
        "id": f"resp_{name}",
        "object": "response",
        "created_at": 0,
        "model": model,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if length else None,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    ended = "incomplete" if length else "completed"
    whole = base | {"status": ended, "output": items} | _given(native_usage("openai_responses", reply))
    begun = base | {"status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for number, item in enumerate(items):
        events += _item_events(number, item)
    events.append({"type": f"response.{ended}", "response": whole})
    return whole, [_named(event | {"sequence_number": number}) for number, event in enumerate(events)]


def _message_item(reply: Reply, name: str) -> dict[str, Any]:
    content = (
        {"type": "refusal", "refusal": reply.text}
        if reply.stop == "refusal"
        else {"type": "output_text", "text": reply.text, "annotations": []}
    )
    return {
        "id": f"item_{name}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [content],
    }


def _call_item(call: ToolCall, name: str) -> dict[str, Any]:
    common = {
        "id": f"item_{name}",
        "call_id": call.id or f"call_{name}",
        "name": call.name,
        "status": "completed",
    }
    if call.text is not None:
        return common | {"type": "custom_tool_call", "input": call.text}
    return common | {"type": "function_call", "arguments": json.dumps(call.input)}


def _item_events(number: int, item: dict[str, Any]) -> list[dict[str, Any]]:
    place = {"output_index": number, "item_id": item["id"]}
    events = [
        {
            "type": "response.output_item.added",
            "output_index": number,
            "item": item | {"status": "in_progress"},
        }
    ]
    if item["type"] == "message" and "text" in item["content"][0]:
        delta = {
            "type": "response.output_text.delta",
            "content_index": 0,
            "delta": item["content"][0]["text"],
        }
        events.append(place | delta)
    elif item["type"] == "function_call":
        events.append(place | {"type": "response.function_call_arguments.delta", "delta": item["arguments"]})
    return [*events, {"type": "response.output_item.done", "output_index": number, "item": item}]


def _chat(reply: Reply, model: str, name: str) -> tuple[dict[str, Any], list[bytes]]:
    usage = native_usage("openai_chat", reply)
    stop = _CHAT_STOPS[_stop(reply)]
    calls = [
        {
            "id": call.id or f"call_{name}_{number}",
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.input)},
        }
        for number, call in enumerate(reply.tools)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    message |= {"tool_calls": calls} if calls else {}
    base = {"id": f"chatcmpl_{name}", "created": 0, "model": model}
    whole = base | {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": stop}],
    }
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": reply.text}]
    deltas += [{"tool_calls": [call | {"index": number}]} for number, call in enumerate(calls)]
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": stop}]})
    chunks += [{"choices": [], "usage": usage}] if usage is not None else []
    events = [_data(base | {"object": "chat.completion.chunk"} | chunk) for chunk in chunks]
    return whole | _given(usage), [*events, b"data: [DONE]\n\n"]


def _given(usage: dict[str, Any] | None) -> dict[str, Any]:
    return {} if usage is None else {"usage": usage}


def _named(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\n".encode() + _data(event)


def _data(event: dict[str, Any]) -> bytes:
    return b"data: " + _bytes(event) + b"\n\n"


def _bytes(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
