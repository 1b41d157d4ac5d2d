"""What `bench store` says, for people. Pure."""

from collections.abc import Sequence

from bench.archive.model import CollectReport, ExportReport, ImportReport, StoreReport

_MOST = 20
_STEP = 1024


def size_text(size: int) -> str:
    """A size as people read it."""
    value, units = float(size), ("B", "KiB", "MiB", "GiB", "TiB")
    for unit in units:
        if value < _STEP or unit == units[-1]:
            return f"{size} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= _STEP
    raise AssertionError


def verify_lines(report: StoreReport) -> list[str]:
    """The verdict, then each thing that is wrong."""
    broken = [
        f"  {each.digest}: {each.problem}" + (f", named by {', '.join(each.runs[:3])}" if each.runs else "")
        for each in report.broken
    ]
    count = f"{report.objects} objects ({size_text(report.size)}) in {report.store}"
    lines = [f"{count}: {report.missing} missing, {report.changed} changed", *_first(broken)]
    for each in report.unreadable:
        lines += [f"run {each.run} cannot be read, so its artifacts are unknown:", f"  {each.why}"]
    if report.strays:
        lines += [f"{len(report.strays)} files there are no objects:", *_first(report.strays, "  ")]
    if report.orphans:
        lines.append(
            f"{report.orphans} objects ({size_text(report.orphans_size)}) belong to no run; "
            "bench store gc removes them"
        )
    runs = f"runs: {report.runs}; they refer to {report.referenced} of them"
    verdict = f"sound; {runs}" if report.sound else "NOT SOUND: restore what is named from a copy"
    return [*lines, verdict]


def collect_lines(report: CollectReport) -> list[str]:
    """What went, and who is poorer for it."""
    did = "would remove" if report.dry_run else "removed"
    more = f" and {report.leftovers} leftovers of interrupted work" if report.leftovers else ""
    gone = f"{did} {report.removed} objects ({size_text(report.removed_size)}){more}"
    lines = [f"{gone}; {report.left} stay ({size_text(report.left_size)}); runs kept: {len(report.kept)}"]
    if report.forgotten:
        lose = "would lose" if report.dry_run else "lost"
        lines += [f"runs that were not kept {lose} artifacts:", *_first(report.forgotten, "  ")]
    return lines


def export_lines(report: ExportReport) -> list[str]:
    """Where it is, and how to take it in."""
    return [
        f"exported run {report.run}: {report.files} files and {report.objects} objects, {size_text(report.size)}",
        f"{report.file}  sha256 {report.digest}",
        f"next: in another project: bench store import {report.file}",
    ]


def import_lines(report: ImportReport) -> list[str]:
    """Where it is."""
    if report.outcome == "already-there":
        return [
            f"run {report.run} is already there, file by file the same; {report.objects} objects were put back"
        ]
    return [
        f"imported run {report.run}: {report.files} files, {report.objects} new objects",
        f"{report.folder}",
        f"next: evolve runs show {report.run}",
    ]


def _first(lines: Sequence[str], before: str = "") -> list[str]:
    more = [f"  … and {len(lines) - _MOST} more (--json has them all)"] if len(lines) > _MOST else []
    return [before + line for line in lines[:_MOST]] + more
