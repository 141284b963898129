"""The connection to a Ray cluster, or one started on this machine."""

import contextlib
import logging
import os
import re
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpusmill.assets import leftovers
from corpusmill.assets.extras import RAY
from corpusmill.errors import ClusterError, RecipeError

LOCAL = "local"
OBJECT_STORE_BYTES = 100 << 20  # bytes of Ray's object store where we start it; nothing of size goes through it
SOCKET_SUFFIX = 66  # characters that Ray adds to its temporary folder for the name of a socket
CONNECT_SECONDS = 10.0  # seconds for a connection
LONGEST_SOCKET = 103  # characters of such a name that every system takes
QUIET_VARIABLES = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
    "RAY_enable_metrics_collection": "0",
}
ADDRESS_PATTERN = re.compile(r"[^\s:/]+:\d+|\[[0-9A-Fa-f:.]+\]:\d+")


def checked_address(address: str | None) -> str:
    """An address that leaves no doubt which cluster it is. Raises RecipeError.

    >>> checked_address("10.0.0.1:6379"), checked_address("local")
    ('10.0.0.1:6379', 'local')
    """
    how = 'Write the head\'s address, "10.0.0.1:6379", or "local" to start Ray on this machine for this run.'
    if not address:
        raise RecipeError(
            f"executor: ray needs run.address: without one, Ray joins any cluster that it finds on this machine. {how}"
        )
    if address == "auto":
        raise RecipeError(
            f'address: "auto" joins any cluster that Ray finds on this machine. {how} In a job of Ray\'s own, that is '
            '"${RAY_ADDRESS}".'
        )
    if address.startswith("ray://"):
        raise RecipeError(
            f"address: {address} is one of Ray Client, whose tasks end with the connection. Run corpusmill on a "
            "machine of the cluster, as a job of Ray's (ray job submit), with the head's address, as in 10.0.0.1:6379."
        )
    if address != LOCAL and not ADDRESS_PATTERN.fullmatch(address):
        raise RecipeError(f"address: {address} is not a host and port. {how}")
    return address


def imported() -> Any:
    """The module. Raises MissingExtraError."""
    for name, value in QUIET_VARIABLES.items():
        os.environ.setdefault(name, value)
    try:
        import ray
        import ray.exceptions
        import ray.util.scheduling_strategies
    except ImportError as error:
        raise RAY.error("the executor ray") from error
    return ray


@contextlib.contextmanager
def connected(address: str | None, processors: int) -> Iterator[None]:
    """Inside, this process is a driver of the cluster at the address.

    processors   of a cluster that is started here

    Raises RecipeError, ClusterError or MissingExtraError.
    """
    address = checked_address(address)
    ray = imported()
    if ray.is_initialized():
        if (joined := ray.get_runtime_context().gcs_address) != address:
            raise ClusterError(f"this process is connected to the Ray cluster at {joined} already, not to {address}")
        yield
        return
    if address != LOCAL:
        _answers(address)
    with contextlib.ExitStack() as stack:
        options: dict[str, Any] = {}
        if address == LOCAL:
            options = {"num_cpus": processors, "object_store_memory": OBJECT_STORE_BYTES, "include_dashboard": False}
            if (folder := stack.enter_context(_folder())) is not None:
                options["_temp_dir"] = folder
        with _signals_kept(), _no_messages():
            try:
                ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **options)
            except Exception as error:
                ray.shutdown()
                raise ClusterError(_why(address, error)) from error
        stack.callback(ray.shutdown)
        yield


def _answers(address: str) -> None:
    """Raises ClusterError if nobody listens there, which Ray itself takes minutes to find."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
    except OSError as error:
        raise ClusterError(_why(address, error)) from error


def _why(address: str, error: Exception) -> str:
    message = " ".join(str(error).split())
    if "ersion mismatch" in message:
        return f"the Ray cluster at {address} cannot be joined: {message}"
    if address == LOCAL:
        return f"Ray could not be started on this machine: {type(error).__name__}: {message[:500]}"
    return (
        f"no Ray cluster answers at {address} ({type(error).__name__}: {message[:300]}). On its head: "
        "ray start --head --port 6379. If it was started with a token: RAY_AUTH_MODE=token here, and the same token"
    )


@contextlib.contextmanager
def _folder() -> Iterator[str | None]:
    """A folder for Ray's sockets and logs, removed in the end; None, for Ray's own, where the name is too long."""
    parent = Path(tempfile.gettempdir())
    leftovers.tidy(parent, "cmray-*")  # of processes that were killed
    folder = tempfile.mkdtemp(prefix="cmray-", dir=parent)
    if len(folder) + SOCKET_SUFFIX > LONGEST_SOCKET:
        Path(folder).rmdir()
        yield None
        return
    lock = leftovers.hold(Path(folder))
    try:
        yield folder
    finally:
        if lock is not None:
            os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _signals_kept() -> Iterator[None]:
    """Ray sets what SIGTERM does in a driver; here that is said elsewhere (see `termination`)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _no_messages() -> Iterator[None]:
    """Who connects inside does not print what nodes say of workers that end: the driver says it, and standard output
    may be read by a program. Ray has no setting for it."""
    from ray._private import worker

    before = getattr(worker, "listen_error_messages", None)
    worker.listen_error_messages = lambda *_: None
    try:
        yield
    finally:
        worker.listen_error_messages = before
