"""What cannot run is refused by `check` and by `run` alike: the same words, exit status 2, and all of it at once."""

import builtins
import errno
import gzip
import http.server
import json
import threading

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from pyarrow import feather

import corpusmill as package
from corpusmill.errors import CorpusmillError, InputError, RecipeError
from corpusmill.ops import checks
from corpusmill.recipe import Recipe

OWN = """
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Short:
    def reasons(self, docs, signals):
        return ["short"]


@dataclass(frozen=True)
class Numbers:
    def reasons(self, docs, signals):
        return [7] * len(docs)


@dataclass(frozen=True)
class Raises:
    def reasons(self, docs, signals):
        return pa.array([row["colour"] for row in docs.to_pylist()], pa.string())


@dataclass(frozen=True)
class Arity:
    def reasons(self, docs):
        return pa.nulls(len(docs), pa.string())


@dataclass
class NotFrozen:
    least: int = 1

    def reasons(self, docs, signals):
        return pa.nulls(len(docs), pa.string())


class NotDataclass:
    def reasons(self, docs, signals):
        return pa.nulls(len(docs), pa.string())


@dataclass(frozen=True)
class NoMethod:
    def reason(self, docs):
        return None


@dataclass(frozen=True)
class OddNeeds:
    needs = "words"

    def reasons(self, docs, signals):
        return pa.nulls(len(docs), pa.string())


@dataclass(frozen=True)
class OddType:
    open: type(print) = None

    def reasons(self, docs, signals):
        return pa.nulls(len(docs), pa.string())


@dataclass(frozen=True)
class Unmakeable:
    least: int = 1

    def __post_init__(self):
        raise TypeError("no such luck")

    def reasons(self, docs, signals):
        return pa.nulls(len(docs), pa.string())


@dataclass(frozen=True)
class Drops:
    def transform(self, docs):
        return docs.slice(0, 0)


def made():
    @dataclass(frozen=True)
    class Local:
        def reasons(self, docs, signals):
            return pa.nulls(len(docs), pa.string())

    return Local


Local = made()


def is_good(document):
    return True


def two(document, other):
    return True


def seven(document):
    return 7
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Inputs, right and wrong."""
    path = tmp_path_factory.mktemp("refused")
    line = json.dumps({"text": "The river runs to the sea.", "message": "hello"}) + "\n"
    named = json.dumps({"message": "hello", "n": 1}) + "\n"
    (path / "good.jsonl").write_text(line)
    (path / "named.jsonl").write_text(named)
    pq.write_table(pa.table({"message": ["a b"]}), path / "named.parquet")
    feather.write_feather(pa.table({"message": ["a b"]}), path / "named.arrow")
    (path / "semicolons.csv").write_text("Nr.;Der Text;Sprache\n1;Hallo, Welt;de\n")
    (path / "colons.csv").write_text("number:words\n1:one\n")
    for name in ("not.parquet", "not.arrow", "not.warc", "not.warc.gz"):
        (path / name).write_text(line)
    (path / "not.jsonl").write_bytes((path / "named.parquet").read_bytes())
    (path / "not.jsonl.gz").write_bytes(bytes(range(128, 256)) * 9)
    (path / "cut.jsonl.gz").write_bytes(gzip.compress(line.encode() * 50, mtime=0)[:40])
    (path / "empty.jsonl").touch()
    (path / "rows.csv").write_text("id,text\n1,a\n")
    (path / "chat.jsonl").write_text('{"text": [{"role": "user", "content": "a"}]}\n')
    (path / "struct.jsonl").write_text('{"text": {"body": "a"}}\n')
    (path / "zipped.jsonl").write_bytes(b"PK\x03\x04" + bytes(99))
    (path / "packed.7z").write_bytes(b"7z\xbc\xaf\x27\x1c" + bytes(99))
    (path / "a_file").touch()
    (path / "refused_steps.py").write_text(OWN)
    (path / "refused_syntax.py").write_text("def (:\n")
    (path / "refused_import.py").write_text("\nraise RuntimeError('not today')\n")
    return path


