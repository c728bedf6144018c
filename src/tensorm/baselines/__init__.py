"""Other Boolean tensor decompositions to compare with, with ``fit``, ``factors_``, ``predict`` and ``score``.

``BooleanALS`` and ``WalkNMerge`` are implemented from the papers that describe them.
"""

from tensorm.baselines.als import BooleanALS
from tensorm.baselines.walknmerge import WalkNMerge

__all__ = ["BooleanALS", "WalkNMerge"]
