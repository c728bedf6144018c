"""How many components: ways to choose, each with a recommendation and its reason."""

from tensorm.report.selection import Candidate, Selection, Trial
from tensorm.selection.by_sampling import choose_by_occam, choose_by_posterior

__all__ = ["Candidate", "Selection", "Trial", "choose_by_occam", "choose_by_posterior"]
