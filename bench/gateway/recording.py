"""Recording exchanges while they pass: redacted, in canonical form, written once they are over."""

import asyncio
from pathlib import Path

from bench.gateway.canonical import request_key
from bench.gateway.cassette import Exchange, append_exchange, body_text, canonical_redacted
from bench.gateway.upstream import Answer, Asked
from bench.redaction import Redactor

_LARGEST = 32 * 1024 * 1024


class Recorder:
    """Writes cassettes to a folder, one exchange after the other, beside the requests' own work; without a folder
    it records nothing.
    """

    def __init__(self, folder: Path | None, redactor: Redactor) -> None:
        self._folder, self._redactor = folder, redactor
        self._queue: asyncio.Queue[Tape] = asyncio.Queue()
        self.fault = ""

    def tape(self, asked: Asked, seq: int) -> "Tape | None":
        """A tape for one exchange."""
        return None if self._folder is None else Tape(self._queue, asked, seq)

    async def run(self) -> None:
        """Write what is finished, until cancelled."""
        while True:
            tape = await self._queue.get()
            try:
                await asyncio.to_thread(self._write, tape)
            except OSError as error:
                self.fault = self.fault or f"cannot record: {error}"
            finally:
                self._queue.task_done()

    async def flush(self) -> None:
        """Wait until everything that is finished is written."""
        await self._queue.join()

    def _write(self, tape: "Tape") -> None:
        if self._folder is not None:
            append_exchange(self._folder, tape.exchange(self._redactor))


class Tape:
    """One exchange while it passes."""

    def __init__(self, queue: "asyncio.Queue[Tape]", asked: Asked, seq: int) -> None:
        self._queue, self._asked, self._seq = queue, asked, seq
        self._answer: Answer | None = None
        self._body = bytearray()
        self._whole = self._over = False

    def head(self, answer: Answer) -> None:
        """Note the answer's head."""
        self._answer = answer

    def add(self, chunk: bytes) -> None:
        """Note a part of its body."""
        if len(self._body) <= _LARGEST:
            self._body += chunk

    def end(self) -> None:
        """The answer came to its end."""
        self._whole = True

    def close(self, *, left: bool) -> None:
        """Hand the tape in, once. What a client did not wait for was not the provider's answer."""
        if not self._over and (self._whole or not left) and len(self._body) <= _LARGEST:
            self._queue.put_nowait(self)
        self._over = True

    def exchange(self, redactor: Redactor) -> Exchange:
        """What is written."""
        asked, answer = self._asked, self._answer
        request = canonical_redacted(asked.request, redactor)
        body, encoded = body_text(bytes(self._body), redactor)
        headers = answer.headers if answer else ()
        return Exchange(
            key=request_key(asked.protocol, asked.path, request),
            cell=asked.cell,
            session=asked.session,
            seq=self._seq,
            protocol=asked.protocol,
            path=asked.path,
            request=request,
            status=answer.status if answer else None,
            # redacted, a body has another length
            headers=tuple(
                (name, redactor.text(value)) for name, value in headers if name != "content-length"
            ),
            body=body,
            encoded=encoded,
            cut=not self._whole,
        )
