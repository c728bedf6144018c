"""What a report holds for its explorer: packed JSON inside the page."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from pathlib import Path
from typing import Any


def page_data(path: Path) -> Any:
    """Return the data of a page."""
    packed = re.search(r'<script id="data"[^>]*>([^<]*)</script>', path.read_text(encoding="utf-8"))
    assert packed
    return json.loads(zlib.decompress(b64decode(packed[1])))
