"""How a fit is shown: sentences, plots and a page for the browser."""

from tensorm.report import associations, describe, metadata, plots

__all__ = ["associations", "describe", "metadata", "plots"]
