"""Messages to people: templates, an outbox and a way out of it."""

from __future__ import annotations

import logging
import string
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from larder.errors import NotFound, RetriesExhausted, ValidationError
from larder.events import Event
from larder.retry import RetryPolicy, call

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Message:
    """What to tell whom."""

    recipient: str
    subject: str
    body: str


class Transport(Protocol):
    """A way to hand over messages."""

    def send(self, message: Message) -> None:
        """Hand a message over, or raise `DeliveryFailed`."""
        ...


@dataclass(frozen=True)
class Template:
    """Subject and body with `$name` placeholders."""

    subject: str
    body: str

    def render(self, recipient: str, values: Mapping[str, object]) -> Message:
        """Fill in the placeholders; a missing value is an error."""
        try:
            subject = string.Template(self.subject).substitute(values)
            body = string.Template(self.body).substitute(values)
        except KeyError as error:
            raise ValidationError(f"the template needs a value for {error}") from error
        return Message(recipient, subject, body)


class Outbox:
    """Messages that wait to be sent, in order."""

    def __init__(self, transport: Transport, policy: RetryPolicy | None = None) -> None:
        self._transport = transport
        self._policy = RetryPolicy() if policy is None else policy
        self._waiting: deque[Message] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, message: Message) -> None:
        self._waiting.append(message)

    def flush(self) -> int:
        """Send what waits and return how many were sent; a failed message stays first."""
        sent = 0
        while self._waiting:
            message = self._waiting[0]
            try:
                call(partial(self._transport.send, message), self._policy)
            except RetriesExhausted:
                logger.warning("%d messages stay in the outbox", len(self._waiting))
                break
            self._waiting.popleft()
            sent += 1
        return sent


class Announcer:
    """Turns events into messages."""

    def __init__(self, outbox: Outbox, recipient: str) -> None:
        self._outbox = outbox
        self._recipient = recipient
        self._templates: dict[str, Template] = {}

    def on(self, name: str, template: Template) -> None:
        """Use a template for all events of that name."""
        self._templates[name] = template

    def template(self, name: str) -> Template:
        try:
            return self._templates[name]
        except KeyError as error:
            raise NotFound("template", name) from error

    def __call__(self, event: Event) -> None:
        """An event handler: events without a template are nobody's news."""
        template = self._templates.get(event.name)
        if template is not None:
            self._outbox.add(template.render(self._recipient, event.payload))
