"""Nothing in, nothing out: every reader, writer, section of the report, verb and loader on no document and on one.

All of them are found where they are registered, so a new one is tested by existing.
"""

import gzip
import io
import json
import re
import shlex
import tarfile
import zipfile
from contextlib import redirect_stdout
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import corpusmill
from corpusmill import export, loader, read, steps, write
from corpusmill.cli.help import VERB_GROUPS
from corpusmill.errors import MissingExtraError, ShardError
from corpusmill.execute.serial import Serial
from corpusmill.loader.stages import StageLoader
from corpusmill.ops.verify import verify_place
from corpusmill.report import page
from corpusmill.report.tables import RunTables
from corpusmill.shards import open_shards
from corpusmill.steps.describe import kinds
from corpusmill.write.megatron import read_index
from fuzz.seeds import record
from inspected import asking
from made_crawl import wat
from made_pdf import made_pdf
from made_run import prose
from test_every_step import MADE

TEXT = prose(Random(3), 40)
BLANK, ONE = b"\n \n\n", json.dumps({"id": "one", "text": TEXT, "url": "http://made.org/one"}).encode() + b"\n"
DROP = "filter/keep_where: {condition: bytes > 1000000}"
PACKED = ("dedup/exact", "tokenize/bpe", "pack/concat: {length: 16}")


def table(*texts: str) -> pa.Table:
    return pa.table({"text": pa.array(texts, pa.string())})


def parquet(*texts: str) -> bytes:
    pq.write_table(table(*texts), out := io.BytesIO())
    return out.getvalue()


def arrow(*texts: str) -> bytes:
    with pa.ipc.new_file(out := io.BytesIO(), table().schema) as file:
        file.write_table(table(*texts))
    return out.getvalue()


def tar(**members: str) -> bytes:
    with tarfile.open(fileobj=(out := io.BytesIO()), mode="w") as archive:
        for name, content in members.items():
            about = tarfile.TarInfo(f"repo/{name}.py")
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content.encode()))
    return out.getvalue()


def run(folder: Path, sources: dict[str, str], steps: Any, writers: Any, more: str = "") -> corpusmill.Run:
    """A run of a recipe, read back thoroughly, with its report.

    sources   name -> the reader with its paths
    """
    folder.mkdir(parents=True, exist_ok=True)
    lists = {
        "read": [f"{reader}, source: {name}}}" for name, reader in sources.items()],
        "steps": list(steps),
        "write": list(writers),
    }
    text = "".join(f"{part}:\n" + "".join(f"  - {one}\n" for one in given) for part, given in lists.items() if given)
    (folder / "r.yaml").write_text(
        f"name: nothing\n{text}run: {{error_budget: 1.0, executor: serial}}\n{more}", "utf-8"
    )
    done = corpusmill.run(folder / "r.yaml", folder=folder / "run", progress=False)
    if writers:
        assert [checked.problems for checked in verify_place(done.place)] == [()] * len(writers)
    assert "<html" in done.report.read_text("utf-8")
    return done


