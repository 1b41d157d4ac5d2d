"""What one arm does in one cell: its sessions, phase boundaries, and the row that records it."""

from bench.arms.cell import CHECK_OUTPUT, STOP_CAUSES, measure, same_measurement
from bench.arms.checking import check_review
from bench.arms.journal import CellEnded, CellKey, Entry, Journal, SessionEnded, open_journal, read_sessions
from bench.arms.line import ModelAccess
from bench.arms.live import LiveFiles, Shown
from bench.arms.looking import Look
from bench.arms.model import LARGEST_ARTIFACT, Cell, Session, Turn
from bench.arms.outside import OUTPUT, Crew, Errand, run_outside
from bench.arms.places import Place
from bench.arms.provenance import NOT_BUILT, identity, provenance
from bench.arms.remembering import use_of
from bench.arms.session import check_place, confined_environment, dependency_mounts, limits_of
from bench.arms.tools import check_tools, derived_assets
from bench.arms.workbench import Arm, SessionMemory, TemplateSource, Workbench

__all__ = [
    "CHECK_OUTPUT",
    "LARGEST_ARTIFACT",
    "NOT_BUILT",
    "OUTPUT",
    "STOP_CAUSES",
    "Arm",
    "Cell",
    "CellEnded",
    "CellKey",
    "Crew",
    "Entry",
    "Errand",
    "Journal",
    "LiveFiles",
    "Look",
    "ModelAccess",
    "Place",
    "Session",
    "SessionEnded",
    "SessionMemory",
    "Shown",
    "TemplateSource",
    "Turn",
    "Workbench",
    "check_place",
    "check_review",
    "check_tools",
    "confined_environment",
    "dependency_mounts",
    "derived_assets",
    "identity",
    "limits_of",
    "measure",
    "open_journal",
    "provenance",
    "read_sessions",
    "run_outside",
    "same_measurement",
    "use_of",
]
