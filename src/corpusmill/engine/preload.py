"""Imported once by the fork server, so that every worker starts with the engine and the kernels in memory.

The kernels are those that were imported before.
"""

import contextlib
import sys

import pyarrow as pa

from corpusmill.engine.work import documents, passes, shards, tokens
from corpusmill.execute.warm_start import unless_left
from corpusmill.text import warming

__all__ = ["documents", "passes", "shards", "tokens"]

# No thread may run where processes are forked. The driver has compiled the kernels: here they are only loaded. One that
# cannot be loaded must not end the server: the worker that calls it says what is wrong.
pa.set_cpu_count(1)
pa.set_io_thread_count(1)
with contextlib.suppress(Exception):
    if warming.is_warm(needed := warming.imported_kernels()):
        warming.warm(needed)
sys.excepthook = unless_left
