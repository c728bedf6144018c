"""Who found what: the explanations of a fit beside the one with most weight.

Chains with the same explanation have the same components, so explanations are compared and not single chains.
Every output that says who found a component asks here, so that all of them say the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, compress
from typing import NamedTuple

import numpy as np

from tensorm.posterior.align import SURE, active, pair_components, worse
from tensorm.posterior.draws import Posterior

SMALLEST_GAIN = 0.01  # of the log-likelihood of a constant; less is noise


class FoundBy(NamedTuple):
    """What the chains with one explanation found, beside the explanation with most weight.

    Attributes
    ----------
    chains : tuple of int
        Their numbers.
    weight : float
        Of all of them, in predictions.
    found : tuple of int
        Components of the first explanation that they found, too; one that they have halfway counts.
    lacking : tuple of int
        Those that they did not find.
    extra : tuple of int
        Their own other components.
    halfway : tuple of int
        Their own components that the first explanation has halfway, so that the two do not differ on them.
    gain : float
        By how much their log-likelihood exceeds that of the first explanation, medians over draws; 0 if not
        clearly.
    """

    chains: tuple[int, ...]
    weight: float
    found: tuple[int, ...]
    lacking: tuple[int, ...]
    extra: tuple[int, ...]
    halfway: tuple[int, ...]
    gain: float

    @property
    def active(self) -> int:
        """Number of its components."""
        return len(self.found) + len(self.extra) + len(self.halfway)


class Findings(tuple[FoundBy, ...]):
    """What each explanation found, the one with most weight first."""

    __slots__ = ()

    @property
    def used(self) -> tuple[int, ...]:
        """Components of the first explanation that have a member in every mode."""
        return self[0].found

    @property
    def everywhere(self) -> list[int]:
        """Those of them that all chains found."""
        return [l for l in self.used if all(l in one.found for one in self)]

    @property
    def nothing(self) -> bool:
        """Whether no chain found a component."""
        return not any(one.active for one in self)

    @property
    def same(self) -> bool:
        """Whether all chains found the same components."""
        return not any(one.lacking or one.extra for one in self)

    def count_finders(self, n_components: int) -> list[int]:
        """Return how many chains found each component of the first explanation; 0 for an empty one."""
        return [sum(len(one.chains) for one in self if l in one.found) for l in range(n_components)]


def compare_explanations(posterior: Posterior) -> Findings:
    """Compare what the explanations found with the one that has most weight."""
    reference, numbers = posterior.factors, np.array(posterior.explanations)
    used, heights = np.flatnonzero(active(reference)).tolist(), _heights(posterior)
    findings = []
    for number, (weight, means) in enumerate(posterior.explained_by):
        chains = tuple(compress(posterior.numbers, numbers == number))
        pairs = pair_components(reference, means) if number else {l: l for l in used}
        found = tuple(l for l in used if l in pairs)
        rest = sorted({*np.flatnonzero(active(means)).tolist()} - {pairs[l] for l in found})
        halfway = tuple(l for l in rest if l in pairs.values())
        extra = tuple(l for l in rest if l not in halfway)
        lacking = tuple(l for l in used if l not in pairs)
        clear = worse(posterior.traces_of(number)[0], posterior.traces[0])
        gain = max(heights[number] - heights[0], 0.0) if clear else 0.0
        findings.append(FoundBy(chains, weight, found, lacking, extra, halfway, gain))
    return Findings(findings)


def _heights(posterior: Posterior) -> list[float]:
    """Return the log-likelihood of each explanation, the median over its draws."""
    parts = [posterior.traces_of(number) for number in range(len(posterior.explained_by))]
    return [float(np.median(np.concatenate([trace.log_likelihood for trace in part]))) for part in parts]


def doubt_findings(posterior: Posterior) -> str:
    """Return why the data look like noise, or nothing if they do not, whichever explanation is first."""
    explained = [means for _, means in posterior.explained_by]
    used = [[part[:, active(means)] for part in means] for means in explained]
    if not any(part.size for means in used for part in means):
        return "no component has members in every mode"
    if max(float(part.max(initial=0)) for means in used for part in means) <= SURE:
        return f"no membership has p > {SURE}"
    if len(posterior.chains) > 1 and not _share_components(posterior, explained):
        return "no two chains found the same component"
    rate = posterior.base_rate
    if posterior.compared or not 0 < rate < 1:
        return ""
    constant = posterior.n_observed * (rate * math.log(rate) + (1 - rate) * math.log(1 - rate))
    best = max(_heights(posterior))
    return "" if 1 - best / constant >= SMALLEST_GAIN else "the components explain next to nothing"


def _share_components(posterior: Posterior, explained: Sequence[Sequence[np.ndarray]]) -> bool:
    """Whether some component was found by two chains."""
    sizes = np.bincount(posterior.explanations)
    if any(size > 1 and active(means).any() for size, means in zip(sizes, explained, strict=True)):
        return True
    return any(
        active(a)[one] and active(b)[other]
        for a, b in combinations(explained, 2)
        for one, other in pair_components(a, b).items()
    )
