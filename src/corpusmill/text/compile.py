"""Our decorator for kernels: numba without the GIL, with a cache of machine code that is never stale.

Numba's own cache notices a change in the file of a kernel, but not in a constant or a helper that it takes from another
file, and it fails at import where neither the package nor the home folder can be written. So the code goes to

    <root>/<module>-<first 12 digits of a SHA-256 of its source, those of all modules of ours that it imports, directly or
    not, and numba's version>

where root is $CORPUSMILL_CACHE, else $XDG_CACHE_HOME/corpusmill, else ~/.cache/corpusmill, else a private folder of
the system's temporary one: the first that can be written. If none can, every process compiles for itself.
Numba keys what lies there by Python version and CPU, so machines may share a root.
"""

import contextlib
import glob
import hashlib
import importlib
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.metadata import version
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

import numba
import numba.extending
from llvmlite import binding

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = Path(__file__).parent.parent
IMPORT = re.compile(r"^\s*from (corpusmill[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_numba_settings = threading.Lock()


def kernel(function: F) -> F:
    """Compile on first call, once per machine and version; runs without the GIL.

    Arrays are not bounds-checked and integers wrap: the caller vouches for every offset.
    """
    folder = _folder(function.__module__)
    with _numba_settings:
        # Set only while numba looks for its folder, so that a user's own kernels keep theirs.
        before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder or "")
        try:
            compiled: F = numba.njit(nogil=True, cache=folder is not None)(function)
        finally:
            numba.config.CACHE_DIR = before
    return compiled


def inlined(function: F) -> F:
    """A helper of kernels: LLVM merges it into each caller, and it has no cached code of its own."""
    compiled: F = numba.njit(nogil=True, forceinline=True)(function)
    return compiled


def intrinsic(function: Callable[..., Any]) -> Any:
    """A function whose LLVM code we write ourselves."""
    return numba.extending.intrinsic(function)


def _folder(module: str) -> Path | None:
    root = cache_folder()
    return root and root / f"{module.rsplit('.', 1)[-1]}-{fingerprint(module)}"


@cache
def cache_folder() -> Path | None:
    """Where machine code is kept; None if no root can be written."""
    for folder in _roots():
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        return folder
    return None


def _roots() -> Iterator[Path]:
    if chosen := os.environ.get("CORPUSMILL_CACHE"):
        yield Path(chosen)
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        yield Path(xdg) / "corpusmill"
    else:
        with contextlib.suppress(RuntimeError):  # there may be no home folder at all
            yield Path.home() / ".cache" / "corpusmill"
    # Cached code is executed, so a folder that someone else could have filled is not ours to load from.
    shared = Path(tempfile.gettempdir()) / f"corpusmill-cache-{getattr(os, 'getuid', int)()}"
    try:
        shared.mkdir(mode=0o700, exist_ok=True)
        status = shared.lstat()
        private = not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o077)
        if private and not shared.is_symlink():
            yield shared
    except OSError:
        pass


