"""The draws of each chain, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorm.data.checks import check_choice
from tensorm.posterior.modes import posterior_of
from tensorm.report.plots.style import CHAINS, POINTS, name_axes, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tensorm.estimator.machine import TensOrMachine
    from tensorm.posterior.draws import Posterior

QUANTITIES = {"log-likelihood": "log_likelihood", "accuracy": "accuracy", "log posterior": "log_posterior"}


def plot_traces(
    model: TensOrMachine | Posterior, quantity: str = "log-likelihood", ax: Axes | None = None
) -> Axes:
    """Draw a quantity in every draw of every chain; chains that agree cover the same range.

    Parameters
    ----------
    model : TensOrMachine or Posterior
        A fitted model.
    quantity : "log-likelihood", "accuracy" or "log posterior"
        What to draw; accuracy is the share of the observed cells that equal the Boolean product.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        A line for each chain; those that were left out are faint.
    """
    check_choice("quantity", quantity, tuple(QUANTITIES))
    posterior = posterior_of(model)
    ax = new_axes(ax, (5.2, 3.0))
    for chain, (trace, kept) in enumerate(zip(posterior.chains, posterior.kept, strict=True)):
        ax.plot(
            getattr(trace, QUANTITIES[quantity]),
            color=CHAINS[chain % len(CHAINS)],
            linewidth=0.8,
            alpha=0.9 if kept else 0.35,
            label=f"chain {chain}" + ("" if kept else ", left out"),
        )
    name_axes(ax, "draw", quantity)
    ax.legend(fontsize=POINTS, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return ax
