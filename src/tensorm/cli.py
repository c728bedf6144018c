"""The command line."""

from __future__ import annotations

import click


@click.group()
def main() -> None:
    """Find patterns in multi-way yes/no data."""