def lines(folder: Path, content: bytes, name: str = "in.jsonl") -> str:
    """A reader of JSON lines in a file of this content."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)
    return f"jsonl: {{paths: {folder / name}"


# ------------------------------------------------------------- runs

NOTHING = {  # how a source gives nothing: its files
    "blank lines": ("a.jsonl", BLANK),
    "empty texts": ("a.jsonl", b'{"text": ""}\n{"text": ""}\n'),
    "bad records": ("a.jsonl", b'{bad\n{"text": 7}\n'),
    "no rows": ("a.parquet", parquet()),
    "packed": ("a.jsonl.gz", gzip.compress(b"")),
}
BEGIN = [
    (),
    ("dedup/exact",),
    PACKED,
    ("tokenize/bpe",),
    ("mix/sources: {temperature: 1.0, unit: bytes}",),
    ("filter/url",),
]


@pytest.mark.parametrize(
    ("kind", "begins"), [*((kind, ()) for kind in NOTHING), *(("empty texts", begins) for begins in BEGIN)]
)
def test_a_source_without_documents_is_counted_alone_and_beside_another(tmp_path, kind, begins):
    name, content = NOTHING[kind]
    (tmp_path / name).write_bytes(content)
    empty = f"{'parquet' if name.endswith('parquet') else 'jsonl'}: {{paths: {tmp_path / name}"
    writers = ["jsonl", *(["shards"] if any("tokenize" in step for step in begins) else [])]
    for at, sources in (("alone", {"b": empty}), ("beside", {"a": lines(tmp_path, ONE), "b": empty})):
        done = run(tmp_path / at, sources, begins, writers)
        read, (row, *_) = done.waterfall.read, [*done.waterfall.rows, None]
        assert read["b"]["documents"] == 0 and done.waterfall.documents_in == len(sources) - 1
        assert row is None or row.documents_out == len(sources) - 1
        assert len(list(done.documents())) == done.to_arrow().num_rows == len(sources) - 1


def test_input_files_of_no_bytes_at_all_are_refused_in_one_line(tmp_path, corpusmill):
    """They may be of a download that failed; so only where there is nothing else."""
    empty, one = lines(tmp_path, b"", "empty.jsonl"), lines(tmp_path, ONE)
    recipe = tmp_path / "r.yaml"
    recipe.write_text(f"read: [{empty}}}]\n", "utf-8")
    assert corpusmill("run", recipe) == (2, "", f"error: all input files are empty: {tmp_path}/empty.jsonl\n")
    assert run(tmp_path / "both", {"a": empty, "b": one}, (), ["jsonl"]).waterfall.documents_out == 1


def corpus_steps() -> list[str]:
    return [name for name, step in MADE.items() if {"CorpusStep", "Tokenize", "Pack"} & set(kinds(type(step)))]


BEFORE = {  # steps that leave the signals which these need
    "annotate/bucket": ["annotate/quality"],
    "filter/top": ["annotate/quality"],
    "mix/buckets": ["annotate/quality", "annotate/bucket"],
    "mix/rehydrate": ["dedup/minhash"],
}


@pytest.mark.parametrize("name", corpus_steps())
@pytest.mark.parametrize("read_one", [False, True])
def test_a_step_that_sees_more_than_a_batch_sees_nothing(tmp_path, name, read_one):
    step = replace(MADE[name], unit="bytes") if name == "mix/buckets" else MADE[name]
    chain = [*(MADE[before] for before in BEFORE.get(name, [])), step]
    if "Pack" in kinds(type(step)):
        chain = [MADE["tokenize/bpe"], *chain]
    if read_one:
        chain = [steps.KeepWhere(condition="bytes > 1000000"), *chain]
    recipe = corpusmill.Recipe(
        name="nothing", read={"a": [{"text": TEXT if read_one else ""}]}, steps=chain, write=["jsonl"]
    )
    done = corpusmill.run(recipe, folder=tmp_path / "run", executor=Serial(), progress=False)
    assert done.waterfall.documents_out == 0 and list(done.documents()) == []


# ------------------------------------------------------------- readers

PAGE = f"<html><body><p>{TEXT}</p></body></html>".encode()
HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + PAGE
POST = '<row Id="{}" PostTypeId="{}" ParentId="1" CreationDate="2012-05-01T10:00:00.000" Score="1" Body="{}" />\n'
WIKI = "<page><title>A</title><ns>0</ns><id>1</id><revision><id>1</id><model>wikitext</model><text>{}</text></revision></page>"
TEX = r"\documentclass{article}\begin{document}" + TEXT + r"\end{document}"


CONTAINER = '<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>'
PACKAGE = """<package xmlns="http://www.idpf.org/2007/opf"><metadata></metadata><manifest>
<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>"""


def book() -> bytes:
    with zipfile.ZipFile(out := io.BytesIO(), "w") as archive:
        for name, content in (("META-INF/container.xml", CONTAINER), ("b.opf", PACKAGE), ("a.xhtml", PAGE)):
            archive.writestr(name, content)
    return out.getvalue()


def word_document() -> bytes:
    with zipfile.ZipFile(out := io.BytesIO(), "w") as archive:
        archive.writestr("word/document.xml", f"<document><body><p><r><t>{TEXT}</t></r></p></body></document>")
    return out.getvalue()


# Format -> its file, the content without a document, the content with one, the steps that it must have.
FILES: dict[str, tuple[str, bytes, bytes, tuple[str, ...]]] = {
    "arrow": ("in.arrow", arrow(), arrow(TEXT), ()),
    "code": ("in.tar", tar(), tar(a="import os\n\nprint(os.name)\n"), ()),
    "csv": ("in.csv", b"text\n", f'text\n"{TEXT}"\n'.encode(), ()),
    "dolma": ("documents/in.json.gz", gzip.compress(BLANK), gzip.compress(ONE), ()),
    "docx": ("in.docx", BLANK, word_document(), ("extract/blocks",)),
    "epub": ("in.epub", BLANK, book(), ("extract/blocks",)),
    "html": ("in.html", BLANK, PAGE, ("extract/blocks",)),
    "jsonl": ("in.jsonl", BLANK, ONE, ()),
    "latex": ("in.tex", BLANK, TEX.encode(), ("extract/latex",)),
    "mediawiki": (
        "in.xml",
        b"<mediawiki></mediawiki>",
        f"<mediawiki>{WIKI.format(TEXT)}</mediawiki>".encode(),
        ("extract/wikitext",),
    ),
    "parquet": ("in.parquet", parquet(), parquet(TEXT), ()),
    "pdf": ("in.pdf", BLANK, made_pdf([(50, 700, TEXT[:80])]), ()),
    "redpajama": (
        "documents/in.json.gz",
        gzip.compress(BLANK),
        gzip.compress(json.dumps({"raw_content": TEXT, "url": "http://made.org/one"}).encode() + b"\n"),
        (),
    ),
    "stackexchange": (
        "Posts.xml",
        b"<posts>\n</posts>",
        f"<posts>\n{POST.format(1, 1, 'Why?')}{POST.format(2, 2, TEXT)}</posts>".encode(),
        ("extract/blocks",),
    ),
    "text": ("in.txt", BLANK, TEXT.encode(), ()),
    "warc": ("in.warc", BLANK, record("response", HTTP), ("extract/blocks",)),
    "wat": ("in.warc.wat", BLANK, wat("response", "http://made.org/one", 200, "text/html", 1, {}), ()),
    "wet": ("in.warc.wet", BLANK, record("conversion", TEXT.encode(), Content_Type="text/plain"), ()),
}


@pytest.mark.parametrize("count", [0, 1])
@pytest.mark.parametrize("name", [name for name in read.names() if name != "commoncrawl"])  # a bucket, no file
def test_a_reader_gives_no_document_and_one(tmp_path, name, count):
    assert name in FILES, f"{name} is new: say in FILES what a file of it without a document is, and one with one"
    place, *contents, needed = FILES[name]
    root = tmp_path / "in"
    (root / place).parent.mkdir(parents=True)
    (root / place).write_bytes(contents[count])
    paths = root if "/" in place else root / place
    try:
        done = run(tmp_path / "of", {"a": f"{name}: {{paths: {paths}"}, needed, ["jsonl"])
    except MissingExtraError as error:
        pytest.skip(str(error))
    assert done.waterfall.documents_in == done.waterfall.documents_out == count


# ------------------------------------------------------------- writers

ASKED = {  # what a writer is asked for beside its defaults
    "parquet": "parquet: {columns: [id, text, token_count, copies, stats.words], signals: []}",
    "dolma": "dolma: {signals: ['stats.*']}",
    "redpajama": "redpajama: {signals: ['stats.*'], keep: true}",
}


@cache
def written(name: str, count: int, folder: Path) -> Path | None:
    """The folder that a writer wrote of so many documents; None if its extra is not installed."""
    chain = ["annotate/stats", "dedup/exact", "mix/sources: {temperature: 1.0}", "tokenize/bpe", PACKED[-1]]
    try:
        done = run(
            folder / f"{name}-{count}",
            {"a": lines(folder, ONE)},
            chain if count else [DROP, *chain],
            [ASKED.get(name, name)],
        )
    except MissingExtraError:
        return None
    return done.output / name


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("written")


@pytest.mark.parametrize("name", write.names())
def test_a_writer_of_documents_writes_an_empty_file_and_one_of_tokens_none(folder, name):
    """What there is can be read by whoever reads the format, and tables have the columns of those with documents."""
    nothing, one = (written(name, count, folder) for count in (0, 1))
    if nothing is None or one is None:
        pytest.skip(f"the extra of {name} is not installed")
    made, there = ({path.relative_to(at): path for path in at.rglob("*") if path.is_file()} for at in (nothing, one))
    if isinstance(write.find(name)(), write.DocumentWriter):
        assert made.keys() == there.keys()
    else:
        assert {path.name for path in made} <= {".SHA256SUMS", "index.json", "entries.json"} | {
            path.name for path in there if path.suffix == ".json"
        }
    for path, file in made.items():
        if path.suffix == ".parquet":
            assert pq.read_table(file).num_rows == 0
            assert pq.read_schema(file).equals(pq.read_schema(there[path])), path
        elif path.suffix in (".gz", ".zst"):
            assert unpacked(file) == b"" != unpacked(there[path])
        elif path.suffix == ".idx":
            assert not len(read_index(file).lengths)


@pytest.mark.parametrize("format", [name for name in export.formats() if name not in export.REVIEW_FORMATS])
def test_an_export_of_nothing_is_sound_and_has_no_file_that_cannot_be_opened(runs, tmp_path, format):
    made = export.export(runs["nothing kept"].place, format, tmp_path / "out")
    (checked,) = verify_place(str(made.folder))
    assert checked.problems == () and not made.documents and not made.tokens
    for path in made.folder.rglob("*.*"):
        assert path.stat().st_size or path.name in (".SHA256SUMS", "00000.jsonl"), path
    assert format not in ("nanogpt", "llmc", "megatron", "olmo", "litdata", "parquet_tokens") or made.files == 0


def unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else zstandard.ZstdDecompressor().stream_reader(data).read()


# ------------------------------------------------------------- questions

RUNS = ("nothing read", "nothing kept", "one document")
ALL = [
    "annotate/language",
    "filter/gopher_quality: {min_words: 5, min_stop_words: 1, min_alpha_words: 0}",
    "dedup/line: {mark: true}",
    *PACKED,
]
STAGES = "stages:\n  - {name: pretrain, tokens: 16, batch: 1, length: 16}\n"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run that read nothing, one that kept nothing, and one of one document, each with all that can be asked."""
    made: dict[str, corpusmill.Run] = {}
    for name in RUNS:
        folder = tmp_path_factory.mktemp("runs") / name.replace(" ", "-")
        source = {"a": lines(folder, BLANK if name == "nothing read" else ONE)}
        chain = [DROP, *ALL] if name == "nothing kept" else ALL
        made[name] = run(folder, source, chain, ["shards", "parquet", "jsonl"], STAGES)
    return made


