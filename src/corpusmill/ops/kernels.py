"""The kernels that a run needs, compiled before its workers start."""

from collections.abc import Sequence
from importlib import import_module

from corpusmill.engine.drive.listener import ProgressListener
from corpusmill.engine.drive.meter import BeatListener
from corpusmill.execute.warm_start import ENGINE_PRELOAD, LAZY_PRELOAD, SMALL, STAGE_GUARD
from corpusmill.store.units import now


def warm_kernels(listener: ProgressListener, modules: Sequence[str] | None = None) -> float:
    """Compile kernels once, before workers start, and say so: it takes a minute or two on a new machine. Returns how
    many seconds.

    modules   of the kernels; None: those that the recipe needs, which has been loaded
    """
    from corpusmill.text import compile as compiled
    from corpusmill.text import shipped, warming

    compiled.tidy()
    needed = warming.imported_kernels() if modules is None else modules
    if modules is None and not warming.is_warm(needed):
        # What the report measures samples with: later it would be compiled in this process alone, and nothing would
        # say so.
        import_module("corpusmill.report.figures.sampled")
        needed = warming.imported_kernels()
    for line in compiled.refused():
        listener.note(line)
    if warming.is_warm(needed):
        return 0.0
    if why := shipped.misfit():
        listener.note(f"{why}: they are compiled here")
    started = now()
    listener.compiling()
    if isinstance(listener, BeatListener):
        warming.warm(needed, listener.compiled)
    else:
        warming.warm(needed)
    seconds = now() - started
    lost = compiled.not_kept()
    later = "" if lost else ", which later runs on this machine need not do"
    listener.note(f"compiled the text kernels in {seconds:.1f} s{later}")
    for line in lost:
        listener.note(line)
    return seconds


def preloaded(input_bytes: float | None = None) -> tuple[str, ...]:
    """What the fork server imports: the kernels that the recipe needs, and then the engine, which loads them. Where
    there is little text, workers load only the kernels that they call.

    input_bytes   of text; None: not known
    """
    from corpusmill.text import warming

    small = input_bytes is not None and input_bytes < SMALL
    return (*warming.imported_kernels(), STAGE_GUARD, LAZY_PRELOAD if small else ENGINE_PRELOAD)
