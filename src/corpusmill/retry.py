"""Questions to remote places, asked again where the trouble may pass: timeouts, broken connections, HTTP 429 and 5xx.

Waits double from FIRST_WAIT to LONGEST_WAIT seconds, times a random factor, so that workers that failed together do not
come back together; a `Retry-After` of the server is obeyed up to LONGEST_RETRY_AFTER. After ATTEMPTS the last error is
raised. What will not pass (404, 403, a wrong name) is raised at once.

Errors are known by what they say, not by their class: file systems bring libraries of their own, which need not be
installed.
"""

import errno
import http.client
import random
import time
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

ATTEMPTS = 6
ATTEMPTS_UNREACHABLE = 3  # where nobody answers at all: most often there is no network, and somebody waits for an error
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0  # seconds
LONGEST_RETRY_AFTER = 120.0  # seconds that a server may ask for
PASSING_STATUS = {408, 425, 429, 500, 502, 503, 504}
PASSING_ERRNO = {
    errno.ECONNRESET, errno.ECONNABORTED, errno.ECONNREFUSED, errno.EPIPE, errno.ETIMEDOUT, errno.EHOSTUNREACH,
    errno.ENETUNREACH, errno.ENETRESET, errno.EAGAIN, errno.EBUSY, errno.EIO,
}  # fmt: skip
PASSING_CLASSES = {  # of aiohttp, requests, urllib3, httpx, botocore
    "ClientConnectionError", "ClientPayloadError", "ConnectionError", "ChunkedEncodingError", "Timeout",
    "ProtocolError", "TransportError", "HTTPClientError", "ResponseStreamingError", "IncompleteReadError",
}  # fmt: skip
UNREADABLE = "BadHttpMessage"  # of aiohttp: what was received, whose `code` is no status of an answer
LASTING = (FileNotFoundError, FileExistsError, PermissionError, IsADirectoryError, NotADirectoryError)
T = TypeVar("T")
# Not the module's own generator: workers are forked, and would all draw the same.
_chance = random.SystemRandom()


def patiently(
    ask: Callable[[], T], passes: Callable[[Exception], bool] | None = None, attempts: int | None = None
) -> T:
    """The answer to a question that may be asked again; `passes` says of which errors, those of `may_pass` if not
    given."""
    for attempt in range(1, attempts or ATTEMPTS):
        try:
            return ask()
        except Exception as error:
            if not (passes or may_pass)(error) or (attempt >= ATTEMPTS_UNREACHABLE and is_unreachable(error)):
                raise
            time.sleep(max(wait(attempt), retry_after(error)))
    return ask()


def wait(attempt: int) -> float:
    """Seconds to wait after so many attempts."""
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (attempt - 1)) * _chance.uniform(0.5, 1.5)


def may_pass(error: Exception) -> bool:
    """Whether the same question may be answered a little later."""
    if isinstance(error, LASTING):
        return False
    status = http_status(error)
    if status is not None:
        return status in PASSING_STATUS
    return any(
        isinstance(cause, TimeoutError | ConnectionError | http.client.IncompleteRead | http.client.BadStatusLine)
        or getattr(cause, "errno", None) in PASSING_ERRNO
        or not PASSING_CLASSES.isdisjoint(kind.__name__ for kind in type(cause).__mro__)
        for cause in _chain(error)
    )


def is_unreachable(error: Exception) -> bool:
    """Whether nobody was there to answer: the name is unknown, or the connection was refused."""
    if any(getattr(cause, "unreachable", False) for cause in _chain(error)):
        return True
    message = " ".join(f"{type(cause).__name__} {cause}" for cause in _chain(error)).lower()
    return any(
        words in message
        for words in ("refused", "cannot connect to host", "name or service", "resol", "getaddrinfo", "nodename")
    )


def http_status(error: BaseException) -> int | None:
    """The status of the answer that an error is about; None if there was none."""
    for cause in _chain(error):
        if any(kind.__name__ == UNREADABLE for kind in type(cause).__mro__):
            continue
        response = getattr(cause, "response", None)
        status = getattr(cause, "status", None)
        # aiohttp warns of its `code`, which is its `status`.
        statuses = [
            status if status is not None else getattr(cause, "code", None),
            getattr(response, "status_code", None),
        ]
        if isinstance(response, dict):  # botocore
            statuses.append(response.get("ResponseMetadata", {}).get("HTTPStatusCode"))
        for status in statuses:
            if isinstance(status, int) and 100 <= status < 600:
                return status
    return None


def retry_after(error: BaseException) -> float:
    """Seconds that the server asks to wait, 0 if it asks for none."""
    for cause in _chain(error):
        response = getattr(cause, "response", None)
        headers: Any = getattr(cause, "headers", None) or getattr(response, "headers", None)
        if isinstance(response, dict):
            headers = response.get("ResponseMetadata", {}).get("HTTPHeaders")
        delay = {str(name).lower(): value for name, value in dict(headers or {}).items()}.get("retry-after")
        if delay:
            return retry_after_seconds(str(delay))
    return 0.0


def retry_after_seconds(delay: str) -> float:
    """Seconds to wait that a header `Retry-After` asks for, a number or a date: LONGEST_RETRY_AFTER at most.

    >>> retry_after_seconds("2"), retry_after_seconds("soon"), retry_after_seconds("9999")
    (2.0, 0.0, 120.0)
    """
    try:
        return min(max(0.0, float(delay)), LONGEST_RETRY_AFTER)
    except ValueError:
        pass
    try:
        return min(max(0.0, parsedate_to_datetime(delay).timestamp() - time.time()), LONGEST_RETRY_AFTER)
    except ValueError:
        return 0.0


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and those that it was raised from."""
    ids: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in ids:
        ids.add(id(cause))
        yield cause
        reason = getattr(cause, "reason", None)  # of urllib
        cause = cause.__cause__ or cause.__context__ or (reason if isinstance(reason, BaseException) else None)
