"""Input data of every kind, checked and turned into labelled cells."""
