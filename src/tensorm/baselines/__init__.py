"""The rivals: other ways to decompose yes/no tensors, with ``fit``, ``factors_``, ``predict`` and ``score``.

``BooleanALS`` and ``WalkNMerge`` are written from the papers that describe them. The others are adapters
around tensorly and pyttb (the extra ``rivals``) and scikit-learn, whose sums of products are cut at a
threshold.
"""

from tensorm.baselines.als import BooleanALS
from tensorm.baselines.real import NMF, BernoulliGCP, NonNegativeCP
from tensorm.baselines.walknmerge import WalkNMerge

__all__ = ["NMF", "BernoulliGCP", "BooleanALS", "NonNegativeCP", "WalkNMerge"]
