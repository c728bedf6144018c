"""How many components? Four ways to choose, one recommendation with its reason."""

from tensorm.selection.select import select_components

__all__ = ["select_components"]
