"""A fit as one HTML page that can be mailed: what was found, who is in it, how sure that is.

``write`` puts the page together from ``page.html``, ``page.css`` and ``page.js``; ``cells`` works out the
pictures of cells, ``charts`` those of chains and scores, ``recipe`` how to fit the same again, and ``pack``
what the script reads.
"""

from tensorm.report.page.write import render_report, write_report

__all__ = ["render_report", "write_report"]
