"""Every error that the package raises on purpose, sorted by what the user can do about it.

CorpusmillError          catch this to catch them all
├─ RecipeError           the recipe is wrong and nothing ran: edit the recipe
├─ InputError            an input cannot be used at all: name another file, column or format
├─ RecordError           one record of an input is bad: it becomes a dead letter, the run continues
├─ DocumentError         a step cannot process one document: it becomes a dead letter, the run continues
├─ BudgetError           more records were bad than the run allows: look at the dead letters
├─ UnitError             a unit of work failed in every attempt: look at its traceback
├─ RunError              the counts of a run do not add up: a bug of corpusmill, please report it
├─ AssetError            a model or word list is missing, damaged or of the wrong kind
├─ ShardError            training shards are damaged or do not fit what was asked of them
├─ ResumeError           the run folder cannot be continued with this recipe or these inputs
│  └─ RefusedFolder      it is at work for another process, or no run's: nothing ran
├─ StorageError          reading or writing failed (a full disk, a lost mount): make room, run again
└─ MissingExtraError     an optional dependency is not installed: install the extra that it names
"""

from collections.abc import Iterable
from difflib import get_close_matches


class CorpusmillError(Exception):
    """Base of every error raised on purpose."""


class RecipeError(CorpusmillError, ValueError):
    """The recipe is wrong. Nothing has run."""


class InputError(CorpusmillError):
    """An input cannot be used at all."""


class RecordError(CorpusmillError):
    """One record cannot be read. The run continues without it."""


class DocumentError(CorpusmillError):
    """One document cannot be processed. The run continues without it."""


class BudgetError(CorpusmillError):
    """More records were bad than the error budget of the run allows."""


class UnitError(CorpusmillError):
    """A unit of work failed in every attempt."""


class RunError(CorpusmillError):
    """The counts of a run do not add up. This is a bug of corpusmill."""


class AssetError(CorpusmillError):
    """A model, tokenizer or word list is missing, damaged or of the wrong kind."""


class ShardError(CorpusmillError):
    """Training shards are damaged, or do not fit what was asked of them."""


class ResumeError(CorpusmillError):
    """A run folder cannot be continued with this recipe or these inputs."""


class RefusedFolder(ResumeError):
    """Another process is at work in the folder, or it is no run's. Nothing has run."""


class StorageError(CorpusmillError, OSError):
    """Reading or writing failed. The unit may be tried again."""


class MissingExtraError(CorpusmillError, ImportError):
    """An optional dependency is not installed: one of the package's extras, or a library of the user's choice."""

    def __init__(self, what: str, extra: str = "", *, library: str = "") -> None:
        package = library or f"'corpusmill[{extra}]'"
        super().__init__(f"{what} needs {library or 'an optional dependency'}. Install it with: pip install {package}")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean "gopher_quality"?`, or an empty string if nothing known is similar.

    >>> did_you_mean("gofer_quality", ["gopher_quality", "exact"])
    '; did you mean "gopher_quality"?'
    >>> did_you_mean("zzz", ["exact"])
    ''
    """
    near = get_close_matches(word, list(known), n=1)
    return f'; did you mean "{near[0]}"?' if near else ""
