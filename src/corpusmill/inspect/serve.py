"""The server of the inspector: on this machine alone, until Ctrl-C."""

import contextlib
import secrets
import socket
import threading
from collections.abc import Callable
from typing import Any

from corpusmill.assets.extras import INSPECT
from corpusmill.errors import InputError
from corpusmill.report.tables import RunTables

LOCAL_HOST = "127.0.0.1"
SHUTDOWN_SECONDS = 1  # seconds that answers may take still once it is to end


def serve(run: str, port: int, begun: Callable[[str], Any]) -> None:
    """Serve a finished run until the process is interrupted.

    port    0: any that is free
    begun   is called with the address once it can be opened

    Raises MissingExtraError without the extra, InputError if the port is taken, and as RunTables and `Listing` do.
    """
    try:
        import uvicorn

        from corpusmill.inspect.app import Inspector, app
    except ImportError as error:
        raise INSPECT.error("corpusmill inspect") from error

    listening = _open_socket(port)
    with listening:
        inspector = Inspector(RunTables(run))
        token = secrets.token_urlsafe(24)
        config = uvicorn.Config(
            app(inspector, token),
            log_level="warning",
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        threading.Thread(target=inspector.read_ahead, daemon=True).start()
        begun(f"http://{LOCAL_HOST}:{listening.getsockname()[1]}/{token}/")
        with contextlib.suppress(KeyboardInterrupt):  # how it is meant to end
            uvicorn.Server(config).run(sockets=[listening])


def _open_socket(port: int) -> socket.socket:
    """A socket that takes connections of this machine. They wait until the server answers."""
    try:
        listener = socket.create_server((LOCAL_HOST, port))
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(
            f"port {port} of {LOCAL_HOST} cannot be used ({why}): choose another, or omit --port"
        ) from error
    # To sockets that do not name their protocol asyncio leaves Nagle's algorithm, by which answers wait 40 ms.
    return socket.socket(listener.family, listener.type, socket.IPPROTO_TCP, listener.detach())
