"""How many components: four ways to choose, each with a recommendation and its reason."""

from tensorm.selection.by_sampling import choose_by_occam, choose_by_posterior
from tensorm.selection.result import Candidate, Selection, Trial

__all__ = ["Candidate", "Selection", "Trial", "choose_by_occam", "choose_by_posterior"]
