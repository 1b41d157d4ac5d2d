"""Skill roots, fingerprints, overlays: what they may contain, their digest, putting one into a working copy."""

__all__: list[str] = []
