"""Results as tables for pandas and notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from tensorm.data.opening import need

if TYPE_CHECKING:
    import pandas as pd


def tabulate(rows: Iterable[Any], columns: Sequence[str], **more: Any) -> pd.DataFrame:
    """Return a pandas table."""
    table: pd.DataFrame = need("pandas", "Tables", "pandas").DataFrame(list(rows), columns=columns, **more)
    return table


def to_html(table: pd.DataFrame, sentences: Iterable[str] = (), index: bool = False) -> str:
    """Return a table and some sentences below as HTML."""
    told = "".join(f"<p>{escape(text)}</p>" for text in sentences)
    shown = table.astype(object).where(table.notna(), "-")
    return str(shown.to_html(index=index, border=0, float_format="{:,.3f}".format)) + told
