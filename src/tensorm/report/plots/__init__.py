"""Pictures of a fit with matplotlib: functions that return Axes, or a Figure if there are several panels.

matplotlib comes with the extra ``plot`` and is imported only when something is drawn. ArviZ draws traces
(``arviz_plots.plot_trace(model.to_datatree())``). report/page draws the charts of the HTML page.

A new plot is a function ``plot_<kind>(posterior, ...)`` that is listed in ``__all__``; ``TensOrMachine.plot``
then finds it. ``@of_posterior`` lets it take a fitted model, too; style.py has axes, colours and names. Add
the kind to the docstring of that method.
"""

from tensorm.report.plots.calibration import plot_calibration
from tensorm.report.plots.components import (
    plot_activity,
    plot_associations,
    plot_component,
    plot_contributions,
    plot_members,
    plot_strengths,
)
from tensorm.report.plots.heatmaps import plot_factor, plot_factors, plot_reconstruction, plot_slice

__all__ = [
    "plot_activity",
    "plot_associations",
    "plot_calibration",
    "plot_component",
    "plot_contributions",
    "plot_factor",
    "plot_factors",
    "plot_members",
    "plot_reconstruction",
    "plot_slice",
    "plot_strengths",
]
PLOTS = {name.removeprefix("plot_"): globals()[name] for name in __all__}  # for ``TensOrMachine.plot``
