"""How workers start, and the process that they are forked from on Linux: it imports once, and early, what all of them
need, and nothing else.

Where there is little to do, it is a copy of the driver: what both import, they import once.
"""

import contextlib
import importlib
import multiprocessing
import os
import pickle
import re
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from functools import cache
from multiprocessing import util
from pathlib import Path
from typing import Any

from corpusmill.about import PACKAGE
from corpusmill.assets import leftovers

LONGEST_SOCKET_FOLDER = (
    70  # bytes of a folder in which a socket may lie: systems allow 103, and 32 are the names below it
)
ENGINE_PRELOAD = "corpusmill.engine.preload"  # imported last: it loads the kernels of what was imported before
LAZY_PRELOAD = "corpusmill.engine.lazy_preload"  # instead of it: a worker loads a kernel when it first calls it
STAGE_GUARD = "corpusmill.engine.plan.identity"  # a worker needs it when it is given a stage
SMALL = 8 << 20  # bytes of input of which the first pass makes one unit: one worker has all the work
METHOD_VARIABLE = "CORPUSMILL_START_METHOD"
OTHER_EXECUTOR = re.compile(r"executor['\"]?\s*[:=]\s*['\"]?(?!processes)\w")


def method() -> str:
    """How workers are started, in the words of `multiprocessing`: "forkserver" on Linux, "spawn" elsewhere.

    Windows forks nothing. On macOS the system's libraries start threads that nobody asked for (Accelerate below NumPy,
    those that look for proxies), and a fork of a process that has some may crash or hang; CPython avoids it there, too.
    CORPUSMILL_START_METHOD is for tests.
    """
    return os.environ.get(METHOD_VARIABLE) or ("forkserver" if sys.platform == "linux" else "spawn")


def context() -> Any:
    """What starts workers."""
    if method() == "forkserver" and len(os.fsencode(tempfile.gettempdir())) > LONGEST_SOCKET_FOLDER:
        before, tempfile.tempdir = tempfile.tempdir, "/tmp"
        try:
            util.get_temp_dir()  # it is made once, and kept
        finally:
            tempfile.tempdir = before
    return multiprocessing.get_context(method())


def start(preload: Sequence[str], in_process: bool = False) -> None:
    """Have the server import these modules while the caller goes on, a second and more; it ignores Ctrl-C. Nothing
    happens where it runs already, or where there is none.

    in_process   import them in this process, and fork the server from it: a second of processor less, and no sooner
                 done. For a process that has work for one worker, has imported little and has no thread yet; where it
                 has one, the server starts as usual
    """
    if method() != "forkserver":
        return
    from multiprocessing import forkserver, resource_tracker

    context().set_forkserver_preload(list(preload))
    resource_tracker.ensure_running()  # it would unblock the signal, if the fork server had to start it
    copied = in_process and sys.platform == "linux" and threading.active_count() == 1
    if copied:
        for name in preload:
            with contextlib.suppress(ImportError):  # as the server does
                importlib.import_module(name)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # what it starts with, it keeps
    try:
        with _copied() if copied else contextlib.nullcontext():
            forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    _hold_sockets()


@contextlib.contextmanager
def _copied() -> Iterator[None]:
    """What `multiprocessing` starts meanwhile with `python -c CODE` is a copy of this process that carries out CODE."""

    def spawn(path: Any, args: Sequence[Any], passfds: Sequence[int]) -> int:
        sys.stdout.flush()
        sys.stderr.flush()
        if pid := os.fork():
            return pid
        try:
            for fd in [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]:
                if fd > 2 and fd not in passfds:
                    with contextlib.suppress(OSError):
                        os.close(fd)
            exec(args[-1], {})
        except SystemExit:
            pass
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(0)

    before, util.spawnv_passfds = util.spawnv_passfds, spawn
    try:
        yield
    finally:
        util.spawnv_passfds = before


