"""What every step owes, checked on every step that ships. A new step file is found by itself; none is left out.

A step goes through `Batch`, as in a run, so what is compared is what a run would write.
"""

import dataclasses
import os
import pickle
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import process_time
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import docs
from corpusmill import read, steps
from corpusmill.engine.work.batch import Batch
from corpusmill.engine.work.sinks import count_flow
from corpusmill.engine.work.step_chain import StepChain
from corpusmill.errors import DocumentError, MissingExtraError
from corpusmill.inference.schema import Field
from corpusmill.inference.server import Server
from corpusmill.recipe.names import name_of
from corpusmill.recipe.order import BEFORE_TEXT, RecipePart, misplaced
from corpusmill.schema import DOCUMENT
from corpusmill.steps import CorpusStep, Filter, Transform, UsesCode, needs_of
from corpusmill.steps.describe import describe, kinds
from corpusmill.steps.filter.lines import MEASURED
from corpusmill.steps.keys import Keys
from corpusmill.steps.personal_data import KNOWN
from corpusmill.steps.verdict import rules_of
from corpusmill.tokens.packing import Method, Remainder

DATA = Path(__file__).parent / "data"

# Parameters for the steps that cannot be made without any.
SAMPLES: dict[str, dict[str, Any]] = {
    "filter/keep_where": {"condition": "bytes > 20 and url is not null"},
    "filter/patterns": {
        "patterns": (("filler", "(?i)lorem ipsum"), ("digits", r"\d+")),
        "max_count": 1,
        "max_line_share": 0.5,
    },
    "filter/lines": {
        "min_words": 2,
        "terminal_punctuation": True,
        "bullets": "•",
        "patterns": (("cookies", "(?i)cookies"),),
    },
    "clean/spans": {"replace": (("attributes.pii.email", "<EMAIL>"),)},
    "clean/replace": {"patterns": ((r"\d+", "0"), ("(?i)lorem ", "")), "lower": True},
    "decontaminate/ngrams": {"benchmarks": str(DATA / "benchmark.jsonl")},
    "annotate/classifier": {"model": "lid.176.ftz", "labels": ("en",)},
    "annotate/embedding": {"model": str(DATA / "encoder"), "window": 64},
    "annotate/perplexity": {"model": str(DATA / "river.ngram")},
    "filter/function": {"function": "own_functions:few_links"},
    "map/function": {"function": "own_functions:louder"},
    "annotate/model": {
        "server": Server(url="http://localhost:8000/v1", model="m"),
        "prompt": "{text}",
        "fields": (("score", Field(type="integer")),),
    },
    "generate/rewrite": {"server": Server(url="http://localhost:8000/v1", model="m"), "prompts": ("distil",)},
    "annotate/metadata": {"texts": {"language": "language"}},
    "mix/buckets": {"budget": 1000},
    "mix/sources": {"temperature": 2.0, "unit": "bytes"},
}

# Bounds that no document is dropped by: they are about lines that go.
ABOUT_LINES = {"min_words_per_line", "max_word_chars", "max_uppercase"} | {rule.parameter for rule in MEASURED}

MADE: dict[str, Any] = {name: steps.find(name)(**SAMPLES.get(name, {})) for name in steps.names()}
# They need signals of steps before them, or a server, and have tests of their own in tests/steps.
ALONE = {"mix/rehydrate", "mix/buckets", "annotate/model", "generate/rewrite"}
SEE_A_BATCH = ("Transform", "Annotate", "Filter")
SEE_MORE = ("CorpusStep", "Tokenize", "Pack")


def of_kind(*wanted: str) -> list[Any]:
    """Those whose extra is not installed here are skipped, and say which it is."""
    found = [(name, step) for name, step in MADE.items() if set(wanted) & set(kinds(type(step))) and name not in ALONE]
    return [pytest.param(step, id=name, marks=marks(step)) for name, step in found]


