"""Repositories of code: what git ignores, which language a file is in, what it imports, under which licence it is."""
