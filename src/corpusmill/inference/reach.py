"""Is a server there, and has it the model? Asked before a run, without a question to the model."""

import http.client
import urllib.error
import urllib.request
from collections.abc import Sequence

import orjson

from corpusmill.errors import did_you_mean
from corpusmill.inference.server import Server

TIMEOUT = 5.0  # seconds
SHOWN = 5  # models of a server


def problem(server: Server) -> str | None:
    """What a run would meet, as a sentence; None if there is nothing to say."""
    request = urllib.request.Request(f"{server.url.rstrip('/')}/models")
    secret = server.secret()
    if secret:
        request.add_header("Authorization", f"Bearer {secret}")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            models = _names(response.read())
    except urllib.error.HTTPError as error:
        if error.code in (401, 403):
            return f"{server.url} does not take the key that `key` names (HTTP {error.code})"
        return None  # not all servers list their models
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        why = getattr(reason, "strerror", None) or str(reason) or type(error).__name__
        wait = f"a run waits {server.patience:g} s for it (`patience`)"
        return f"{server.url} does not answer: {why}. Start the server, or mend `url`; {wait}"
    if not models or server.model in models:
        return None
    shown = ", ".join(models[:SHOWN]) + (", …" if len(models) > SHOWN else "")
    return f"{server.url} has no model {server.model}{did_you_mean(server.model, models)} It has {shown}"


def _names(data: bytes) -> Sequence[str]:
    """The models in an answer of the protocol; none if it is not one."""
    try:
        return [str(entry["id"]) for entry in orjson.loads(data)["data"]]
    except (ValueError, KeyError, TypeError):
        return ()
