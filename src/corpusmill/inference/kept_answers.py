"""Where the answers of the unit at work are kept. Apart from the client, whose libraries would count for every pass."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_folder: ContextVar[tuple[str, dict[bytes, Any]] | None] = ContextVar("_folder", default=None)


@contextmanager
def answers_in(folder: str) -> Iterator[None]:
    """Meanwhile answers are kept in this folder, unless a server has one of its own; "": it must have one."""
    token = _folder.set((folder, {}))
    try:
        yield
    finally:
        _folder.reset(token)


def at_work() -> tuple[str, dict[bytes, Any]] | None:
    """The folder, and by the key of a question what was refused since; None outside of units."""
    return _folder.get()
