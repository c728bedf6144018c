"""Input data of every kind, checked and turned into labelled cells.

read.py is where to begin; it says how to add a file format or an option.
"""
