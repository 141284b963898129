"""The decorator for kernels: numba without the GIL, with a cache of machine code that is never stale.

Numba's own cache notices a change in the file of a kernel, but not in a constant or a helper from another file, and it
fails at import if neither the package nor the home folder is writable. So machine code is kept in

    <root>/<module>-<first 12 digits of a SHA-256 of its source, those of all modules of ours that it imports, directly
    or not, but for what compiles, and numba's version>

where root is the first writable one of $CORPUSMILL_CACHE, $XDG_CACHE_HOME/corpusmill (else ~/.cache/corpusmill), and a
private folder in the system's temporary one. Code that is loaded is executed, so a root that belongs to another user,
or that others can write to, is passed over. If none is left, every process compiles for itself. Numba distinguishes
Python versions and CPUs within a folder, so machines can share a root.

A platform wheel brings machine code along, see `shipped`: then nothing is compiled. `warming` compiles beforehand.
"""

import contextlib
import hashlib
import os
import pickle
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import cache, update_wrapper
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from corpusmill.about import PACKAGE, closure, file_of
from corpusmill.assets import leftovers
from corpusmill.text import shipped

F = TypeVar("F", bound=Callable[..., Any])


class _NotInPython(Exception):
    """An intrinsic was called as a Python function."""


class _Plain(threading.local):
    within = False  # a kernel that is called as a Python function


# What numba is asked for. Nothing calls kernels through pointers; and of helpers only what is put into their callers.
KERNEL = {"nogil": True, "no_cfunc_wrapper": True}
HELPER = KERNEL | {"forceinline": True, "no_cpython_wrapper": True}
_plain = _Plain()
_refused: dict[Path, str] = {}  # folder -> why
_not_kept: dict[Path, str] = {}  # root -> why code could not be written there
_numba_settings = threading.RLock()  # a first call may make kernels, and call others first


def kernel(function: F) -> F:
    """Compile on first call, once per machine and version; runs without the GIL.

    Arrays are not bounds-checked and integers wrap: the caller vouches for every offset, and for what may be written.
    """
    return cast(F, Lazy(function, _compiled_kernel))


def inlined(function: F) -> F:
    """A helper of kernels: LLVM inlines it into each caller, and it has no cached code of its own."""
    return cast(F, Lazy(function, _compiled_helper))


def intrinsic(function: Callable[..., Any], in_python: Callable[..., Any] | None = None) -> Any:
    """A function given as LLVM code.

    in_python   does the same in Python, for kernels that are called as Python functions, see `Lazy`
    """
    return Lazy(function, _as_intrinsic, in_python)


class Lazy:
    """What a decorator of this module makes of a function. Numba, whose import takes longer than that of all else, is
    imported at the first call that has something to do: `corpusmill check` puts no documents through the steps, and a
    finished run that is run again has none.

    Kernels name each other as globals; numba asks a global that it does not know for `_numba_type_`.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        make: Callable[[Callable[..., Any]], Any],
        in_python: Callable[..., Any] | None = None,
    ) -> None:
        self.__name__, self.__qualname__ = function.__name__, function.__qualname__
        update_wrapper(self, function)
        self._function, self._make, self._made = function, make, None
        self._in_python = in_python

    @property
    def dispatcher(self) -> Any:
        """What numba made of the function."""
        with _numba_settings:
            if self._made is None:
                self._made = self._make(self._function)
        return self._made

    @property
    def makes_cached_code(self) -> bool:
        return self._make is _compiled_kernel

    @property
    def _numba_type_(self) -> Any:
        from numba import typeof
        from numba.core.registry import cpu_target

        dispatcher = self.dispatcher
        if self._make is not _as_intrinsic:
            return typeof(dispatcher)
        cpu_target.typing_context.refresh()  # it may have been made only now, within the compilation of what calls it
        return cpu_target.typing_context.resolve_value_type(dispatcher)

    def __call__(self, *args: Any) -> Any:
        if _plain.within and self._make is _as_intrinsic:
            if self._in_python is None:
                raise _NotInPython
            return self._in_python(*args)
        if self._made is None and args and (_plain.within or _is_nothing(args[0])):
            return self._as_python(args)
        return self._entry(*map(_writable, args))

    @property
    def _entry(self) -> Any:
        """What Python calls. Code of helpers has no entry point for it: they are compiled for this process."""
        if self._make is _compiled_helper:
            return _with_entry(self._function)
        return self._made or self.dispatcher

    def _as_python(self, args: tuple[Any, ...]) -> Any:
        """Call the function itself, and in it those that it calls: its loops are over no documents. Where it needs an
        instruction that Python lacks, it has something to do after all, and is compiled."""
        before, _plain.within = _plain.within, True
        try:
            with np.errstate(all="ignore"):  # constants that wrap
                return self._function(*args)
        except _NotInPython:
            if before:
                raise
        finally:
            _plain.within = before
        return self._entry(*map(_writable, args))

    def __reduce__(self) -> str:
        return self._function.__qualname__  # as functions are pickled


def _is_nothing(argument: Any) -> bool:
    """Whether the first argument of a kernel is an array of no elements, or a text (`buffers.Text`) of no documents."""
    return len(getattr(argument, "offsets", (0, 0))) == 1 or getattr(argument, "size", 1) == 0


def _writable(argument: Any) -> Any:
    """An argument whose arrays are all of one kind, at the same places in memory: numba makes other code of an array
    that is read-only, as those in Arrow's buffers are, and half of all kernels would be compiled twice."""
    if isinstance(argument, np.ndarray):
        return argument if argument.flags.writeable else np.asarray(_Memory(argument))
    if isinstance(argument, tuple):
        parts = [_writable(part) for part in argument]
        if any(part is not before for part, before in zip(parts, argument)):
            return argument._make(parts) if hasattr(argument, "_make") else tuple(parts)
    return argument


