"""A fit as a single HTML page that can be mailed: what was found, who is in it, how certain that is.

``write`` assembles the page from ``page.html``, ``page.css`` and ``page.js``; ``cells`` prepares the pictures
of cells, ``charts`` those of chains and scores.
"""

from tensorm.report.page.write import render_report, write_report

__all__ = ["render_report", "write_report"]
