"""Imported once by the fork server, so that every worker starts with the engine of passes in memory."""

from corpusmill.recipe import passes, writing

__all__ = ["passes", "writing"]