class _Memory:
    """The memory of an array, which lives as long as this."""

    def __init__(self, array: NDArray[Any]) -> None:
        interface = array.__array_interface__
        self.__array_interface__ = interface | {"data": (interface["data"][0], False)}
        self._array = array


def _compiled_kernel(function: Callable[..., Any]) -> Any:
    import numba

    folder = _folder(function.__module__)
    # Set only while numba chooses its folder, so that a user's own kernels keep theirs.
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder or "")
    try:
        compiled = numba.njit(**KERNEL, cache=folder is not None)(function)
    finally:
        numba.config.CACHE_DIR = before
    if folder is not None:
        _survive_the_disk(compiled._cache, folder)
    _use_shipped(compiled._cache, function)
    return _without_extensions(compiled)


def _use_shipped(cache: Any, function: Callable[..., Any]) -> None:
    """Take from the package what came compiled with it; and keep what is compiled to come with one."""
    module, name = function.__module__, function.__qualname__
    load, save = cache.load_overload, cache.save_overload

    def load_shipped(types: Any, context: Any) -> Any:
        # What was compiled for this very processor comes first, see `warm --native`.
        parts = None if is_marked(module) else shipped.load(module, fingerprint(module), name, types)
        if parts is None:
            return load(types, context)
        from numba.core.compiler import CompileResult

        context.refresh()
        return CompileResult._rebuild(context, *parts)

    def save_and_keep(types: Any, result: Any) -> None:
        shipped.keep(module, name, types, result)
        save(types, result)

    cache.load_overload, cache.save_overload = load_shipped, save_and_keep


def _survive_the_disk(cache: Any, folder: Path) -> None:
    """Let code be used that cannot be kept: the disk is full, or was made read-only. What cannot be loaded is
    compiled."""
    save = cache.save_overload

    def save_if_possible(*code: Any) -> None:
        try:
            save(*code)
        except OSError as error:
            note_loss(folder.parent, error)

    cache.save_overload = save_if_possible
    load = cache.load_overload

    def load_if_possible(*signature: Any) -> Any:
        try:
            return load(*signature)
        except (AttributeError, ImportError, EOFError, ValueError, pickle.UnpicklingError):
            cache.flush()  # of a version that had another name for the type of an argument, or damaged: compiled again
            return None

    cache.load_overload = load_if_possible


def _compiled_helper(function: Callable[..., Any]) -> Any:
    import numba

    compiled = numba.njit(**HELPER)(function)
    template = compiled.get_call_template
    # For any number, not anew for each that a caller has in its source: LLVM sees them once the code is in the caller.
    compiled.get_call_template = lambda args, named: template(tuple(map(numba.types.unliteral, args)), named)
    return _without_extensions(compiled)


@cache
def _with_entry(function: Callable[..., Any]) -> Any:
    import numba

    return _without_extensions(numba.njit(**KERNEL)(function))


def _as_intrinsic(function: Callable[..., Any]) -> Any:
    from numba.extending import intrinsic

    return intrinsic(function)


def _without_extensions(compiled: Any) -> Any:
    """The same, whose first call does not import what other packages add to numba, see `without_extensions`."""
    first_call = compiled._compile_for_args

    def without(*args: Any, **named: Any) -> Any:
        with without_extensions():
            return first_call(*args, **named)

    compiled._compile_for_args = without
    return compiled


@contextlib.contextmanager
def without_extensions() -> Iterator[None]:
    """What other packages add to numba is not imported meanwhile: kernels see NumPy arrays alone, and awkward, which
    comes with the tokenizer, takes half a second. Functions of a user's own still have it imported."""
    from numba.core import entrypoints

    with _numba_settings:
        before, entrypoints._already_initialized = entrypoints._already_initialized, True
        try:
            yield
        finally:
            entrypoints._already_initialized = before


@cache
def _folder(module: str) -> Path | None:
    root = cache_folder()
    if root is None:
        return None
    folder = root / f"{module.rsplit('.', 1)[-1]}-{fingerprint(module)}"
    if hasattr(os, "getuid") and root.stat().st_mode & 0o077:
        # Others can enter the root: what is made there must be ours alone, whatever new files are open to.
        folder.mkdir(mode=0o700, exist_ok=True)
        if why := _not_trusted(folder):
            _refused[folder] = why
            return None
    return folder