@pytest.fixture
def both(corpusmill, folder, monkeypatch):
    """The message of `check` and `run` for a recipe: both must refuse it, with the same words and status 2."""
    monkeypatch.chdir(folder)

    def refused(text, *settings):
        (folder / "r.yaml").write_text(text)
        words = [word for setting in settings for word in ("--set", setting)]
        said = [corpusmill(verb, "r.yaml", *words) for verb in ("check", "run")]
        assert [(status, out) for status, out, _ in said] == [(2, ""), (2, "")], said
        checked, ran = (err[err.index("error: ") :] for _, _, err in said)  # a new machine compiles before
        assert checked == ran
        return checked

    return refused


READ = "read: {jsonl: good.jsonl}\n"
NAMED = 'there is no column "mesage" for the text; did you mean "message"? It has: message'


@pytest.mark.parametrize(
    "recipe, said",
    [
        ("read: {jsonl: {paths: named.jsonl, text: mesage}}", f"r.yaml:1: named.jsonl, first record: {NAMED}"),
        ("read: {jsonl: named.jsonl}", "none of its columns is called text"),
        ("read: {parquet: {paths: named.parquet, text: mesage}}", f"r.yaml:1: named.parquet: {NAMED}"),
        ("read: {arrow: {paths: named.arrow, text: mesage}}", f"r.yaml:1: named.arrow: {NAMED}"),
        ("read: {csv: semicolons.csv}", "It has: Nr., Der Text, Sprache."),
        ('read: {csv: {paths: semicolons.csv, delimiter: ","}}', 'it seems to be separated by ";": write delimiter: ";"'),
        ("read: {csv: colons.csv}", "it is one column, 'number:words'; if another character separates columns, name it"),
        ("read: {parquet: not.parquet}", "not.parquet: not one record can be read: not a Parquet file"),
        ("read: {parquet: not.parquet}", "It seems to be JSON lines, or one JSON object, which `jsonl` reads."),
        ("read: {jsonl: chat.jsonl}", '"text" is list, not a string. Write the text of each record, such as its messages'),
        ("read: {jsonl: struct.jsonl}", "Name the field within it that holds the text, as in text: body.text."),
        ("read: {jsonl: zipped.jsonl}", "read: it seems to be a ZIP archive: unpack it first, unless it is a repository"),
        ("read: {jsonl: packed.7z}", "read: the file is a 7-Zip archive: unpack it first."),
        ("read: {jsonl: rows.csv}", "Its ending is one that `csv` reads. To skip such"),
        ("read: {arrow: not.arrow}", "not one record can be read: not an Arrow file"),
        ("read: {warc: not.warc}\nsteps: [extract/resiliparse]", "not one record can be read: no record begins here"),
        ("read: {warc: not.warc.gz}\nsteps: [extract/resiliparse]", "It seems to be JSON lines"),
        ("read: {jsonl: not.jsonl}", "It seems to be a Parquet file, which `parquet` reads."),
        ("read: {jsonl: not.jsonl.gz}", "It is not compressed, although its name says so"),
        ("read: {jsonl: cut.jsonl.gz}", "the file ends inside its gzip data"),
        ("read: {jsonl: empty.jsonl}", "all input files are empty: empty.jsonl"),
        ("read: {jsonl: nothing/*.jsonl}", "r.yaml:1: nothing/*.jsonl: no file matches"),
        (f"{READ}run: {{folder: a_file/sub}}", "a_file is a file, not a folder. Name another folder"),
        (f"{READ}run: {{folder: a_file}}", "run.folder: a_file is a file, not a folder"),
        (f"{READ}steps: [{{annotate/quality: {{model: none.bin}}}}]", 'r.yaml:2: annotate/quality: there is no asset "none'),
        ("read: {jsonl: s4://bucket/x}", 'r.yaml:1: s4://bucket/x: "s4" is no kind of place that is known'),
        (f"{READ}steps: ['refused_steps:Short']", "r.yaml:2: short: reasons has 1 values for 0 documents"),
        (f"{READ}steps: ['refused_steps:NotFrozen']", "r.yaml:2: refused_steps:NotFrozen is a dataclass that can be changed"),
        (f"{READ}steps: ['refused_steps:NotDataclass']", "r.yaml:2: refused_steps:NotDataclass is not a dataclass"),
        (f"{READ}steps: ['refused_steps:NoMethod']", "r.yaml:2: refused_steps:NoMethod is not a step"),
        (f"{READ}steps: ['refused_steps:OddNeeds']", "r.yaml:2: refused_steps:OddNeeds has needs = 'words', which is not"),
        (f"{READ}steps: ['refused_steps:OddNeeds']", 'write needs = ("words",)'),
        (f"{READ}steps: ['refused_steps:OddType': {{open: 3}}]", "which cannot be written in YAML"),
        (f"{READ}steps: ['refused_steps:Arity']", "r.yaml:2: arity: fails on an empty batch"),
        (f"{READ}steps: ['refused_steps:Unmakeable']", "cannot be made: TypeError: no such luck (refused_steps.py, line 7"),
        (f"{READ}steps: ['refused_steps:Local']", "Local cannot be sent to workers"),
        (f"{READ}steps: ['refused_steps:is_good']", "Written `filter/function: refused_steps:is_good` it says which"),
        (f"{READ}steps: ['refused_steps:Absent']", 'cannot import the step "refused_steps:Absent"'),
        (f"{READ}steps: ['refused_syntax:A']", "SyntaxError: invalid syntax (refused_syntax.py, line 1)"),
        (f"{READ}steps: ['refused_import:A']", "RuntimeError: not today (refused_import.py, line 2)"),
        (f"{READ}steps: [filter/function: 'refused_import:a']", "RuntimeError: not today (refused_import.py, line 2)"),
    ],
)  # fmt: skip
def test_check_and_run_refuse_with_the_same_words(both, recipe, said):
    err = both(recipe)
    assert err.startswith("error: ") and said in err, err


