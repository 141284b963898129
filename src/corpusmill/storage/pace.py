"""Manners towards a server that is asked often: who asks, and how often all processes of this machine ask it together.

A server counts requests by address, and so does this: the time of the next free turn is in a file of the machine's
temporary folder, which each request moves on. After an answer that asks for less, it is moved on for all.
"""

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import xxhash

from corpusmill import system
from corpusmill.about import __version__
from corpusmill.retry import LONGEST_RETRY_AFTER, http_status, retry_after

SLOW_DOWN = (403, 429, 503)  # servers of data sets refuse with 403 whoever has asked too often
PAUSE = 1.0  # seconds without requests after such an answer that names no time
LONGEST_TURN = 2 * LONGEST_RETRY_AFTER  # seconds: a turn that is later is of a clock that was set back


@dataclass(frozen=True)
class Manners:
    """How a server is asked.

    user_agent   what requests say of who makes them
    per_second   requests of all processes of this machine, at most
    """

    user_agent: str
    per_second: float


_manners: dict[str, Manners] = {}  # scheme://host:port -> how it is asked by this process


def agree_on(url: str, contact: str, per_second: float) -> None:
    """From now on this process asks the server of a URL with these manners; it is known to serve ranges of files.

    contact   an address at which whoever asks can be reached
    """
    user_agent = f"corpusmill/{__version__} (+{contact})"
    _manners[_server(url)] = Manners(user_agent, per_second)


def manners_of(url: str) -> Manners | None:
    """How the server of a URL is asked; None: as any other."""
    return _manners.get(_server(url)) if _manners else None


def _server(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}".lower()


def take_turn(url: str, manners: Manners) -> None:
    """Wait until this process may ask."""
    now = time.time()
    with _next_turn(url) as file:
        turn = max(now, min(_read(file), now + LONGEST_TURN))
        _write(file, turn + 1 / manners.per_second)
    time.sleep(max(0.0, turn - time.time()))


def slow_down(url: str, error: Exception) -> None:
    """After an error that asks for fewer requests: nobody on this machine asks for the time that it names."""
    if http_status(error) in SLOW_DOWN:
        with _next_turn(url) as file:
            _write(file, max(_read(file), time.time() + (retry_after(error) or PAUSE)))


def _read(file: IO[bytes]) -> float:
    file.seek(0)
    try:
        return float(file.read() or 0)
    except ValueError:  # of a machine that lost power
        return 0.0


def _write(file: IO[bytes], turn: float) -> None:
    file.seek(0)
    file.truncate()
    file.write(f"{turn:.6f}".encode())
    file.flush()


@contextlib.contextmanager
def _next_turn(url: str) -> Iterator[IO[bytes]]:
    """The file with the time of the next turn, which no other process reads or writes meanwhile."""
    user = getattr(os, "getuid", lambda: "")()
    folder = Path(tempfile.gettempdir(), f"corpusmill-turns-{user}")
    folder.mkdir(mode=0o700, exist_ok=True)
    with Path(folder, xxhash.xxh3_64_hexdigest(_server(url).encode())).open("ab+", buffering=0) as file:
        system.lock(file)  # until it is closed
        yield file
