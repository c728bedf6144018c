"""Cells given one by one: lists of coordinates, checked, and read from matrices, tables and files."""

from tensorm.data.coordinates.cells import Cells, ConflictError, check_shape, key_of, list_cells
from tensorm.data.coordinates.files import read_file
from tensorm.data.coordinates.listing import Listing, is_matrix, read_matrix, read_table

__all__ = [
    "Cells",
    "ConflictError",
    "Listing",
    "check_shape",
    "is_matrix",
    "key_of",
    "list_cells",
    "read_file",
    "read_matrix",
    "read_table",
]