@pytest.mark.parametrize(
    "step, said",
    [
        ("refused_steps:Numbers", "numbers: `reasons` must return one string per document"),
        (
            "refused_steps:Raises",
            "raises: fails on every document of a sample (1): KeyError: 'colour' (refused_steps.py,",
        ),
        ("refused_steps:Drops", "drops: `transform` must return the batch that it was given"),
        ("filter/function: refused_steps:two", "function: fails on every document of a sample (1): TypeError: two()"),
        ("filter/function: refused_steps:seven", "function: seven must return True to keep a document"),
    ],
)
def test_check_gives_the_first_documents_to_steps_of_ones_own(corpusmill, folder, monkeypatch, step, said):
    monkeypatch.chdir(folder)
    (folder / "r.yaml").write_text(f"{READ}steps:\n  - {step}\n")
    status, _, err = corpusmill("check", "r.yaml")
    assert status == 2 and f"r.yaml:3: {said}" in err


MANY = """nme: x
read:
  - jsonl: {paths: named.jsonl, text: mesage}
  - csv: {paths: semicolons.csv, source: b, delimeter: ";"}
  - parquet: nothing/*.parquet
steps:
  - filter/gopher_quality: {min_word: 3, low: 5}
  - filter/language: {languages: english, min_score: 7}
  - filter/lists: {words: none.txt}
  - annotate/quality: {model: none.bin}
  - refused_steps:Arity
run: {folder: a_file/x, workers: 0, error_budget: 3.0}
"""
ALL = [
    'r.yaml:1: a recipe has no key "nme"',
    'r.yaml:3: named.jsonl, first record: there is no column "mesage"',
    'r.yaml:4: csv has no parameter "delimeter"; did you mean "delimiter"?',
    "r.yaml:5: nothing/*.parquet: no file matches",
    'r.yaml:7: filter/gopher_quality has no parameter "min_word"',
    'r.yaml:7: filter/gopher_quality has no parameter "low"',
    "r.yaml:8: filter/language: languages must be a list of text",
    "r.yaml:8: filter/language: a score is from 0 to 1, got 7.0",
    'r.yaml:9: there is no step "filter/lists"',
    'r.yaml:10: annotate/quality: there is no asset "none.bin"',
    "r.yaml:11: arity: fails on an empty batch",
    "r.yaml:12: run: need workers >= 1",
    "r.yaml:12: run: error_budget is a share",
    '--set runn.x=1: a recipe has no key "runn"; did you mean "run"?',
    '--set steps.foo.x=2: the recipe has no step "foo"',
    "run.folder: a_file/x cannot be made",
]