WRONG_PLURAL = re.compile(
    r"(?<![\d,./])1 (documents|records|files|units|lines|rows|tokens|sources|words|stages|parts)\b"
)
# Verb -> what it is asked about a run. Words in capitals stand for the run's folder, its recipe, a new folder …
QUESTIONS: dict[str, list[str]] = {
    "run": ["RECIPE --folder RUN"],
    "check": ["RECIPE"],
    "plan": ["RUN", "RUN --tokens 100", "RECIPE --sample 100%"],
    "watch": ["RUN --once"],
    "add": ["RUN IN --dry-run", "RUN --list", "RUN --list --files"],
    "remove": ["RUN IN --dry-run"],
    "report": ["RUN"],
    "stats": ["RUN"],
    "peek": ["RUN", "RUN --dropped all", "RUN --dead", "RUN --repeated", "RUN --id http://made.org/one"],
    "sql": ["RUN", "RUN TABLES"],
    "recipe": ["RUN", "RUN --written"],
    "verify": ["RUN", "RUN --tokenizer gpt2"],
    "explain": ["RUN http://made.org/one"],
    "what-if": ["RUN --set gopher_quality.min_words=3"],
    "ablate": ["RUN"],
    "audit": ["RUN", "RUN --prompt PROMPT"],
    "trace": ["RUN --step 0", "RUN --row 0 --seq-len 16", "RUN --shard 0 --token 0"],
    "find": ["RUN ferry", "RUN --spans PASSAGE", "RUN ferry --steps"],
    "diff": ["RUN RUN"],
    "export": [f"RUN {format} NEW" for format in export.formats()],
    "push": ["RUN hf://datasets/me/made --dry-run", "RUN --card --eu-summary"],
    "index": ["RUN NEW --dedup exact"],
    "train": ["tokenizer RUN --vocab-size 300 --out NEW"],
    "forget": ["RUN --domain made.org --dry-run", "RUN --text PASSAGE --dry-run", "RUN --domain a.b --dry-run --steps"],
}
# They ask nothing about a run: they make one, wait for one, serve a page, or know no run at all.
NO_QUESTIONS = {"demo", "new", "work", "inspect", "rights", "steps", "warm"}
ROWS_MISSING = (1, "there are no rows: the shards hold no tokens")
# What cannot be answered of nothing, or of one document: the status and the line that says why. All else ends with 0.
UNANSWERED: dict[str, dict[str, tuple[int, str]]] = {
    "nothing kept": {
        "ablate RUN": (2, "the run keeps no documents, so there is nothing to train models on"),
        "audit RUN": (1, ""),  # a red flag: a source has vanished
        "audit RUN --prompt PROMPT": (1, ""),
        "trace RUN --step 0": ROWS_MISSING,
        "trace RUN --row 0 --seq-len 16": ROWS_MISSING,
        "trace RUN --shard 0 --token 0": (2, "there is no token 0 of shard 0; the folder holds no tokens"),
        "find RUN ferry --steps": ROWS_MISSING,
        "plan RUN": ROWS_MISSING,
        "remove RUN IN --dry-run": (2, "nothing would be left of this source"),
        "train tokenizer RUN --vocab-size 300 --out NEW": (2, "there are no texts to train on"),
        "forget RUN --text PASSAGE --dry-run": (2, "the run has no such document"),
        "forget RUN --domain a.b --dry-run --steps": (2, "the run has no such document"),
    },
    "one document": {
        "ablate RUN": (2, "nothing to compare: the run has one source"),
        "audit RUN": (1, ""),  # red flags: its rows are half empty
        "audit RUN --prompt PROMPT": (1, ""),
        "remove RUN IN --dry-run": (2, "nothing would be left of this source"),
        "forget RUN --domain a.b --dry-run --steps": (2, "the run has no such document"),
        **{
            f"export RUN {format} NEW": (2, "with val_fraction 0.0005 none of 1 document ")
            for format in ("llmc", "nanochat", "nanogpt")
        },
    },
}
UNANSWERED["nothing read"] = UNANSWERED["nothing kept"] | {
    "peek RUN --id http://made.org/one": (2, "no document and no dead letter has the id or URL"),
    "explain RUN http://made.org/one": (2, "there is no document or dead letter with the id, URL or FILE:POSITION"),
    "forget RUN --domain made.org --dry-run": (2, "the run has no such document"),
    "plan RUN --tokens 100": (2, "this run has read no documents, so it has no tokens"),
    **{f"export RUN {format} NEW": (2, "the run has no documents to review") for format in export.REVIEW_FORMATS},
}