@cache
def cache_folder() -> Path | None:
    """Where machine code is kept; None if no root is writable, and by this user alone."""
    for folder in _roots():
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        why = _not_trusted(folder)
        if not why:
            return folder
        _refused[folder] = why
    return None


def refused() -> list[str]:
    """Folders that could have been used for machine code and are not, because others could have put code there."""
    return [
        f"{folder}: compiled code is not kept here and not taken from here: {why}" for folder, why in _refused.items()
    ]


def not_kept() -> list[str]:
    """Folders in which this process could not keep code that it has compiled."""
    return [
        f"{root}: compiled code cannot be kept ({why}), so every process compiles for itself. Make room, or set "
        f"CORPUSMILL_CACHE to another folder"
        for root, why in _not_kept.items()
    ]


def _not_trusted(folder: Path) -> str:
    """Why a folder's code must not be executed, and the pickles in which numba keeps its index not be loaded; "" if
    nobody else can write there."""
    if not hasattr(os, "getuid"):
        return ""
    status = folder.stat()
    if status.st_uid != os.getuid():
        return f"the folder belongs to another user ({status.st_uid}). Set CORPUSMILL_CACHE to one of your own"
    if status.st_mode & 0o022:
        mode = f"{status.st_mode & 0o777:o}"
        return f"others can write to it (mode {mode}). Empty it if you do not trust them, then: chmod go-w {folder}"
    return ""


def tidy() -> None:
    """Remove what processes left half done that were killed."""
    if root := cache_folder():
        leftovers.tidy(root, "half-*")


def _roots() -> Iterator[Path]:
    if chosen := os.environ.get("CORPUSMILL_CACHE"):
        yield Path(chosen)
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        yield Path(xdg) / "corpusmill"
    else:
        with contextlib.suppress(RuntimeError):  # without a home folder
            yield Path.home() / ".cache" / "corpusmill"
    shared = Path(tempfile.gettempdir()) / f"corpusmill-cache-{getattr(os, 'getuid', int)()}"
    if not shared.is_symlink():
        yield shared


@cache
def fingerprint(module: str | None = None) -> str:
    """Twelve hexadecimal digits that depend on numba, on what is asked of it, and on the source of every kernel that a
    module can call.

    module   None, or one that is not of this package: any kernel of the package
    """
    if module and file_of(module):
        sources = {path for name in closure(module) - closure(__name__) if (path := file_of(name))}
    else:
        sources = {path for path, _ in kernel_sources()} - {Path(__file__)}
    digest = hashlib.sha256(f"{version('numba')} {KERNEL} {HELPER}".encode())
    for path in sorted(sources):
        digest.update(f"\0{path.relative_to(PACKAGE).as_posix()}\0".encode())
        digest.update(source_of(path))
    return digest.hexdigest()[:12]


@cache  # three dozen modules of kernels share most of what they import
def source_of(path: Path) -> bytes:
    """The bytes of a file of this package."""
    return path.read_bytes()


def kernel_sources() -> list[tuple[Path, bytes]]:
    """(file, source) of everything in text/ and its folders, and of each module elsewhere that imports this one."""
    folder = Path(__file__).parent
    sources = [(path, source_of(path)) for path in sorted(PACKAGE.rglob("*.py"))]
    return [
        (path, source) for path, source in sources if folder in path.parents or b"corpusmill.text.compile" in source
    ]


def _marker(module: str) -> Path | None:
    """The file that marks all kernels of a module as compiled for this machine."""
    folder = _folder(module)
    if folder is None:
        return None
    return folder / f"warm-{_machine()}"


@cache
def _machine() -> str:
    """12 digits for the processor, the kind of Python, and where this package is."""
    from llvmlite import binding

    # Numba also distinguishes code by the path of its source: another installation of this version compiles for itself.
    processor = f"{binding.get_host_cpu_name()}{binding.get_host_cpu_features().flatten()}"
    machine = f"{sys.implementation.cache_tag}{processor}{PACKAGE}"
    return hashlib.sha256(machine.encode()).hexdigest()[:12]


def is_marked(module: str) -> bool:
    """Whether all kernels of a module are compiled for this machine, see `mark`."""
    marker = _marker(module)
    return marker is not None and marker.exists()


def mark(module: str) -> None:
    """Note that all kernels of a module are compiled for this machine; not if code could not be kept."""
    marker = _marker(module)
    if marker is None or _not_kept or shipped.is_there(module, fingerprint(module)):
        return
    try:
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.touch()
    except OSError as error:
        note_loss(marker.parent.parent, error)


def note_loss(root: Path, error: OSError) -> None:
    """Have `not_kept` say that code could not be kept below a root."""
    _not_kept[root] = error.strerror or str(error)