def test_everything_that_is_wrong_is_said_at_once(both):
    lines = [line.removeprefix("error: ") for line in both(MANY, "runn.x=1", "steps.foo.x=2").splitlines()]
    assert len(lines) == len(ALL)
    for line, said in zip(lines, ALL):
        assert line.startswith(said), line


def test_in_python_an_error_has_its_problems(both, folder):
    both(MANY)
    with pytest.raises(RecipeError) as caught:
        checks.check(folder / "r.yaml")
    problems = caught.value.problems
    assert len(problems) == len(ALL) - 2
    assert (problems[1].file, problems[1].line) == (str(folder / "r.yaml"), 3)
    assert [str(problem) for problem in problems] == str(caught.value).splitlines()
    # Without a file there are no lines, and sources are wrong in one way each.
    recipe = Recipe.parse("read: [{jsonl: {paths: zz1}}, {jsonl: {paths: zz2, source: b}}]", "made.yaml")
    with pytest.raises(InputError, match=r"made.yaml:1: zz1: no such file\nmade.yaml:1: zz2: no such file"):
        package.run(recipe)


def test_a_file_that_may_not_be_opened_is_refused(both, monkeypatch):
    really = builtins.open

    def refuses(file, *arguments, **options):
        if str(file) == "good.jsonl":
            raise PermissionError(errno.EACCES, "Permission denied", file)
        return really(file, *arguments, **options)

    monkeypatch.setattr(builtins, "open", refuses)
    assert "r.yaml:1: good.jsonl: cannot be opened: Permission denied. Change its permissions" in both(READ)


