"""Ranges of files on the web, each compared with what was asked for: servers and what is between ignore ranges, answer
with others, and break off."""

import re
from typing import Any, cast

CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")


class WrongRange(ConnectionError):
    """An answer that is not the range that was asked for: asked again, it may be."""


def read_range(fs: Any, url: str, start: int, stop: int) -> bytes:
    """Bytes [start, stop) of a file; fewer where it ends sooner.

    fs   the file system of fsspec for http:// and https://, with whose session and settings is asked

    Raises FileNotFoundError if there is no such file, WrongRange, and what the session raises.
    """
    from fsspec.asyn import sync

    return cast(bytes, sync(fs.loop, _read_range, fs, url, start, stop))


async def _read_range(fs: Any, url: str, start: int, stop: int) -> bytes:
    settings = dict(fs.kwargs)
    asked = {"Range": f"bytes={start}-{stop - 1}", "Accept-Encoding": "identity"}
    headers = {**settings.pop("headers", {}), **asked}
    session = await fs.set_session()
    async with session.get(fs.encode_url(url), headers=headers, **settings) as answer:
        if answer.status == 416:  # it begins after the end
            return b""
        fs._raise_not_found_for_status(answer, url)
        if answer.status != 206:  # all of it, from a server without ranges
            return await _part(answer.content, start, stop)
        data: bytes = await answer.read()
        parts = CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", ""))
        if parts is None and len(data) <= stop - start:  # against the standard, it does not say which part it gives
            return data
        end = min(stop, int(parts[3])) if parts and parts[3] != "*" else stop
        if parts is None or (int(parts[1]), int(parts[2]) + 1, len(data)) != (start, end, end - start):
            said = f", called {parts[0]}" if parts else ""
            raise WrongRange(f"asked for bytes {start} to {end - 1}, the server gives {len(data)} bytes{said}")
        return data


async def _part(content: Any, start: int, stop: int) -> bytes:
    """Bytes [start, stop) of a stream, which is read no further."""
    at, parts = 0, []
    async for block in content.iter_chunked(1 << 16):
        parts.append(block[max(0, start - at) : max(0, stop - at)])
        at += len(block)
        if at >= stop:
            break
    return b"".join(parts)
