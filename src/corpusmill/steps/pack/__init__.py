"""Steps that pack documents into rows of equal length: which tokens of which documents are in which row."""
