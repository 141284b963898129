"""Imported once by the fork server, so that every worker starts with the engine and the kernels in memory.

The kernels are those that were imported before.
"""

import contextlib

from corpusmill.engine import lazy_preload
from corpusmill.text import warming

__all__ = ["lazy_preload"]

# The driver has compiled them: here they are only loaded. One that cannot be loaded must not end the server: the worker
# that calls it says what is wrong.
with contextlib.suppress(Exception):
    if warming.is_warm(needed := warming.imported_kernels()):
        warming.warm(needed)
