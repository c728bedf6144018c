"""Everything people bring, checked and turned into labelled cells."""
