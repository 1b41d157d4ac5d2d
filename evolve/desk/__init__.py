"""What a proposer that pays a session gets of its run: evidence of the training split, and the session itself."""

from evolve.desk.answers import PROPOSING, AnswerFile, was_proposing
from evolve.desk.asking import Errands, GenerationDesk, open_errands
from evolve.desk.expecting import ProposingCost, proposing_cost, sum_at_most

__all__ = [
    "PROPOSING",
    "AnswerFile",
    "Errands",
    "GenerationDesk",
    "ProposingCost",
    "open_errands",
    "proposing_cost",
    "sum_at_most",
    "was_proposing",
]
