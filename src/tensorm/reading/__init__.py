"""Files that people have, read as tensors: tables of events, wide tables, arrays."""

from tensorm.reading.cells import Wanted, metadata_of, read_cells
from tensorm.reading.tables import TABLES, read_any_table

__all__ = ["TABLES", "Wanted", "metadata_of", "read_any_table", "read_cells"]