class Refusing(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """A store that answers every question with one error."""

    protocol = "refusing"
    cachable = False
    error: Exception

    def info(self, path, **_):
        raise type(self).error

    glob = find = ls = exists = info


class Status(Exception):
    def __init__(self, status):
        super().__init__(f"answered {status}")
        self.status = status


@pytest.mark.parametrize(
    "error, said",
    [
        (Status(401), "no access to refusing://bucket (Status: answered 401). Are the credentials"),
        (Status(403), "no access to refusing://bucket (Status: answered 403). Are the credentials"),
        (
            OSError("Name or service not known"),
            "refusing://bucket cannot be reached (OSError: Name or service not known)",
        ),
        (FileNotFoundError("no"), "no such file"),
    ],
)
@pytest.mark.parametrize(
    "recipe", ["read: {jsonl: 'refusing://bucket/a.jsonl'}", READ + "run: {folder: 'refusing://bucket/run'}"]
)
def test_a_place_that_refuses_is_named_with_what_to_do(both, monkeypatch, recipe, error, said):
    fsspec.register_implementation("refusing", Refusing, clobber=True)
    monkeypatch.setattr(Refusing, "error", error, raising=False)
    monkeypatch.setattr("time.sleep", lambda _: None)
    if isinstance(error, FileNotFoundError) and "run:" in recipe:
        pytest.skip("a folder that is not there is made")
    assert said in both(recipe)


def test_a_web_server_that_refuses(both, monkeypatch):
    pytest.importorskip("aiohttp")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(int(self.path.split("/")[1]))

        do_HEAD = do_GET

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        at = f"127.0.0.1:{server.server_port}"
        for status, said in ((401, f"no access to {at}"), (403, f"no access to {at}"), (404, "no such file")):
            assert said in both(f"read: {{jsonl: 'http://{at}/{status}/x.jsonl'}}")
        server.shutdown()


def test_one_bad_file_of_many_is_no_reason_to_refuse(corpusmill, folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "r.yaml").write_text("read: {jsonl: [good.jsonl, cut.jsonl.gz]}\n")
    status, out, _ = corpusmill("check", "r.yaml")
    assert status == 0 and "warning: jsonl: 1 of the first 2 records cannot be read: the file ends" in out
    (folder / "r.yaml").write_text("read: {jsonl: cut.jsonl.gz}\nrun: {error_budget: 1.0}\n")
    assert corpusmill("check", "r.yaml")[0] == 0


def test_check_says_what_a_run_needs_and_what_it_found_out(corpusmill, folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "r.yaml").write_text("read: {csv: {paths: semicolons.csv, text: Der Text}}\n")
    status, out, _ = corpusmill("check", "r.yaml")
    assert status == 0
    assert 'read csv: 1 file of 38 B, about 38 B of text, fields separated by ";"' in out
    assert "of memory over all processes" in out and "`corpusmill plan r.yaml` measures both on a sample" in out
    record = json.loads(corpusmill("check", "r.yaml", "--json")[1])
    assert record["sources"]["csv"] == {
        "files": 1, "bytes": 38, "text_bytes": 38, "read_as": 'fields separated by ";"'
    }  # fmt: skip
    assert 0 < record["needs"]["memory"]["from"] < record["needs"]["memory"]["to"]
    assert record["units"] == 1 and record["done"] == 0


def test_errors_of_several_kinds_are_one_recipe_error():
    from corpusmill.errors import AssetError, together

    both_kinds = together([InputError("b: gone"), AssetError("a: gone")])
    assert type(both_kinds) is RecipeError and [str(one) for one in both_kinds.problems] == ["b: gone", "a: gone"]
    assert isinstance(together([InputError("b")]), InputError)
    assert CorpusmillError("one").problems[0].message == "one"


def test_a_refused_restart_removes_nothing(corpusmill, folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "kept").mkdir()
    (folder / "kept" / "run.json").write_text("{}")
    (folder / "r.yaml").write_text("read: {jsonl: named.jsonl}\nrun: {folder: kept}\n")
    assert corpusmill("run", "r.yaml", "--restart")[0] == 2
    assert (folder / "kept" / "run.json").exists()


def test_without_steps_the_libraries_of_writers_are_looked_for(corpusmill, folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "refused_writer.py").write_text(
        "from dataclasses import dataclass\n"
        "from corpusmill.errors import MissingExtraError\n"
        "from corpusmill.write import JsonlWriter\n"
        "@dataclass(frozen=True, kw_only=True)\n"
        "class Rare(JsonlWriter):\n"
        "    def check(self):\n"
        "        raise MissingExtraError('writing rare files', 'rare')\n"
    )
    (folder / "r.yaml").write_text(f"{READ}write: ['refused_writer:Rare']\n")
    status, _, err = corpusmill("check", "r.yaml")
    assert status == 2 and "pip install 'corpusmill[rare]'" in err


def test_two_sources_of_one_name_hide_nothing_else(both):
    err = both("read: [{jsonl: good.jsonl}, {jsonl: nothing.jsonl}]\nsteps: [{annotate/quality: {model: none.bin}}]")
    assert 'another source is named "jsonl"' in err and "nothing.jsonl: no such file" in err and "none.bin" in err
