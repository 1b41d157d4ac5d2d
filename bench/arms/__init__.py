"""What one arm does in one cell: its sessions, phase boundaries, and the row that records it."""

__all__: list[str] = []
