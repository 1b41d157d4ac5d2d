"""Skill roots, fingerprints, overlays: what they may contain, their digest, putting one into a working copy."""

from bench.skills.alarm import ArmChange, IdenticalChange, identical_changes
from bench.skills.arms import required_arms
from bench.skills.model import Overlay, Skill
from bench.skills.overlay import apply_overlay, check_against, make_overlay, stack_overlays
from bench.skills.overlay_files import freeze_overlay, read_overlay, write_overlay
from bench.skills.placing import combined_digest, fingerprint, placed_files
from bench.skills.read import read_family, read_skill

__all__ = [
    "ArmChange",
    "IdenticalChange",
    "Overlay",
    "Skill",
    "apply_overlay",
    "check_against",
    "combined_digest",
    "fingerprint",
    "freeze_overlay",
    "identical_changes",
    "make_overlay",
    "placed_files",
    "read_family",
    "read_overlay",
    "read_skill",
    "required_arms",
    "stack_overlays",
    "write_overlay",
]
