"""A fit as a single HTML page that can be mailed: what was found, who is in it, how certain that is.

``content`` collects what it shows: ``finding`` the first sentences, ``members`` who contributes what,
``cells`` pictures and lists of cells, ``charts`` lines. ``write`` puts it into ``page.html``, together with
``page.css`` and the ``scripts``, a file for each view.
"""

from tensorm.report.page.write import render_report, write_page

__all__ = ["render_report", "write_page"]
