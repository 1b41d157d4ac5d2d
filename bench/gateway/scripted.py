"""The upstream `scripted`: answers from a script, faults included."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from bench.gateway.script import ErrorReply, Prompter, Reply, Script, Situation, situation_text
from bench.gateway.shapes import counted_tokens, error_body
from bench.gateway.telling import Told, tell
from bench.gateway.upstream import Answer, Asked, UpstreamBroken

_BYTES_A_TOKEN = 4
_HTML = b"<!doctype html><html><body><h1>502 Bad Gateway</h1></body></html>"
_BROKEN_EVENT = b'data: {"type": "message_sta\n\n'


class Scripted:
    """Answers requests from a script."""

    def __init__(self, script: Script) -> None:
        self._prompter = Prompter(script)
        self._answered = 0

    @asynccontextmanager
    async def ask(self, asked: Asked) -> AsyncIterator[Answer]:
        """The first reply that matches; UpstreamBroken for a request without one, and for scripted breaks."""
        if asked.counts:
            counted = counted_tokens(len(asked.body) // _BYTES_A_TOKEN)
            yield Answer(counted.status, counted.headers, _pieces([counted.body], 0.0))
            return
        reply = self._prompter.find(_situation(asked))
        if isinstance(reply, str):
            raise UpstreamBroken("no-scripted-reply", reply, sent=False)
        self._answered += 1
        await asyncio.sleep(reply.delay)
        yield await _answer(asked, reply, f"{self._answered:06d}")

    async def close(self) -> None:
        """There is nothing to let go of."""


async def _answer(asked: Asked, reply: Reply, name: str) -> Answer:
    match reply.fault:
        case "hang_before_headers":
            await _forever()
        case "drop_connection":
            raise UpstreamBroken("connection-dropped", "the script drops the connection", sent=True)
        case "html":
            return Answer(200, (("content-type", "text/html"),), _pieces([_HTML], 0.0))
        case _:
            pass
    if reply.error is not None:
        return _error(asked, reply.error)
    model = reply.model or str(asked.request.get("model"))
    told = tell(asked.protocol, reply, model, name, stream=asked.request.get("stream") is True)
    return Answer(200, (("content-type", told.content_type),), _spoiled(told, reply))


def _spoiled(told: Told, reply: Reply) -> AsyncIterator[bytes]:
    """The reply's parts with its fault."""
    parts = told.parts
    match reply.fault:
        case "cut":
            kept = parts[: reply.events] if len(parts) > 1 else [parts[0][: len(parts[0]) // 2]]
            return _pieces(kept, reply.delay_between, cut=True)
        case "hang_after_headers":
            return _pieces(parts[: reply.events] if len(parts) > 1 else (), reply.delay_between, hang=True)
        case "malformed":
            broken = [parts[0], _BROKEN_EVENT, *parts[1:]] if len(parts) > 1 else [parts[0][:-1]]
            return _pieces(broken, reply.delay_between)
        case "two_terminals":
            return _pieces([*parts, parts[-1]], reply.delay_between)
        case _:
            return _pieces(parts, reply.delay_between)


async def _pieces(
    parts: Sequence[bytes], between: float, *, cut: bool = False, hang: bool = False
) -> AsyncIterator[bytes]:
    for part in parts:
        yield part
        await asyncio.sleep(between)
    if hang:
        await _forever()
    if cut:
        raise UpstreamBroken("stream-cut", "the script cuts the answer off", sent=True)


async def _forever() -> None:
    """Wait until the client leaves."""
    await asyncio.Event().wait()


def _error(asked: Asked, error: ErrorReply) -> Answer:
    headers = [("content-type", "application/json")]
    if error.retry_after is not None:
        headers.append(("retry-after", f"{error.retry_after:g}"))
    body = (
        error_body(asked.protocol, error.status, error.message, error.type)
        if error.body is None
        else error.body.encode()
    )
    return Answer(error.status, tuple(headers), _pieces([body], 0.0))


def _situation(asked: Asked) -> Situation:
    text, last = situation_text(asked.request)
    return Situation(
        task=asked.task,
        cell=asked.cell,
        session=asked.session,
        model=str(asked.request.get("model")),
        protocol=asked.protocol,
        turn=asked.turn,
        text=text,
        last=last,
    )
