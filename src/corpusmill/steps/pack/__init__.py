"""Pack: which tokens of which documents stand in which row."""
