"""How a fit is shown: sentences, plots and a page for the browser.

describe.py is where to begin; plots/ and page/ have docstrings of their own.
"""

from tensorm.report import associations, describe, metadata, plots

__all__ = ["associations", "describe", "metadata", "plots"]
