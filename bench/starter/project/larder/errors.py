"""The errors that larder raises on purpose. Anything else that escapes is a bug."""

from __future__ import annotations


class LarderError(Exception):
    """Base of every error of this library."""


class ValidationError(LarderError, ValueError):
    """A value breaks a rule of the domain, such as a negative price."""


class CurrencyMismatch(ValidationError):
    """Two amounts of different currencies were combined."""

    def __init__(self, left: str, right: str) -> None:
        super().__init__(f"cannot combine {left} with {right}")
        self.left = left
        self.right = right


class UnitMismatch(ValidationError):
    """Two quantities of different dimensions were combined."""

    def __init__(self, left: str, right: str) -> None:
        super().__init__(f"cannot convert {left} to {right}")
        self.left = left
        self.right = right


class NotFound(LarderError, LookupError):
    """Something was asked for by a key that nothing has."""

    def __init__(self, what: str, key: str) -> None:
        super().__init__(f"no {what} named {key!r}")
        self.what = what
        self.key = key


class Conflict(LarderError):
    """The request contradicts what is already stored."""


class InsufficientStock(LarderError):
    """Less is available than was asked for."""

    def __init__(self, sku: str, wanted: str, available: str) -> None:
        super().__init__(f"{sku}: wanted {wanted}, only {available} available")
        self.sku = sku
        self.wanted = wanted
        self.available = available


class InvalidTransition(LarderError):
    """An order was moved to a state that does not follow from its own."""

    def __init__(self, order_id: str, current: str, wanted: str) -> None:
        super().__init__(f"order {order_id} is {current} and cannot become {wanted}")
        self.order_id = order_id
        self.current = current
        self.wanted = wanted


class ParseError(LarderError, ValueError):
    """Text that came from outside does not have the agreed form."""

    def __init__(self, message: str, line: int | None = None) -> None:
        where = "" if line is None else f"line {line}: "
        super().__init__(where + message)
        self.line = line


class ConfigError(LarderError):
    """The configuration file is missing, unreadable or inconsistent."""


class StorageError(LarderError):
    """The database could not do what it was asked for."""


class DeliveryFailed(LarderError):
    """A transport could not hand over a message; trying again may help."""


class RetriesExhausted(LarderError):
    """Every attempt failed; the last failure is the cause."""

    def __init__(self, attempts: int) -> None:
        super().__init__(f"gave up after {attempts} attempts")
        self.attempts = attempts