def test_every_verb_is_asked_or_asks_nothing():
    verbs = {verb for group in VERB_GROUPS.values() for verb in group}
    assert verbs == QUESTIONS.keys() | NO_QUESTIONS and not QUESTIONS.keys() & NO_QUESTIONS


@pytest.mark.parametrize("question", [f"{verb} {words}" for verb, asked in QUESTIONS.items() for words in asked])
@pytest.mark.parametrize("name", RUNS)
def test_a_question_about_nothing_has_an_answer_or_one_line(runs, corpusmill, tmp_path, name, question):
    done = runs[name]
    home = done.folder.parent
    words = {"RUN": done.place, "RECIPE": home / "r.yaml", "IN": home / "in.jsonl", "PROMPT": tmp_path / "prompt"}
    words |= {"PASSAGE": tmp_path / "passage", "TABLES": "select * from documents"}
    (tmp_path / "passage").write_text(" ".join(TEXT.split()[:10]), "utf-8")
    expected, said = UNANSWERED[name].get(question, (0, ""))
    for more in ((), ("--json",)):
        if more and "--written" in question:
            continue
        words["NEW"] = tmp_path / f"new{len(more)}"
        status, out, err = corpusmill(*(words.get(word, word) for word in question.split()), *more)
        if "Install: pip install" in err:
            pytest.skip(err)
        assert status == expected, (out, err)
        assert said in err and sum(line.startswith("error:") for line in err.splitlines()) <= (status > 0)
        if more:
            orjson.loads(out)
        else:
            assert not WRONG_PLURAL.search(f"{out}{err}")


