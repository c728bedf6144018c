"""The version, for the package and for what builds it."""

__version__ = "1.0.0"
