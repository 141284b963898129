"""Deduplication: steps that compare every document with all others, through keys."""
