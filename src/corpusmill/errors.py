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
├─ ModelServerError      a model's server is away, refuses the key, or answers for another model: mend that, run again
├─ ClusterError          the cluster cannot be reached, or not all of its machines fit: make them equal, run again
├─ StorageError          reading or writing failed (a full disk, a lost mount): make room, run again
└─ MissingExtraError     an optional dependency is not installed: install the extra that it names
"""

import site
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from corpusmill.about import __version__
from corpusmill.hidden import masked

LIBRARIES = (str(Path(__file__).parent), str(Path(traceback.__file__).parent), *site.getsitepackages())
PROBLEMS_LISTED = 50  # problems in a message; who has more of them has made one mistake many times


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong.

    file, line   where, in the recipe or in a setting of the command line; line 0: the place has no lines; file "": it
                 is not known, or the message names it
    """

    message: str
    file: str = ""
    line: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", masked(self.message))

    def __str__(self) -> str:
        location = f"{self.file}:{self.line}" if self.line else self.file
        return f"{location}: {self.message}" if location else self.message


class CorpusmillError(Exception):
    """Base of every error raised on purpose.

    problems   what is wrong, one by one; the message has a line for each of the first PROBLEMS_LISTED

    Secrets of URLs are masked in what it says.
    """

    def __init__(self, *said: Any) -> None:
        super().__init__(*(masked(part) if isinstance(part, str) else part for part in said))

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(vars(self).get("_problems", ())) or (Problem(str(self)),)

    def __reduce__(self) -> tuple[Any, ...]:
        """As it is: a class may be made from other things than its message."""
        return _rebuild, (type(self), self.args, vars(self))


def _rebuild(kind: type[CorpusmillError], args: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
    """An error that comes from another process."""
    error = kind.__new__(kind)
    error.args = args  # one that is an OSError, too, takes none where it is made
    vars(error).update(attributes)
    return error


class RenamedWarning(FutureWarning):
    """A recipe has a name that another one has replaced; two minor versions later it is an error."""


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


class ModelServerError(CorpusmillError):
    """A server of a language model cannot be asked. What it has answered is kept."""


class ClusterError(CorpusmillError):
    """A cluster cannot carry out the run."""


class StorageError(CorpusmillError, OSError):
    """Reading or writing failed. The unit may be tried again."""


class MissingExtraError(CorpusmillError, ImportError):
    """An optional dependency is not installed: one of the package's extras, or a library of the user's choice."""

    def __init__(self, feature: str, extra: str = "", *, libraries: Sequence[str] = ()) -> None:
        """libraries: names of those that are missing; without an extra, of packages."""
        package = f"'corpusmill[{extra}]'" if extra else " ".join(libraries)
        needs = " and ".join(libraries) or "an optional dependency"
        super().__init__(f"{feature} needs {needs}. Install: pip install {package}")


def together(errors: Sequence[CorpusmillError]) -> CorpusmillError:
    """One error that says all that these say, in the order of the recipe, of their kind if they are of one.

    >>> str(together([InputError("b.jsonl: no such file"), InputError("a.jsonl: no such file")]))
    'b.jsonl: no such file\\na.jsonl: no such file'
    """
    if len(errors) == 1:
        return errors[0]
    kinds: set[type[Any]] = {type(error) for error in errors}
    return of_problems([problem for error in errors for problem in error.problems], *(kinds if len(kinds) == 1 else ()))


def of_problems(problems: Iterable[Problem], kind: type[CorpusmillError] = RecipeError) -> CorpusmillError:
    """An error of these problems, each once, in the order of their lines; those without a line are last."""
    ordered = list(dict.fromkeys(sorted(problems, key=lambda problem: (problem.line == 0, problem.line))))
    lines = [str(problem) for problem in ordered]
    unlisted = len(lines) - PROBLEMS_LISTED
    error = kind.__new__(kind)
    CorpusmillError.__init__(
        error, "\n".join([*lines[:PROBLEMS_LISTED], *([f"… and {unlisted} more problems"] if unlisted > 0 else [])])
    )
    vars(error)["_problems"] = ordered
    return error


def other_format(name: str, found: object, known: int, wrote: str | None = None) -> str:
    """The message about something kept whose format has a number that this version does not know.

    name    what it is, and where
    known   the number of the format that is written now: it and all before are read
    wrote   the version that wrote it, where that is known

    >>> other_format("runs/web/run.json", 2, 1, "2.1.0").partition(";")[0]
    'runs/web/run.json: has format 2'
    """
    by = f"Version {wrote} wrote it" if wrote else "A newer version wrote it, or it is damaged"
    newer = f"pip install 'corpusmill>={wrote}'" if wrote else "pip install --upgrade corpusmill"
    here = f"this is corpusmill {__version__}, which reads up to {known}"
    return f"{name}: has format {str(found)[:40]}; {here}. {by}: {newer}"


def raised(error: BaseException) -> str:
    """An error of somebody else's code in one line: its kind, what it says, and the file and line that raised it."""
    message = masked(" ".join(str(error).split()))
    if isinstance(error, SyntaxError) and error.filename:
        return f"{type(error).__name__}: {error.msg} ({Path(error.filename).name}, line {error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    own = [
        frame for frame in frames if frame.filename.endswith(".py") and not frame.filename.startswith(("<", *LIBRARIES))
    ]
    location = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
    return f"{type(error).__name__}{': ' * bool(message)}{message}{location}"


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """`; did you mean "gopher_quality"?`, or an empty string if nothing known is similar.

    >>> did_you_mean("gofer_quality", ["gopher_quality", "exact"])
    '; did you mean "gopher_quality"?'
    >>> did_you_mean("zzz", ["exact"])
    ''
    """
    matches = get_close_matches(name, list(candidates), n=1)
    return f'; did you mean "{matches[0]}"?' if matches else ""
