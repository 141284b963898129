"""How far a run is, in words."""

from typing import TYPE_CHECKING

from corpusmill.report.numbers import number, share, size

if TYPE_CHECKING:
    from corpusmill.engine.drive.meter import StageProgress

FINISHING_LINE = "finishing: outputs are read back, the report is written …"
COMPILING_LINE = "compiling the text kernels for this machine (once, a minute or two) …"


def duration(seconds: float) -> str:
    """Seconds as people read them on a clock.

    >>> duration(7.6), duration(95), duration(7325)
    ('0:08', '1:35', '2:02:05')
    """
    total = round(seconds)
    minutes, remainder = divmod(total, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{remainder:02}" if hours else f"{minutes}:{remainder:02}"


def per_cent(part: float) -> str:
    """A share that grows, in whole per cent; 100 % only when it is all.

    >>> per_cent(0.999), per_cent(1.0)
    ('99 %', '100 %')
    """
    return f"{int(part * 100)} %"


def rates(progress: "StageProgress") -> list[str]:
    """Documents and text per second, the share that was kept; empty if the stage says nothing of documents."""
    parts = []
    if progress.documents_per_second is not None:
        parts.append(f"{number(progress.documents_per_second)} documents/s")
    if progress.text_per_second is not None:
        parts.append(f"{size(progress.text_per_second)}/s of text")
    if progress.kept is not None:
        parts.append(f"{share(progress.kept, progress.documents)} kept")
    return parts


def machine(progress: "StageProgress") -> list[str]:
    """Workers at work, and their memory."""
    parts = [f"{progress.working} of {progress.workers} workers"] if progress.workers else []
    return parts + ([f"{size(progress.memory)} memory"] if progress.memory else [])


def time_left(seconds: float | None) -> str:
    """The time left, "" if it is not known.

    >>> left(17), left(None)
    ('0:17 left', '')
    """
    return "" if seconds is None else f"{duration(seconds)} left"


def count(value: int, noun: str) -> str:
    """
    >>> count(1, "unit"), count(12, "unit")
    ('1 unit', '12 units')
    """
    return f"{number(value)} {noun}{'s' * (value != 1)}"


def done_already(stages: int) -> str:
    return f"{count(stages, 'stage')} already done"


def units(progress: "StageProgress") -> str:
    return f"{number(progress.units_done)}/{number(progress.units)} units"


def is_finished(progress: "StageProgress") -> bool:
    """Whether the stage is done."""
    return progress.units_done == progress.units


def finished(progress: "StageProgress") -> str:
    """One line on a stage that this call has finished."""
    about = [units(progress), f"{progress.seconds:.1f} s", *average(progress)]
    return f"{progress.stage}: {', '.join(about)}"


def average(progress: "StageProgress") -> list[str]:
    """Documents and their rates over all of the stage; the window of `rates` would be of its end alone."""
    if not progress.documents:
        return []
    seconds = max(progress.seconds, 1e-3)
    parts = [count(progress.documents, "document"), f"{number(progress.documents / seconds)} documents/s"]
    if progress.text:
        parts.append(f"{size(progress.text / seconds)}/s of text")
    if progress.kept is not None:
        parts.append(f"{share(progress.kept, progress.documents)} kept")
    return parts
