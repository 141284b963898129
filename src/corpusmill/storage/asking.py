"""Questions to object stores, and what is made of their errors."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

from corpusmill import retry
from corpusmill.errors import InputError
from corpusmill.storage import stores
from corpusmill.storage.trouble import StoreError, errors_of

STATUS = re.compile(r"status code: (\d{3}) ?([\w ]*)")
CODE, MESSAGE = re.compile(r"<Code>([^<]+)</Code>"), re.compile(r"<Message>([^<]+)")
WAITED = re.compile(r" in [\d.]+\S+, after \d+ retries, max_retries: \d+, retry_timeout: \S+ ")
T = TypeVar("T")


def ask(path: str, question: Callable[[Any, str], T]) -> T:
    """The answer of a store, which is given with the key in it; asked again where the trouble may pass."""
    with errors_of(path):
        return retry.patiently(lambda: once(path, question), may_pass)


def once(path: str, question: Callable[[Any, str], T]) -> T:
    store, key = stores.connect(path)
    from obstore.exceptions import BaseError

    try:
        return question(store, key)
    except FileNotFoundError as error:
        if no_bucket := _no_bucket(path, str(error)):
            raise no_bucket from error
        raise
    except BaseError as error:
        raise _no_bucket(path, str(error)) or _translated(error) from error
    except ValueError as error:
        raise InputError(f"{path}: {str(error).partition(': ')[2] or error}") from error


def _no_bucket(path: str, message: str) -> InputError | None:
    if not re.search(r"<Code>(NoSuchBucket|ContainerNotFound)</Code>|bucket does not exist", message):
        return None
    return InputError(f"{path}: there is no bucket {root_of(path)}. Make it first, or name another one")


def _translated(error: Exception) -> StoreError:
    """What an error of obstore is about, without the request, the document around the message, and its insides."""
    text = str(error)
    code, message = CODE.search(text), MESSAGE.search(text)
    if status := STATUS.search(text):
        words = message[1].strip().rstrip(".") if message else ""
        parts = [code[1] if code else status[2].strip(), words]
        return StoreError(f"HTTP {status[1]}: {': '.join(part for part in parts if part)}", int(status[1]))
    if "redirect without LOCATION" in text:
        return StoreError("the bucket is in another region than this. Set AWS_REGION", 301)
    return StoreError(WAITED.sub("", text.partition("\n")[0]), unreachable="kind: Connect" in text)


def status_of(error: BaseException) -> int | None:
    if isinstance(error, StoreError):
        return error.status
    match = STATUS.search(str(error))
    return int(match[1]) if match else None


def may_pass(error: Exception) -> bool:
    if not isinstance(error, StoreError):
        return False
    # S3 calls a request that came too slowly a bad one.
    return error.status is None or error.status in retry.PASSING_STATUS or "RequestTimeout" in str(error)


def root_of(path: str) -> str:
    """The bucket of a URL, as a URL."""
    return "/".join(path.split("/", 3)[:3])
