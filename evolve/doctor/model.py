"""What was looked at, and what was found, as data and as lines."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from bench.text import printable

Area = Literal["program", "configuration", "sandbox", "agent", "key"]
_MARKS = {"works": "ok", "limited": "--", "missing": "no"}


class Finding(Struct, frozen=True, kw_only=True):
    """One thing: whether it works, whether the project as it is configured needs it, and how to get it."""

    area: Area
    name: str
    state: Annotated[
        Literal["works", "limited", "missing"],
        Meta(description="limited: it works, in a slower or weaker way."),
    ]
    needed: bool
    detail: str
    remedy: str = ""


class Diagnosis(Struct, frozen=True, kw_only=True):
    """All that was looked at; `root` is the project, null outside of one."""

    version: str
    root: str | None
    findings: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        """Whether everything that is needed works."""
        return not any(each.needed and each.state == "missing" for each in self.findings)


def lines(diagnosis: Diagnosis) -> list[str]:
    """The findings for people, what to do below each that is not there."""
    told = [f"incumbent {diagnosis.version}, project: {diagnosis.root or 'none here'}"]
    width = max(len(each.name) for each in diagnosis.findings)
    for each in diagnosis.findings:
        mark = "NO" if each.needed and each.state == "missing" else _MARKS[each.state]
        first, *more = each.detail.splitlines() or [""]
        told.append(f"{mark:2}  {each.area:13}  {each.name:{width}}  {first}".rstrip())
        told += [f"    {line}" for line in more]
        if each.state != "works" and each.remedy:
            told.append(f"    to get it: {each.remedy}")
    told.append(
        "everything that is needed works"
        if diagnosis.healthy
        else "something that is needed does not work: see NO"
    )
    return [printable(line) for line in told]