def marks(step: Any) -> list[pytest.MarkDecorator]:
    try:
        if isinstance(step, Transform):
            step.transform(docs())
    except MissingExtraError as error:
        return [pytest.mark.skip(reason=str(error))]
    return []


LINES = [
    "The river that runs to the sea has to be crossed with care.",
    "short line",
    "",
    "    indented   text  with  runs\t ",
    "• a bullet…",
    "lorem ipsum { dolor }",
    "Please enable javascript. We use cookies.",
    "Write to jane.doe@mail.example.org or 8.8.8.8, see https://example.org/a?b=1.",
    "caf&eacute; schÃ¶n e\u0301\u200b naïve [1] [edit]",
    "東京は日本の首都です。",
    "مرحبا بالعالم",
    "👩\u200d🚀\u2028\x00\x85",
    "1234 5678 # # # ...",
    "over and over and over and over and over and over",
]
URLS = [None, "", "http://example.org/page", "https://adult.casino.example/porn", "not a url"]
texts = st.lists(st.sampled_from(LINES) | st.text(max_size=8), max_size=6).map("\n".join)
records = st.lists(st.tuples(texts | st.none(), st.sampled_from(URLS)), max_size=6)


def batch(rows: list[tuple[str | None, str | None]], *, pages: bool) -> pa.RecordBatch:
    """Documents with text, or pages as they were served whose text is not extracted yet."""
    texts, urls = [row[0] for row in rows], [row[1] for row in rows]
    if not pages:
        return docs(*texts, url=urls)
    raw = [f"<html><body><p>{text}</p></body></html>".encode("utf-8", "replace") for text in texts]
    return docs(*[None] * len(rows), url=urls, raw=raw, charset=["utf-8"] * len(rows))


def judged(step: Any, documents: pa.RecordBatch) -> dict[str, list[Any]]:
    """`answers`, or a skipped test that says which extra is not installed here."""
    try:
        return answers(step, documents)
    except MissingExtraError as error:
        pytest.skip(str(error))


class Score:
    """What stands for a score that an earlier step leaves."""

    def signals(self, docs: pa.RecordBatch) -> dict[str, pa.Array]:
        return {"score": pc.divide(pc.cast(pc.utf8_length(docs["text"]), pa.float64()), 300.0)}


def measured(documents: pa.RecordBatch, step: Any) -> Batch:
    """A batch that is ready for a step, with the score if the step judges by it."""
    ready = Batch(documents)
    if "quality.score" in getattr(step, "needs", ()):
        ready.apply(0, "quality", Score())
    return ready


def answers(step: Any, documents: pa.RecordBatch) -> dict[str, list[Any]]:
    """column -> what the step makes of each document: its text, its signals, why it is dropped."""
    through = measured(documents, step)
    through.apply(0, "step", step)
    assert not through.failed, through.failed
    found = {name: through.docs[name].to_pylist() for name in DOCUMENT.names if name != "position"}
    found |= {name: column.to_pylist() for name, column in through.signals.items() if name.startswith("step.")}
    found["dropped"] = through.dropped.tolist()
    return found | {f"reasons {at}": column.to_pylist() for at, (_, column) in enumerate(through.reasons)}


def joined(parts: list[dict[str, list[Any]]]) -> dict[str, list[Any]]:
    """The answers for one batch from those for its parts; where a part dropped nothing, its reasons are null."""
    rows = [len(part["dropped"]) for part in parts]
    return {
        name: [value for part, n in zip(parts, rows) for value in part.get(name, [None] * n)]
        for name in dict.fromkeys(name for part in parts for name in part)
    }


def comparable(found: dict[str, list[Any]]) -> str:
    """Equal for equal answers, NaN too. A filter's columns of reasons are one: whichever of them said something."""
    reasons = [name for name in found if name.startswith("reasons")]
    said = [sorted(filter(None, row)) for row in zip(*(found[name] for name in reasons))] if reasons else []
    rows = len(found["dropped"])
    return repr({**{k: v for k, v in found.items() if k not in reasons}, "reasons": said or [[]] * rows})


