"""How many components: what a choice says, and the choices that need no more than the sampler."""

from tensorm.choice.chains import choose_by_occam, choose_by_posterior
from tensorm.choice.result import Candidate, Selection, Trial
from tensorm.choice.teams import Team

__all__ = ["Candidate", "Selection", "Team", "Trial", "choose_by_occam", "choose_by_posterior"]