def test_a_source_that_gave_nothing_has_vanished_in_a_run_without_steps_too(tmp_path, corpusmill):
    done = run(tmp_path, {"a": lines(tmp_path, ONE), "b": lines(tmp_path, BLANK, "b.jsonl")}, (), ["jsonl"])
    status, out, _ = corpusmill("audit", done.place, "--json")
    (vanished,) = (check for check in json.loads(out)["checks"] if check["name"] == "sources_vanished")
    assert status == 1 and vanished["seen"] == "b (0 documents read)"


def test_every_section_of_the_report_has_something_to_say_or_nothing(runs):
    """A page is made of all of them; here the name of the one that fails is seen."""
    for done in runs.values():
        tables = RunTables(done.place)
        for anchor, _, section in page.PAGE_SECTIONS:
            assert isinstance(section(tables), list), anchor


def test_every_address_of_the_inspector_answers(runs):
    pytest.importorskip("starlette", reason="the extra inspect is not installed")
    from corpusmill.inspect.app import Inspector, app

    for done in runs.values():
        application: Any = app(Inspector(RunTables(done.place)), "token")
        for route in application.routes:
            path, stage = route.path.replace("{token}", "token"), RunTables(done.place).files.passes[0][0]
            asked = {"stage": stage} if "POST" in route.methods else None
            status, _, content = asking(application)(path, asked, stage=stage)
            assert status in (200, 400), path
            assert status == 200 or orjson.loads(content).keys() == {"error"}, path


