"""What is checked before a gateway starts: its upstream and its key."""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from bench.errors import GatewayError
from bench.gateway.model import GatewayConfig, UpstreamConfig

_REFERENCE = re.compile(r"secret://env/([A-Za-z_]\w*)")
_LOCAL = ("scripted", "replay")
_PRINTABLE = re.compile(r"[\x21-\x7e]+")


def resolved_key(config: GatewayConfig, environment: Mapping[str, str]) -> str:
    """The key itself, nothing where none is needed. GatewayError says what is missing."""
    upstream = config.upstream
    _check(config)
    if upstream.kind in _LOCAL:
        return ""
    if upstream.key is None:
        if upstream.kind == "openai_compatible":
            return ""
        raise GatewayError(
            f"upstream {upstream.kind} needs a key\n  name its environment variable: key: ${{secret:NAME}}"
        )
    return _key(upstream.key, environment)


def _key(reference: str, environment: Mapping[str, str]) -> str:
    found = _REFERENCE.fullmatch(reference)
    if found is None:
        # never repeat it: it may be the key itself
        raise GatewayError(
            "the key of the upstream is no reference to a secret\n  write ${secret:NAME}, and put the key into "
            "the environment variable NAME"
        )
    key = environment.get(found[1], "").strip()
    if not _PRINTABLE.fullmatch(key):
        state = (
            "is not set" if not key else "holds what no key holds: blanks, or characters that are not ASCII"
        )
        raise GatewayError(
            f"the environment variable {found[1]} {state}\n  export {found[1]}=… and run again"
        )
    return key


def _check(config: GatewayConfig) -> None:
    if not config.models:
        raise GatewayError("the gateway serves no model\n  see model.id")
    if config.upstream.kind == "scripted" and config.script is None:
        raise GatewayError("the upstream `scripted` needs a file of replies\n  see docs/scripted-provider.md")
    if config.upstream.kind == "replay" and config.cassettes is None:
        raise GatewayError("the upstream `replay` needs a folder of cassettes\n  see docs/gateway.md")
    _check_address(config.upstream)


def _check_address(upstream: UpstreamConfig) -> None:
    if upstream.base_url is None:
        if upstream.kind == "openai_compatible":
            raise GatewayError(
                "upstream openai_compatible needs its base_url, as http://127.0.0.1:11434/v1 for Ollama"
            )
        return
    address = urlsplit(upstream.base_url)
    try:
        plain = address.scheme in ("http", "https") and address.hostname and address.port != 0
    except ValueError:
        plain = False
    if not plain or address.username or address.query or address.fragment:
        raise GatewayError(
            f"base_url of upstream {upstream.kind} is no plain http address ending in its version, "
            "as https://host/v1; a key belongs into `key`"
        )
