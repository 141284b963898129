"""Whole runs in an object store that goes wrong in every way that object stores do."""
