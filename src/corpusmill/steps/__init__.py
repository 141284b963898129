"""What a run can do to documents, one step a file.

A step's name in a recipe is its path here: `filter/gopher_quality` is the class GopherQuality in
filter/gopher_quality.py. The folder is the registry; nothing is registered by hand. A step of your
own is written `module:Class`. In Python, `from corpusmill.steps import GopherQuality`; of two classes
of one name, each has its folder's before its own: FilterUrl, DedupUrl.

Steps differ in how much they must see at once:

    Transform    a batch                   batch -> batch, same documents in the same order
    Annotate     a batch                   batch -> columns
    Filter       a batch and its signals   -> why each document is dropped, null to keep it
    CorpusStep   keys of everything        -> verdicts by document
    Tokenize     a batch                   batch -> token ids of each document
    Pack         token counts              -> which tokens are in which row

All are frozen dataclasses: their fields are their parameters, and nothing else is. They are cheap
to build and to pickle, and they never open a file or ask who or where they are; what they need to
read comes from `corpusmill.assets`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import pyarrow as pa

from corpusmill.assets.registry import Registry
from corpusmill.steps.keys import Keys, KeyStage
from corpusmill.store.units import Resources
from corpusmill.store.work import Stage
from corpusmill.tokens.breaks import SplitAt
from corpusmill.tokens.packing import Method, Remainder

Columns = Mapping[str, pa.Array]


@runtime_checkable
class Transform(Protocol):
    """Changes documents. Rows are neither removed nor reordered; columns that are not in DOCUMENT become signals.

    A document whose `text` comes back null, or with nothing but white space, is dropped with the reason `<step>.empty`,
    after the reasons that the step gives as a Filter.
    """

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch: ...


@runtime_checkable
class Annotate(Protocol):
    """Measures documents and judges nothing. The columns are kept as signals named `<step>.<column>`."""

    def signals(self, docs: pa.RecordBatch) -> Columns: ...


@runtime_checkable
class Filter(Protocol):
    """Says of each document why it is dropped.

    docs      the batch
    signals   what `needs` names, a class variable or property that is a tuple of names; nothing where there is none:
              the columns of those measures (see `corpusmill.steps.measures`); for
              "step.column", the signal of an earlier step of the same pass; for "*" all of these, and the columns
              id, source, file, position, url, date and bytes of the documents
    returns   (documents,) string: every failing rule, joined by commas, the first of them the first
              that failed in the order of the docstring; null keeps the document

    The signals that a filter judges by are kept as `<step>.<signal>`, so that other thresholds can be tried without the
    text. The thresholds are the parameters of its rules, which it names in the class variable `RULES` or, where its
    parameters decide which rules there are, in a property `rules` (see `corpusmill.steps.verdict`); and the parameters
    that the class variable `threshold_parameters` names: they change neither the text nor a signal, and `reasons` looks
    at signals alone.
    """

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array: ...


@runtime_checkable
class CorpusStep(Protocol):
    """Judges documents by comparing them with all others, through keys alone.

    needs              as a filter's: which signals of the pass the keys are made with
    key_parameters     the parameters that the keys depend on; a change of another one does not make the keys anew
    keys_per_document  how many keys a document of 2 KB has, a power of two: with more keys there are more partitions
    reads_text         whether the stages read the text of documents, or keys and ids alone
    verdict            the columns of the verdicts: those of `steps.keys.VERDICT`, and signals of the step's own
    default_signals    the signals of documents without a verdict; null where it does not say
    cuts               whether the step changes texts: then its last stage writes the table `cuts` too, with the columns
                       of `steps.keys.CUTS`, sorted. A document of which nothing is left is dropped with the reason
                       `<step>.empty`
    keys               the keys of a batch, made in the pass that reads the documents; they depend on each document
                       alone
    stages             the work that turns all keys into verdicts; the last of the stages, `<label>-verdicts`, writes
                       `verdicts`, a table with the columns `verdict`, sorted by document: one unit for all of them, by
                       `corpusmill.steps.corpus.VerdictWriter`, or one unit for each unit of the pass. Documents that
                       are not in it are kept
    """

    @property
    def needs(self) -> tuple[str, ...]: ...

    @property
    def key_parameters(self) -> tuple[str, ...]: ...

    @property
    def keys_per_document(self) -> int: ...

    @property
    def reads_text(self) -> bool: ...

    @property
    def verdict(self) -> pa.Schema: ...

    @property
    def default_signals(self) -> Mapping[str, Any]: ...

    @property
    def cuts(self) -> bool: ...

    def keys(self, docs: pa.RecordBatch, signals: Columns) -> Keys: ...

    def stages(self, keys: KeyStage) -> list[Stage]: ...


@runtime_checkable
class ComparesWithEarlierRuns(Protocol):
    """A corpus step that also compares with what earlier runs kept.

    against   places of runs, or of indexes; one, or several
    """

    @property
    def against(self) -> str | tuple[str, ...]: ...


@runtime_checkable
class SolvesParameters(Protocol):
    """A corpus step that works out parameters which a recipe leaves open.

    solved_parameters   their values: keys depend on these, and not on what they were solved from
    """

    @property
    def solved_parameters(self) -> Mapping[str, Any]: ...


@runtime_checkable
class Remarks(Protocol):
    """A step of any kind that has something to say about its parameters, before it runs.

    remarks   sentences without a full stop, for `check`, the run and the report; those that begin with "warning: " ask
              for a change
    """

    @property
    def remarks(self) -> tuple[str, ...]: ...


@runtime_checkable
class ReadsAssets(Protocol):
    """A step of any kind that reads models or lists.

    assets   their names, as `corpusmill.assets` knows them: what they hold is part of what the step is
    """

    @property
    def assets(self) -> tuple[str, ...]: ...


@runtime_checkable
class UsesLibraries(Protocol):
    """A step of any kind whose results depend on libraries that its module does not import itself.

    libraries   names of distributions: their versions are part of what the step is
    """

    @property
    def libraries(self) -> tuple[str, ...]: ...


@runtime_checkable
class OwnPass(Protocol):
    """A step that sees a batch, and takes so much longer than others that it begins a pass: it sees only what earlier
    steps have kept, and the pass has workers as it needs them. Another one joins it if only annotations are between.

    own_pass   what a unit of that pass needs; None: the step is as any other
    """

    @property
    def own_pass(self) -> Resources | None: ...


@runtime_checkable
class AsksModel(Protocol):
    """A step of any kind that asks a language model.

    server      its answers are kept in a folder of the run, unless it names another
    sample      share of the documents that are asked about
    questions   what it would ask about all of some documents
    """

    @property
    def server(self) -> "Server": ...

    @property
    def sample(self) -> float | str: ...

    def questions(self, docs: pa.RecordBatch) -> "list[Question]": ...


@dataclass(frozen=True)
class MadeDocuments:
    """Documents, and those that a step has made of them.

    docs      the documents, each followed by what was made of it
    signals   name -> (documents,), columns of these; null where a signal is not for a document
    failed    documents that could not be made, as mappings of DOCUMENT's columns, and why
    """

    docs: pa.RecordBatch
    signals: Columns
    failed: tuple[tuple[Mapping[str, Any], str], ...] = ()


@runtime_checkable
class MakesDocuments(Protocol):
    """A filter that makes documents of the documents that come to it, each of one alone, and then judges both by its
    signals. It begins a pass.

    source   of what it makes
    make     what it makes of a batch: of no documents, none, with all signals
    """

    @property
    def source(self) -> str: ...

    def make(self, docs: pa.RecordBatch) -> MadeDocuments: ...


@runtime_checkable
class ExtractsText(Protocol):
    """A step that makes text of pages, or a reader that does of files, and takes longer for it than most steps for
    theirs.

    extracts   true: what it has made is stored, so that a change of a step behind it does not repeat it
               (`run.store_extracted`)
    """

    @property
    def extracts(self) -> bool: ...


@runtime_checkable
class UsesCode(Protocol):
    """A step of any kind that calls a function or class of the user's: its module is part of what the step is, and the
    run says how much time the step took."""

    @property
    def code(self) -> tuple[Any, ...]: ...


@runtime_checkable
class ChecksRecipe(Protocol):
    """A step of any kind that cannot work in every recipe."""

    def incompatibility(self, sources: tuple[str, ...], tokenizer: bool) -> str | None:
        """What keeps the step from working in a recipe with these sources, and what to do about it; None: nothing."""
        ...


@runtime_checkable
class ScalesToSample(Protocol):
    """A step of any kind with parameters that grow with the corpus."""

    def for_sample(self, share: float) -> Any:
        """The step for a sample of this share of the input."""
        ...


@runtime_checkable
class Tokenize(Protocol):
    """Turns text into token ids.

    open      the tokenizer, with `eos_id`, `vocab_size`, `dtype` and `fingerprint`, loaded once a process
    count     (documents,) tokens of each text
    encode    ids (tokens,) of all documents, each with its end, and lengths (documents,)
    """

    def open(self) -> Any: ...

    def count(self, texts: pa.Array) -> Any: ...

    def encode(self, texts: pa.Array) -> tuple[Any, Any]: ...


@runtime_checkable
class Arranges(Protocol):
    """A Tokenize whose ids may depend on more of a document than its text.

    docs       with `id`, `text` and `url`
    room       tokens of a row; None without rows
    split_at   where documents may be cut
    returns    ids (tokens,), lengths (documents,), and breaks: the ids before each place at which documents may be cut;
               None if the ids are those of `encode`
    """

    def arrange(self, docs: pa.RecordBatch, room: int | None, split_at: SplitAt | None) -> Any: ...


def keeps_parts(step: Any) -> bool:
    """Whether a Tokenize makes documents with parts that packing must not cut."""
    return bool(getattr(step, "keeps_parts", False))


@runtime_checkable
class Pack(Protocol):
    """Says how documents are laid out in rows; `corpusmill.tokens.packing` does it.

    method      "concat", "best_fit", "one_per_row" or "buckets"
    length      tokens per row
    remainder   what becomes of a last row that is not full: "keep", "pad" or "drop"
    split_at    documents that must be cut are cut at the end of a "paragraph" or "sentence"; None: anywhere
    """

    @property
    def method(self) -> Method: ...

    @property
    def length(self) -> int: ...

    @property
    def remainder(self) -> Remainder: ...

    @property
    def split_at(self) -> SplitAt | None: ...


def needs_of(step: Filter) -> tuple[str, ...]:
    """The measures and signals that a filter asks for: its `needs`."""
    needs: tuple[str, ...] = getattr(step, "needs", ())
    return needs


PUBLIC = ("Annotate", "Columns", "CorpusStep", "Filter", "Pack", "Tokenize", "Transform", "find", "names")
KINDS: tuple[type[Any], ...] = (Transform, Annotate, Filter, CorpusStep, Tokenize, Pack)


REGISTRY = Registry(__name__, "step", nested=True, hint="`corpusmill steps` lists them all.")
names, find = REGISTRY.names, REGISTRY.find


def __dir__() -> list[str]:
    return sorted([*REGISTRY.classes, *PUBLIC])


if TYPE_CHECKING:
    from corpusmill.inference.questions import Question
    from corpusmill.inference.server import Server
    from corpusmill.steps._exported import *  # noqa: F403
else:  # a type checker would take any name for granted
    __getattr__ = REGISTRY.importer()
