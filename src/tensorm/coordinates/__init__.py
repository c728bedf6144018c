"""Cells given one by one: lists of coordinates, checked, and read from matrices, tables and files."""

from tensorm.coordinates.cells import Cells, check_shape, key_of, list_cells

__all__ = ["Cells", "check_shape", "key_of", "list_cells"]
