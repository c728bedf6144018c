"""Pictures of a fit with matplotlib: Axes in, Axes out.

A picture of several modes, or of two kinds of cells, is a Figure. matplotlib comes with the extra ``plot``
and is imported only when something is drawn.
"""

from tensorm.report.plots.associations import plot_associations
from tensorm.report.plots.calibration import plot_calibration
from tensorm.report.plots.cells import plot_reconstruction, plot_slice
from tensorm.report.plots.chains import plot_traces
from tensorm.report.plots.components import plot_component, plot_contributions, plot_members
from tensorm.report.plots.factors import plot_factor, plot_factors

__all__ = [
    "plot_associations",
    "plot_calibration",
    "plot_component",
    "plot_contributions",
    "plot_factor",
    "plot_factors",
    "plot_members",
    "plot_reconstruction",
    "plot_slice",
    "plot_traces",
]
