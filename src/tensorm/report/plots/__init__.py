"""Pictures of a fit with matplotlib: Axes in, Axes out.

A picture with several panels is a Figure. matplotlib comes with the extra ``plot`` and is imported only when
something is drawn. ArviZ draws traces (``arviz_plots.plot_trace(model.to_datatree())``) and scikit-learn
calibration curves (``sklearn.calibration.CalibrationDisplay``).
"""

from tensorm.report.plots.components import (
    plot_associations,
    plot_component,
    plot_contributions,
    plot_members,
)
from tensorm.report.plots.heatmaps import plot_factor, plot_factors, plot_reconstruction, plot_slice

__all__ = [
    "plot_associations",
    "plot_component",
    "plot_contributions",
    "plot_factor",
    "plot_factors",
    "plot_members",
    "plot_reconstruction",
    "plot_slice",
]
PLOTS = {name.removeprefix("plot_"): globals()[name] for name in __all__}  # for ``TensOrMachine.plot``