def unless_left(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """`sys.excepthook` of the server: it says nothing if the driver ended while it asked for a worker."""
    names = {frame.f_globals.get("__name__") for frame, _ in traceback.walk_tb(trace)}
    if not (issubclass(kind, EOFError) and "multiprocessing.forkserver" in names):
        sys.__excepthook__(kind, error, trace)


@cache
def _hold_sockets() -> Any:
    """Mark the folder with this process's sockets, so that others can remove it if this one is killed; and remove those
    of others that were."""
    folder = Path(util.get_temp_dir())
    lock = leftovers.hold(folder)
    leftovers.tidy(folder.parent, "pymp-*")
    return lock


def is_of_script(work: Any) -> bool:
    """Whether something in it is defined in the script that was started."""
    try:
        return b"__main__" in pickle.dumps(work)
    except Exception:  # it cannot be sent to a worker at all, which sending it will show
        return False


@contextlib.contextmanager
def script_hidden() -> Iterator[None]:
    """Processes that start meanwhile do not import the script that was started. Else a script that calls `run` without
    `if __name__ == "__main__":` would be run again by each."""
    script = sys.modules["__main__"]
    saved: dict[str, Any] = {name: vars(script)[name] for name in ("__file__", "__spec__") if name in vars(script)}
    script.__spec__ = None
    vars(script).pop("__file__", None)
    try:
        yield
    finally:
        vars(script).update(saved)


def leave_if_imported_by_worker() -> None:
    """End this process, quietly, if it is a worker that imports the script that was started: the driver says why."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(1)


def start_for(recipe: Path, settings: Sequence[str], in_process: bool = False) -> None:
    """Start the server with what a recipe seems to need, before anything is imported to read it.

    in_process   as of `start`; where the input seems to be small, it is done anyway

    Steps and readers are looked for by their names. What is not found so is imported by the workers, and a server for a
    recipe that runs otherwise, or that is wrong, ends with this process.
    """
    try:
        text = "\n".join([recipe.read_text("utf-8"), *settings])
    except (OSError, UnicodeDecodeError):
        return
    if OTHER_EXECUTOR.search(text):
        return
    steps = [(path, f"{path.parent.name}/{path.stem}") for path in sorted(PACKAGE.glob("steps/*/[!_]*.py"))]
    readers = [(path, f"{path.stem}:") for path in sorted(PACKAGE.glob("read/[!_]*.py"))]
    paths = [path for path, name in steps + readers if name in text]
    modules = [".".join(("corpusmill", *path.relative_to(PACKAGE).with_suffix("").parts)) for path in paths]
    small = is_probably_small(text)
    start([*modules, STAGE_GUARD, LAZY_PRELOAD if small else ENGINE_PRELOAD], in_process or small)


def is_probably_small(recipe: str) -> bool:
    """Whether the files that the text of a recipe seems to read are less than SMALL together.

    If that is wrong, the first units are done a second later.
    """
    total, count = 0, 0
    section = re.search(r"^read:(.*?)(?=^\w|\Z)", recipe, re.MULTILINE | re.DOTALL)
    read = [section[1] if section else "", *re.findall(r"^read\b.*?=(.*)", recipe, re.MULTILINE)]
    text = re.sub(r"(^|\s)#.*", "", "\n".join(read))
    for path in re.findall(r"[^\s\"'\[\]{},]+", os.path.expandvars(text)):
        if path.startswith("demo://"):
            count += 1
            continue
        if "://" in path:
            return False
        try:
            for size in _sizes(Path(path)):
                total, count = total + size, count + 1
                if total >= SMALL:
                    return False
        except OSError:
            return False
    return count > 0


def _sizes(path: Path) -> Iterator[int]:
    """Bytes of each file that a path, a folder or a pattern of names in a folder stands for. A folder is listed as far
    as it is asked for."""
    if path.is_file():
        yield path.stat().st_size
        return
    if path.is_dir():
        folder, name = path, "*"
    elif set(path.name) & set("*?["):
        folder, name = path.parent, path.name
    else:
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            if fnmatch(entry.name, name):
                yield from _sizes(Path(entry.path))


def is_probably_finished(recipe: Path, folder: str | None) -> bool:
    """Whether a run of this recipe seems to have ended since the recipe was changed: then no server is needed.

    If that is wrong, the server starts as soon as it is known, a second later.
    """
    try:
        text = recipe.read_text("utf-8")
        folder_line = re.search(r"^\s+folder:\s*(\S+)", text, re.MULTILINE) if folder is None else None
        name = re.search(r"^name:\s*(\S+)", text, re.MULTILINE)
        run = folder or (folder_line[1] if folder_line else f"runs/{name[1] if name else recipe.stem}")
        return (Path(run) / "waterfall.json").stat().st_mtime > recipe.stat().st_mtime
    except (OSError, UnicodeDecodeError, ValueError):
        return False