@pytest.mark.parametrize("name", steps.names())
def test_a_step_is_a_value(name):
    """Frozen, hashable, keyword-only, equal to its copy after the trip to a worker, and of a kind that is known."""
    step = MADE[name]
    assert dataclasses.is_dataclass(type(step)) and step.__dataclass_params__.frozen
    assert all(field.kw_only for field in dataclasses.fields(step))
    assert hash(step) == hash(type(step)(**SAMPLES.get(name, {})))
    assert pickle.loads(pickle.dumps(step)) == step
    assert set(vars(step)) == {field.name for field in dataclasses.fields(step)}
    assert kinds(type(step)), f"{name} fulfils no protocol of corpusmill.steps"


@pytest.mark.parametrize("name", steps.names())
def test_a_step_says_what_it_does_and_where_published_rules_come_from(name):
    info = describe(name)
    assert info.summary.endswith(".")
    if rules_of(MADE[name]):
        assert re.search(r"arXiv:\d{4}\.\d{5}|doi:", info.source), f"{name}: add a paragraph 'Source: …' with the paper"


def test_every_kind_of_step_is_checked_here():
    assert {kind for name in steps.names() for kind in describe(name).kinds} <= {*SEE_A_BATCH, *SEE_MORE}


@pytest.mark.parametrize("step", of_kind(*SEE_A_BATCH))
@pytest.mark.parametrize("pages", [False, True], ids=["texts", "pages"])
def test_no_documents_is_a_batch_like_any_other(step, pages):
    """So a plan can be checked, schema and all, by sending it nothing."""
    found = judged(step, batch([], pages=pages))
    assert set(map(len, found.values())) == {0}


NOTHING = """
import sys
sys.path[:0] = sys.argv[1:]
import test_every_step as every
from corpusmill.text import shipped
shipped.is_native = True  # no kernel came with the package
for step in every.of_kind(*every.SEE_A_BATCH):
    for pages in (False, True):
        if not step.marks and step.id != "annotate/classifier":  # opens a model of yours, to see whether it is damaged
            every.answers(*step.values, every.batch([], pages=pages))
    if "numba" in sys.modules:
        sys.exit(step.id)
"""