# ------------------------------------------------------------- loaders

LOADERS = {  # loader -> its first batch or row
    "open": lambda run: loader.open(run).batch(0, 1),
    "Loader": lambda run: loader.Loader(open_shards(run), 16).steps(1),
    "TokenLoader": lambda run: next(iter(loader.TokenLoader(run, batch_size=1))),
    "TokenLoader, epochs": lambda run: next(iter(loader.TokenLoader(run, batch_size=1, epochs=1))),
    "TokenLoader, mixed": lambda run: loader.TokenLoader({f"{run}/output/shards": 1.0}, 16, batch_size=1).at(0),
    "RowSource": lambda run: loader.RowSource(run)[0],
    "StageLoader": lambda run: StageLoader(run).at(0),
    "Run.loader": lambda run: corpusmill.open(run).loader(batch_size=1).at(0),
}


def test_every_loader_is_here():
    others = {"FIELDS", "IGNORE", "Piece", "Served"}
    assert set(loader.__all__) - others == {name.partition(",")[0] for name in LOADERS} - {"StageLoader", "Run.loader"}


@pytest.mark.parametrize("name", LOADERS)
def test_a_loader_of_no_rows_says_so_at_once(runs, name):
    assert LOADERS[name](runs["one document"].place)
    for nothing in RUNS[:2]:
        with pytest.raises(ShardError, match="output/shards: there are no rows: the shards hold no tokens"):
            LOADERS[name](runs[nothing].place)


def test_shards_of_no_rows_can_be_opened_shown_and_verified(runs):
    place = runs["nothing kept"].place
    opened = loader.open(place)
    assert repr(opened) == f"<Loader of {place}/output/shards: 0 tokens of gpt2, no rows>" and opened._repr_html_()
    assert open_shards(place).verify() == [] and list(open_shards(place).rows()) == []


@pytest.mark.parametrize("steps", [("tokenize/bpe",), PACKED], ids=["stream", "rows"])
@pytest.mark.parametrize("kept", [True, False])
def test_what_a_run_prints_to_load_a_batch_can_be_done(tmp_path, corpusmill, steps, kept):
    run(tmp_path, {"a": lines(tmp_path, ONE)}, steps if kept else (DROP, *steps), ["shards"], STAGES)
    status, out, _ = corpusmill("run", tmp_path / "r.yaml", "--folder", tmp_path / "run")
    printed = [line.partition("python -c ")[2] for line in out.splitlines() if line.startswith("  load")]
    assert status == 0 and len(printed) == (2 if kept else 0)
    for command in printed:
        with redirect_stdout(io.StringIO()) as said:
            exec(shlex.split(command)[0], {})
        assert said.getvalue().startswith("[[")
