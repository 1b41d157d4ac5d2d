"""JSON Schema errors as complaints that a person can act on."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from bench.config.complaint import Complaint, KeyPath, brief, shown
from bench.text import did_you_mean

TYPE_NAMES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "boolean": "true or false",
    "object": "a mapping",
    "array": "a list",
    "null": "null",
}


class _Finding(Struct, frozen=True, kw_only=True):
    """One validation error, freed of its library: which keyword wanted what of which value."""

    keyword: str
    wanted: Any
    value: Any
    schema: Mapping[str, Any]
    path: KeyPath
    of_name: bool
    message: str


def schema_complaints(schema: Mapping[str, Any], content: Any, prefix: KeyPath = ()) -> list[Complaint]:
    """Everything in `content` that does not fit `schema` (draft 2020-12; no reference is ever fetched)."""
    return [each for finding in _findings(schema, content, prefix) for each in _complaints(finding)]


def _findings(schema: Mapping[str, Any], content: Any, prefix: KeyPath) -> Iterator[_Finding]:
    # jsonschema costs 100 ms to import, and most commands never validate.
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415
    from referencing import Registry  # noqa: PLC0415

    whole = Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_whole)
    strict: Any = validators
    strict = strict.extend(Draft202012Validator, {"pattern": _check_pattern}, type_checker=whole)
    found = strict(dict(schema), registry=Registry()).iter_errors(content)
    for error in (each for whole_error in found for each in _own_errors(whole_error)):
        yield _Finding(
            keyword=str(error.validator),
            wanted=error.validator_value,
            value=error.instance,
            schema=error.schema,
            path=(*prefix, *error.absolute_path),
            of_name="propertyNames" in error.absolute_schema_path,
            message=error.message,
        )


def _own_errors(error: Any) -> Iterator[Any]:
    """What is wrong inside something that may also be null, rather than that neither fits."""
    choices = error.validator_value
    if error.validator != "anyOf" or {"type": "null"} not in choices or not isinstance(error.instance, dict):
        yield error
        return
    null = choices.index({"type": "null"})
    yield from (each for each in error.context if each.relative_schema_path[0] != null)


def _complaints(finding: _Finding) -> Iterator[Complaint]:
    if finding.of_name:
        yield Complaint((*finding.path, finding.value), f"the name must be {_form(finding)}")
    elif finding.keyword == "additionalProperties":
        known = finding.schema.get("properties", {})
        for key in sorted(finding.value.keys() - known.keys()):
            yield Complaint((*finding.path, key), _unknown(key, known))
    elif finding.keyword == "required":
        for key in finding.wanted:
            if key not in finding.value:
                yield Complaint((*finding.path, key), "must be given")
    else:
        yield Complaint(finding.path, _TEXTS.get(finding.keyword, _other)(finding))


def _unknown(key: str, known: Mapping[str, Any]) -> str:
    names = ", ".join(sorted(known)) or "none"
    return f"there is no such key{did_you_mean(key, known)}; known here: {names}"


def _form(finding: _Finding) -> str:
    """What a pattern asks for, in words: the schema's `$comment`."""
    return str(finding.schema.get("$comment") or f"of the form {finding.wanted}")


def _one_of(finding: _Finding) -> str:
    allowed = ["null" if each is None else str(each) for each in finding.wanted]
    near = did_you_mean(finding.value, allowed) if isinstance(finding.value, str) else ""
    return f"must be one of {', '.join(allowed)}, not {shown(finding.value)}{near}"


def _type(finding: _Finding) -> str:
    kinds = [finding.wanted] if isinstance(finding.wanted, str) else finding.wanted
    return f"must be {' or '.join(TYPE_NAMES.get(kind, kind) for kind in kinds)}, not {shown(finding.value)}"


def _other(finding: _Finding) -> str:
    return brief(finding.message)


def _bound(words: str) -> Callable[[_Finding], str]:
    return lambda finding: f"{words.format(finding.wanted)}, not {shown(finding.value)}"


def _amount(words: str) -> Callable[[_Finding], str]:
    return lambda finding: words.format(finding.wanted)


def _is_whole(_checker: object, value: object) -> bool:
    """Strictly an integer: JSON Schema itself would let 2.0 pass."""
    return isinstance(value, int) and not isinstance(value, bool)


def _check_pattern(_validator: object, pattern: str, value: object, _schema: object) -> Iterator[Exception]:
    """As ECMA-262 means it: Python's `$` would let a line break at the end pass."""
    from jsonschema import ValidationError  # noqa: PLC0415 - see _findings

    if isinstance(value, str):
        found = re.search(pattern, value)
        if found is None or (pattern.endswith("$") and found.end() < len(value)):
            yield ValidationError(f"{value!r} does not match {pattern!r}")


_TEXTS: Mapping[str, Callable[[_Finding], str]] = {
    "enum": _one_of,
    "type": _type,
    "const": _bound("must be {}"),
    "pattern": lambda finding: f"must be {_form(finding)}, not {shown(finding.value)}",
    "minimum": _bound("must be at least {}"),
    "maximum": lambda finding: f"is capped at {finding.wanted}; {shown(finding.value)} is more",
    "exclusiveMinimum": _bound("must be more than {}"),
    "exclusiveMaximum": _bound("must be less than {}"),
    "minLength": lambda _finding: "must not be empty",
    "maxLength": _amount("must have at most {} characters"),
    "minItems": _amount("must hold at least {}"),
    "maxItems": _amount("must hold at most {}"),
    "minProperties": _amount("must hold at least {}"),
    "uniqueItems": lambda _finding: "holds something twice",
}