def test_no_documents_need_no_compiled_code(tmp_path):
    """So a check waits for no compiler: tables of words, names and characters are made for documents."""
    environment = os.environ | {"CORPUSMILL_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", NOTHING, str(Path(__file__).parent)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("step", of_kind(*SEE_A_BATCH))
@pytest.mark.parametrize("pages", [False, True], ids=["texts", "pages"])
@given(first=records, second=records)
@settings(max_examples=20)
def test_each_document_is_answered_alone_whatever_the_batch_cuts(step, pages, first, second):
    both = batch(first + second, pages=pages)
    whole = judged(step, both)
    parts = [answers(step, both.slice(0, len(first))), answers(step, both.slice(len(first)))]
    singly = [answers(step, both.slice(row, 1)) for row in range(len(both))] or parts
    assert set(map(len, whole.values())) == {len(both)}
    assert comparable(whole) == comparable(joined(parts)) == comparable(joined(singly))


@pytest.mark.parametrize("step", of_kind("Transform"))
@given(rows=records)
@settings(max_examples=10)
def test_a_transform_keeps_the_rows_and_whose_they_are(step, rows):
    before = batch(rows, pages=False)
    after = step.transform(before)
    assert isinstance(step, Transform)
    for name in ("id", "source", "file", "position", "url"):
        assert after[name].to_pylist() == before[name].to_pylist()
    assert after.schema.field("text").type == pa.large_string()
    after.validate(full=True)


# What hurts programs that look on from every place: each is repeated up to a size.
HURTING = [
    *[
        "a",
        "A",
        "f3a9",
        "7",
        "a1",
        "1é",
        "é",
        "é1a",
        "日",
        "日1",
        "ก",
        "ش",
        "e\u0301",
        "\u0301",
        "\u200b",
        "👩\u200d",
        "\ufffd",
    ],
    *[
        "\n",
        "\r\n",
        " ",
        "\t",
        "\u00a0",
        "\x00",
        " \n",
        "a\n",
        "a\n\n",
        "the river\n",
        "a b ",
        "A b. ",
        "Aa1 ",
        "1 ",
        "1.",
        "1-",
    ],
    *[
        "(",
        "[",
        "{",
        "<",
        "&",
        "&amp;",
        "&#",
        '"',
        "'",
        "`",
        "\\",
        "|",
        "*",
        "#",
        "-",
        "_",
        "=",
        "$",
        "/",
        ".",
        "!",
        "...",
        ": ",
    ],
    *[
        "<div>",
        "</div>",
        "<b>a",
        "<a href='",
        "<!--",
        "<p>a\n",
        "{{",
        "[[",
        "{|",
        "\\begin{a}",
        "def a():\n",
        "; ",
        "• ",
    ],
    *[
        "@",
        "a@",
        "a@b.",
        "a [at] ",
        "://",
        "https://a.",
        "www.",
        "a.b/",
        "1.1.1.",
        "fe80:",
        "+1 ",
        "(1) ",
        "12-34-",
        "eyJ",
        "key=",
    ],
    *[
        "1 Main Street ",
        "1 Main ",
        "Via ",
        "straße ",
        "Box 1 ",
        "1a Xx ",
        "éé 1 ",
        "AKIA",
        "-----BEGIN ",
        "DE12 ",
        "lorem ipsum ",
    ],
]
SHORT, LONG = 16_000, 64_000  # characters; an eighth of pages, whose extraction is Python and libraries


def seconds(step: Any, documents: pa.RecordBatch) -> float:
    """CPU time of what a step makes of documents."""
    start = process_time()
    if isinstance(step, CorpusStep):
        step.keys(documents, measured(documents, step).needed("step", step.needs))
    elif "Tokenize" in kinds(type(step)):
        step.encode(documents["text"])
    elif documents["text"].null_count:
        for row in range(len(documents)):
            with suppress(DocumentError):  # a limit of the step: what takes too long is a dead letter
                step.transform(documents.slice(row, 1))
    else:
        judged(step, documents)
    return process_time() - start


def hurting(patterns: list[str], size: int, pages: bool) -> pa.RecordBatch:
    size = size // 8 if pages else size
    return batch([(pattern * (size // len(pattern)), None) for pattern in patterns], pages=pages)


def grows(step: Any, patterns: list[str], pages: bool) -> bool:
    """Whether four times the text takes more than about four times as long: of three tries, the best."""
    short, long = hurting(patterns, SHORT, pages), hurting(patterns, LONG, pages)
    return all(seconds(step, long) > 5 * seconds(step, short) + 0.05 for _ in range(3))


WIDER = [  # steps that look for more than they do unless asked
    pytest.param(steps.find("redact/pii")(kinds=KNOWN), id="redact/pii, all kinds"),
    pytest.param(steps.find("clean/urls")(bare=True), id="clean/urls, bare"),
    pytest.param(steps.find("clean/normalize")(form="NFKC", ascii=True), id="clean/normalize, ASCII"),
    pytest.param(
        steps.find("filter/lines")(unit="paragraphs", max_repeated_3_gram_ratio=0.5), id="filter/lines, n-grams"
    ),
]


@pytest.mark.parametrize("step", of_kind(*SEE_A_BATCH, "CorpusStep", "Tokenize") + WIDER)
def test_time_grows_with_the_text_and_not_with_its_square(step):
    """On texts that make programs look on from every place to the end of a word, a line, or all."""
    pages = isinstance(step, Transform) and type(step).__module__.startswith("corpusmill.steps.extract")
    seconds(step, hurting(HURTING, 50, pages))  # loads what it needs
    if grows(step, HURTING, pages):
        slow = [pattern for pattern in HURTING if grows(step, [pattern], pages)]
        assert not slow


# What a step makes nothing of: its parameters, and the text.
EMPTIED: dict[str, tuple[dict[str, Any], str]] = {
    "clean/html": ({}, "<p>\u00a0</p>\n<br>"),
    "clean/normalize": ({}, "\u200b\u200b&nbsp;\x01"),
    "clean/replace": ({"patterns": ((r"\d+", ""),)}, "1234 5678"),
    "clean/urls": ({"tidy": False}, "https://example.org/a?b=1 \u3000"),
    "filter/lines": ({"min_words": 2}, "short\n\nlines"),
    "map/function": ({"function": "own_functions:first_half"}, " x"),
    "redact/pii": ({"placeholders": (("email", ""),)}, "\njane.doe@mail.example.org"),
}


@pytest.mark.parametrize("name", [param.id for param in of_kind("Transform")])
def test_a_document_of_which_a_step_leaves_nothing_is_dropped_as_empty(name):
    """Nothing but white space is nothing, as readers have it, and whichever step it is."""
    parameters, text = EMPTIED.get(name, (SAMPLES.get(name, {}), " \n\u00a0"))
    step = steps.find(name)(**parameters)
    emptied = judged(step, batch([(text, None), ("\u3000\t", None)], pages=False))
    assert emptied["dropped"] == [0, 0]
    assert [reason.rpartition(",")[2] for reason in emptied["reasons 0"]] == ["empty", "empty"]


def test_a_document_of_which_a_cut_leaves_nothing_is_dropped_as_empty():
    through = Batch(batch([("river and sea", None), ("river \n", None), ("river", None)], pages=False))
    through.cut(0, "line", np.array([[0, 0, 5], [1, 0, 5]]), pa.nulls(3, pa.string()))
    assert through.dropped.tolist() == [-1, 0, -1]
    assert through.reasons[0][1].to_pylist() == [None, "empty", None]


def test_a_step_that_judges_what_it_empties_gives_its_own_reason_first():
    line = "The river that runs to the sea has to be crossed with care."
    step, facts = steps.find("filter/c4")(), dict[str, Any]()
    through = Batch(batch([("short line", None), (line, None), ("\n".join([line] * 5), None)], pages=False))
    through.apply(0, "c4", step)
    through.finish()
    assert [(label, reasons.to_pylist()) for label, reasons in through.reasons] == [
        ("c4", ["min_sentences,empty", "min_sentences", None])
    ]
    assert through.all_reasons().to_pylist() == ["c4.min_sentences,c4.empty", "c4.min_sentences", None]
    count_flow(through, StepChain(steps=(("c4", step),)), None, facts)
    assert facts["reasons"] == {"c4": {"made": {"min_sentences": 2}}}


@pytest.mark.parametrize("step", of_kind("Filter"))
def test_the_columns_that_a_filter_judges_by_are_kept_as_signals(step):
    assert isinstance(step, Filter)
    kept = set(answers(step, batch([("the river runs", "http://example.org/")], pages=False)))
    rules = rules_of(step)
    assert {f"step.{rule.signal}" for rule in rules} <= kept
    own = kept - set(DOCUMENT.names) - {"dropped", "reasons 0", "reasons 1"}
    assert own or "*" in needs_of(step) or isinstance(step, UsesCode), (
        "a filter leaves at least one signal, but what it judges by is kept already"
    )


def some(step: Any, rule: Any) -> int:
    """A bound for a rule that has none: a share of all, or more than the least that another rule asks for."""
    kind = next(field.type for field in dataclasses.fields(step) if field.name == rule.parameter)
    return 1000 if rule.parameter.startswith("max_") and "int" in str(kind) else 1


def bounds(step: Any) -> set[str]:
    return {field.name for field in dataclasses.fields(step) if re.match("(min|max)_", field.name)}


def but_no_settings(reasons):
    """The reasons of one document, but for the one of filter/fineweb2 that no bound has: its language has no settings."""
    (said,) = reasons.to_pylist()
    return [reason for reason in (said or "").split(",") if reason not in ("", "no_settings")]


BESIDE = "filter/language"  # a document without the languages is dropped whatever its score, which has no switch


@pytest.mark.parametrize(
    "step", [param for param in of_kind("Filter") if rules_of(param.values[0]) and param.id != BESIDE]
)
def test_every_bound_is_a_reason_and_none_switches_it_off(step):
    rules = {rule.parameter: rule for rule in rules_of(step)}
    assert set(rules) <= {field.name for field in dataclasses.fields(step)}
    assert bounds(step) - ABOUT_LINES <= set(rules)
    nothing = batch([("text", None)], pages=False)
    for rule in rules.values():
        on = (
            step
            if isinstance(getattr(step, rule.parameter), int | float)
            else dataclasses.replace(step, **{rule.parameter: some(step, rule)})
        )
        bound = getattr(on, rule.parameter)
        past = bound - 0.5 if "<" in rule.drops else bound + 0.5
        # every other signal stands on a bound that passes, or else is null, which never drops
        columns = {other.signal: pa.array([None], pa.float64()) for other in rules.values()}
        columns |= {name: column for name, column in own_signals(on, nothing).items() if name not in columns}
        columns[rule.signal] = pa.array([past])
        assert but_no_settings(on.reasons(nothing, columns)) == [rule.parameter]
        off = dataclasses.replace(on, **{rule.parameter: None})
        assert but_no_settings(off.reasons(nothing, columns)) == []


def own_signals(step: Any, documents: pa.RecordBatch) -> dict[str, pa.Array]:
    """The signals that a step's own parts make, under plain names."""
    through = measured(documents, step)
    through.apply(0, "step", step)
    return {name.removeprefix("step."): column for name, column in through.signals.items()}


@pytest.mark.parametrize("step", of_kind("CorpusStep"))
@given(first=records, second=records)
@settings(max_examples=20)
def test_keys_depend_on_each_document_alone(step, first, second):
    assert isinstance(step, CorpusStep)
    both = batch(first + second, pages=False)

    def keys(documents: pa.RecordBatch) -> Keys:
        return step.keys(documents, measured(documents, step).needed("step", step.needs))

    whole, cut = keys(both), [keys(both.slice(0, len(first))), keys(both.slice(len(first)))]
    assert whole.bands.dtype == np.uint64
    np.testing.assert_array_equal(whole.bands, np.concatenate([part.bands for part in cut]))
    for arrays, rows in ((lambda found: found.arrays, len(both)), (lambda found: found.payload, len(whole.bands))):
        for name, array in arrays(whole).items():
            assert len(array) == rows
            np.testing.assert_array_equal(array, np.concatenate([arrays(part)[name] for part in cut]))
    if whole.documents is None:
        assert len(whole.bands) == len(both) and all(part.documents is None for part in cut)
    else:
        of = np.concatenate([cut[0].documents, cut[1].documents + len(first)])
        np.testing.assert_array_equal(whole.documents, of)
        assert len(of) == len(whole.bands) and (np.diff(of) >= 0).all()


@pytest.mark.parametrize("step", of_kind("Tokenize"))
@given(first=st.lists(texts, max_size=4), second=st.lists(texts, max_size=4))
@settings(max_examples=20)
def test_a_document_has_the_same_tokens_in_every_batch_and_ends_once(step, first, second):
    whole = pa.array(first + second, pa.large_string())
    ids, lengths = step.encode(whole)
    parts = [step.encode(whole.slice(0, len(first))), step.encode(whole.slice(len(first)))]
    np.testing.assert_array_equal(ids, np.concatenate([part[0] for part in parts]))
    np.testing.assert_array_equal(lengths, np.concatenate([part[1] for part in parts]))
    np.testing.assert_array_equal(lengths, step.count(whole) + 1)
    ends = np.cumsum(lengths) - 1
    assert np.flatnonzero(ids == step.open().eos_id).tolist() == ends.tolist()


@pytest.mark.parametrize("step", of_kind("Pack"))
def test_how_to_pack_is_said_in_words_that_packing_knows(step):
    assert step.method in get_args(Method)
    assert step.remainder in get_args(Remainder)
    assert step.length >= 2


PRINT_ANSWERS = """
import sys
sys.path[:0] = sys.argv[1:]
from corpusmill.errors import MissingExtraError
from test_every_step import ALONE, LINES, MADE, URLS, answers, batch, comparable, kinds, SEE_A_BATCH
rows = [("\\n".join(LINES[i:]), URLS[i % len(URLS)]) for i in range(len(LINES))]
for name, step in MADE.items():
    if name not in ALONE and set(SEE_A_BATCH) & set(kinds(type(step))):
        for pages in (False, True):
            try:
                print(name, ascii(comparable(answers(step, batch(rows, pages=pages)))))
            except MissingExtraError as error:
                print(name, error)
"""


def test_another_process_with_another_hash_seed_and_locale_answers_the_same(pytestconfig):
    def printed(seed: str, locale: str) -> bytes:
        environment = os.environ | {"PYTHONHASHSEED": seed, "LC_ALL": locale}
        command = [sys.executable, "-c", PRINT_ANSWERS, str(pytestconfig.rootpath / "tests")]
        return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout

    one = printed("1", "C")
    assert one.count(b"\n") == 2 * len(of_kind(*SEE_A_BATCH))
    assert one == printed("2", "C.UTF-8")


BODIES = [f"A page of {number}, and of its own words. " * 9 for number in ("one", "two", "three", "four")]
OTHERS = ["def f(x):\n    return {x: [x + 1]}\n" * 9, LINES[7] * 3, LINES[8] * 3, LINES[0] + " CC BY-SA 4.0 "]
OTHERS[3] += "This work is licensed under the Creative Commons Attribution-ShareAlike 4.0 International License."


def of_pages(step: Any, *texts: str | None) -> str:
    """What a step says of pages that are the same, but for the text that was extracted."""
    pages = [f"<p>This is page number {number}.</p>".encode() for number in range(len(texts))]
    urls = [f"http://example.org/{number}" for number in range(len(texts))]
    documents = docs(*texts, url=urls, raw=pages, charset=["utf-8"] * len(texts))
    if isinstance(step, CorpusStep):
        ready = measured(documents, step)
        made = step.keys(documents, ready.needed("step", step.needs))
        arrays = {"bands": made.bands, "documents": made.documents, **made.arrays, **made.payload}
        return repr([(name, np.asarray(array).tolist()) for name, array in arrays.items()])
    return comparable({name: value for name, value in judged(step, documents).items() if name != "text"})


@pytest.mark.parametrize("step", of_kind("Transform", "Annotate", "Filter", "CorpusStep"))
def test_what_reads_text_cannot_come_before_text_is_extracted(step):
    """A recipe with a step that would make nothing of a page, or drop it, above the extraction is refused."""
    name = name_of(step)
    if name.partition("/")[0] in ("extract", "mix"):
        return
    parts = [
        RecipePart("read", 0, "warc", read.find("warc")),
        RecipePart("steps", 0, name, type(step)),
        RecipePart("steps", 1, "extract/blocks", None),
    ]
    if name in BEFORE_TEXT:
        assert not misplaced(parts)
    else:
        ((part, message),) = misplaced(parts)
        assert part.name == name and message.startswith("reads text, and read/warc gives HTML pages")
    of_signals = any("." in need for need in getattr(step, "needs", ()))
    if not of_signals and name not in ("filter/function", "map/function"):  # what these look at is others' affair
        said = {of_pages(step, *texts) for texts in (BODIES, OTHERS, [None] * 4)}
        assert (len(said) == 1) == (name in BEFORE_TEXT)
