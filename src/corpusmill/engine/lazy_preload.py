"""Imported once by the fork server, so that every worker starts with the engine in memory.

Of the kernels, each worker loads those that it calls, when it first calls them.
"""

import sys

import pyarrow as pa
from numba.core.registry import cpu_target

from corpusmill.engine.work import documents, passes, shards, tokens
from corpusmill.execute.warm_start import unless_left
from corpusmill.text.compile import without_extensions

__all__ = ["documents", "passes", "shards", "tokens"]

# What numba does before the first kernel is loaded, whichever that is: it takes longer than to load a dozen.
with without_extensions():
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
# No thread may run where processes are forked.
pa.set_cpu_count(1)
pa.set_io_thread_count(1)
sys.excepthook = unless_left
