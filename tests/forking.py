"""A server that forks processes in which tensorm is imported and compiled, so that they start at once.

A process has one such server. It looks for modules where PYTHONPATH says, not where pytest found them;
otherwise its children would import everything themselves, and be killed while they do.
"""

from __future__ import annotations

import multiprocessing
import os
import sys

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["warm"])
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