@cache
def fingerprint(module: str | None = None) -> str:
    """Twelve hexadecimal digits that change with numba and with the source of any kernel that a module can call.

    module   None, or one that is not of this package: any kernel of the package
    """
    wanted = _with_imports(module) if module and _file_of(module) else {path for path, _ in _kernel_sources()}
    digest = hashlib.sha256(version("numba").encode())
    for path in sorted(wanted):
        digest.update(f"\0{path.relative_to(PACKAGE).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _file_of(module: str) -> Path | None:
    """The source of a module of this package; None of any other, and of the package itself, which imports everything."""
    first, *rest = module.split(".")
    if not rest or first != PACKAGE.name:
        return None
    path = PACKAGE.joinpath(*rest)
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


@cache
def _with_imports(module: str) -> set[Path]:
    """The sources of a module and of all modules of ours that it imports, directly or not."""
    sources: set[Path] = set()
    waiting = [module]
    while waiting:
        path = _file_of(waiting.pop())
        if path is None or path in sources:
            continue
        sources.add(path)
        for package, names in IMPORT.findall(path.read_text("utf-8")):
            waiting += [package, *(f"{package}.{name}" for name in re.findall(r"\w+", names))]
    return sources


def _kernel_sources() -> list[tuple[Path, bytes]]:
    """(file, source) of everything in text/ and its folders, and of each module elsewhere that imports this one."""
    here = Path(__file__).parent
    sources = [(path, path.read_bytes()) for path in sorted(PACKAGE.rglob("*.py"))]
    return [(path, source) for path, source in sources if here in path.parents or b"corpusmill.text.compile" in source]


def kernel_modules() -> list[str]:
    """The modules that hold kernels. A `warm_up()` of theirs calls each that no other module's `warm_up` does."""
    modules = []
    for path, source in _kernel_sources():
        if b"\n@kernel" in source:
            modules.append(".".join(("corpusmill", *path.relative_to(PACKAGE).with_suffix("").parts)))
    return modules


def imported_kernels() -> list[str]:
    """Those of `kernel_modules` that this process has imported: of a recipe that was read, those that its steps need."""
    return [module for module in kernel_modules() if module in sys.modules]


def _marker(module: str) -> Path | None:
    """The file that stands where all kernels of a module are compiled for this machine."""
    folder = _folder(module)
    if folder is None:
        return None
    # Numba keeps code by the path of its source, too: another installation of this version compiles for itself.
    machine = f"{sys.implementation.cache_tag}{binding.get_host_cpu_name()}{binding.get_host_cpu_features().flatten()}{PACKAGE}"
    return folder / f"warm-{hashlib.sha256(machine.encode()).hexdigest()[:12]}"


def _warm_up(name: str) -> None:
    module = importlib.import_module(name)
    if hasattr(module, "warm_up"):
        module.warm_up()


@contextlib.contextmanager
def _half_of(modules: Sequence[str]) -> Iterator[Sequence[str]]:
    """Some of the modules, of which another process has compiled the kernels when the block ends.

    It has a cache of its own: numba's loses and confuses entries if two processes add to one function's at a time. What
    it has made of functions that this process has not compiled then moves over. If it fails, this process has more to do.
    """
    root = cache_folder()
    if root is None or len(modules) < 4 or (os.cpu_count() or 1) < 2 or not sys.executable:
        yield ()
        return
    # Neighbours by name call each other more than others do, and what takes longer to compile is longer, about.
    sizes = {path: len(source) for path, source in _kernel_sources()}
    ends = list(accumulate(sizes.get(_file_of(name) or Path(), 0) for name in modules))
    half = [name for name, end in zip(modules, ends) if 2 * end > ends[-1]]
    with tempfile.TemporaryDirectory(prefix="half-", dir=root, ignore_cleanup_errors=True) as folder:
        script = f"from corpusmill.text import compile\nfor name in {half!r}: compile._warm_up(name)"
        helper = subprocess.Popen(
            [sys.executable, "-c", script], env=os.environ | {"CORPUSMILL_CACHE": folder}, stderr=subprocess.DEVNULL
        )
        try:
            yield half
            helper.wait()
        finally:
            helper.kill()
        _move_over(Path(folder), root)


def _move_over(source: Path, root: Path) -> None:
    """Move the code of all functions of which there is none in `root`: first the code, then the index that names it."""
    for index in source.glob("*/*/*.nbi"):
        place = root / index.relative_to(source).parent
        if not (place / index.name).exists():
            place.mkdir(parents=True, exist_ok=True)
            for code in index.parent.glob(f"{glob.escape(index.stem)}.*.nbc"):
                code.replace(place / code.name)
            index.replace(place / index.name)


def is_warm(modules: Sequence[str] | None = None) -> bool:
    """Whether `warm` has finished for these on this kind of machine: then kernels load in under a second."""
    markers = map(_marker, kernel_modules() if modules is None else modules)
    return all(marker is not None and marker.exists() for marker in markers)


def warm(modules: Sequence[str] | None = None) -> None:
    """Compile every kernel of these modules, of all if none is named, and keep the machine code.

    All take a minute of one core the first time, and about a second afterwards. Run it once before workers start, or they
    all compile at the same time.
    """
    names = kernel_modules() if modules is None else list(modules)
    cold = [name for name in names if not is_warm([name])]
    with _half_of(cold) as elsewhere:
        for name in cold:
            if name not in elsewhere:
                _warm_up(name)
    for name in names:  # now only those that came from elsewhere are new, and are loaded
        _warm_up(name)
        marker = _marker(name)
        if marker is not None:
            marker.parent.mkdir(parents=True, exist_ok=True)
            marker.touch()
