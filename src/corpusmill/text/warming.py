"""Compiling kernels before they are needed: which there are, which are ready, those of a recipe in two processes."""

import contextlib
import glob
import importlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from corpusmill import system
from corpusmill.about import PACKAGE, file_of
from corpusmill.assets import leftovers
from corpusmill.text import shipped
from corpusmill.text.compile import cache_folder, fingerprint, is_marked, kernel_sources, mark, note_loss, source_of

POLL = 0.5  # seconds between looks at what the other process has compiled


def kernel_modules() -> list[str]:
    """The modules with kernels. Their `warm_up()`, if any, calls all kernels that no other module's `warm_up` calls."""
    modules = []
    for path, source in kernel_sources():
        if b"\n@kernel" in source:
            modules.append(".".join(("corpusmill", *path.relative_to(PACKAGE).with_suffix("").parts)))
    return modules


def imported_kernels() -> list[str]:
    """Those of `kernel_modules` that this process has imported: after a recipe is loaded, those that its steps need."""
    files = ((name, file_of(name)) for name in sorted(sys.modules))
    return [name for name, path in files if path and b"\n@kernel" in source_of(path)]


def warm_up(name: str) -> None:
    """Call the kernels of a module that no other module's `warm_up` calls."""
    module = importlib.import_module(name)
    if hasattr(module, "warm_up"):
        module.warm_up()


@contextlib.contextmanager
def _half_of(
    modules: Sequence[str], report: Callable[[Sequence[str]], None]
) -> Iterator[tuple[Sequence[str], Callable[[], None]]]:
    """About half of the modules, which another process compiles until the block ends; and a function that reports those
    of them that it has finished.

    It writes to a cache of its own, because numba's loses entries if two processes add to one function's at a time.
    Code of functions that this process has not compiled is then moved over. If the other process fails, this one has
    more to do.

    report   is called with these also while the end of the block waits for the other process
    """
    root = cache_folder()
    if root is None or len(modules) < 4 or (os.cpu_count() or 1) < 2 or not sys.executable:
        yield (), lambda: None
        return
    # Neighbours by name call each other more often, and the time to compile is roughly proportional to the size.
    sizes = {path: len(source) for path, source in kernel_sources()}
    ends = list(accumulate(sizes.get(file_of(name) or Path(), 0) for name in modules))
    half = [name for name, end in zip(modules, ends) if 2 * end > ends[-1]]
    with tempfile.TemporaryDirectory(prefix="half-", dir=root, ignore_cleanup_errors=True) as folder:
        lock = leftovers.hold(Path(folder))  # or `tidy` of another process finds it
        script = (
            "from corpusmill.text import shipped, warming\n"
            f"shipped.is_native = {shipped.is_native}\n"
            f"for name in {half!r}:\n    warming.warm_up(name)\n    print(name, flush=True)"
        )
        finished = Path(folder) / "finished"
        with finished.open("w", encoding="utf-8") as lines:
            helper = subprocess.Popen(
                [sys.executable, "-c", script],
                env=os.environ | {"CORPUSMILL_CACHE": folder},
                stdout=lines,
                stderr=subprocess.DEVNULL,
            )
        try:
            yield half, lambda: report(finished.read_text("utf-8").split())
            while helper.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    helper.wait(POLL)
                report(finished.read_text("utf-8").split())
        finally:  # what it has compiled is kept if this process is interrupted, too
            helper.kill()
            helper.wait()
            try:
                _move_over(Path(folder), root)
            except OSError as error:
                note_loss(root, error)
            if lock is not None:
                os.close(lock)


def _move_over(source: Path, root: Path) -> None:
    """Move the code of all functions that `root` has none of: first the code, then the index that names it."""
    for index in source.glob("*/*/*.nbi"):
        target = root / index.relative_to(source).parent
        if not (target / index.name).exists():
            target.mkdir(parents=True, exist_ok=True)
            for code in index.parent.glob(f"{glob.escape(index.stem)}.*.nbc"):
                system.replace(code, target / code.name)
            system.replace(index, target / index.name)


def is_warm(modules: Sequence[str] | None = None) -> bool:
    """Whether the kernels of these modules came compiled, or `warm` has finished for them on this kind of machine: then
    they load in under a second."""
    names = kernel_modules() if modules is None else modules
    return all(shipped.is_there(name, fingerprint(name)) or is_marked(name) for name in names)


def kernels_in(modules: Sequence[str]) -> int:
    """How many kernels these modules have."""
    return sum(source_of(path).count(b"\n@kernel") for name in modules if (path := file_of(name)))


def warm(modules: Sequence[str] | None = None, progress: Callable[[int, int], None] = lambda done, total: None) -> None:
    """Compile every kernel of these modules, by default of all, and keep the machine code.

    All of them take a minute of one core the first time, and about a second afterwards. Run it once before workers
    start, or each of them compiles.

    progress   is called with the number of kernels that are compiled and that must be, from the first on
    """
    names = kernel_modules() if modules is None else list(modules)
    cold = [name for name in names if not is_warm([name])]
    total, ready = kernels_in(cold), set[str]()

    def report(finished: Sequence[str]) -> None:
        if not ready.issuperset(finished):
            ready.update(finished)
            progress(kernels_in([name for name in cold if name in ready]), total)

    progress(0, total)
    with _half_of(cold, report) as (elsewhere, look):
        for name in cold:
            if name not in elsewhere:
                warm_up(name)
                report([name])
                look()
    for name in names:  # loads what the other process compiled; the rest is loaded already
        warm_up(name)
        report([name] if name in cold else ())
        mark(name)
