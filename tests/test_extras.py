"""What the base installation lacks is asked for before anything else, all at once, with the lines of the recipe."""

import importlib
import pickle
import pkgutil
import re
import sys
import tomllib
from pathlib import Path

import pytest

import corpusmill
from corpusmill import Recipe, errors, read, steps, write
from corpusmill.assets import extras, hub
from corpusmill.assets.extras import Extra
from corpusmill.errors import CorpusmillError, MissingExtraError, Problem, RecipeError, of_problems
from corpusmill.store.run_records import DamagedRecord
from made_tokenizers import write_bpe

ROOT = Path(__file__).parent.parent
EXTRAS = [value for value in vars(extras).values() if isinstance(value, Extra)]
PARTS = [found.find(name) for found in (steps, read, write) for name in found.names()]
RECIPE = """\
read:
  - pdf: papers
  - jsonl: s3://bucket/in.jsonl
  - text: https://example.org/in.txt
steps:
  - extract/trafilatura
  - extract/wikitext
  - clean/html: {engine: trafilatura}
  - clean/mojibake
  - annotate/rights: {captures: hosts}
  - annotate/perplexity: {model: en.arpa}
  - annotate/classifier: {model: onnx}
  - redact/names
  - filter/periodic: {tokenizer: model.model}
  - dedup/exact: {against: gs://bucket/run}
  - tokenize/bpe: {tokenizer: made.json, engine: tiktoken}
  - pack/concat: {length: 16}
write:
  - mds
  - litdata
"""
WANTED = {
    2: "pdf",
    3: "s3",
    4: "http",
    6: "trafilatura",
    7: "mediawiki",
    8: "trafilatura",
    9: "clean",
    10: "rights",
    11: "kenlm",
    12: "onnx",
    13: "pii-names",
    14: "sentencepiece",
    15: "gs",
    16: "tiktoken",
    19: "mds",
    20: "litdata",
}


@pytest.fixture
def bare(monkeypatch):
    """As if no library of an extra were installed."""
    for module in {module for extra in EXTRAS for module in extra.modules}:
        for name in [module, *(each for each in sys.modules if each.startswith(f"{module}."))]:
            monkeypatch.setitem(sys.modules, name, None)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    from corpusmill.steps.captures import CapturedAnswer, collect

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "a.pdf").write_bytes(b"%PDF-1.4")
    (tmp_path / "in.jsonl").write_text('{"text": "one two three"}\n')
    (tmp_path / "en.arpa").write_text("\\data\\\n")
    (tmp_path / "model.model").write_bytes(b"no matter")
    (tmp_path / "onnx").mkdir()
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / "onnx" / name).write_text("{}")
    (tmp_path / "onnx" / "config.json").write_text('{"id2label": {"0": "x"}}')
    write_bpe(tmp_path / "made.json")
    collect(iter([CapturedAnswer("https://a.org", "robots", None, 200, None, "")]), tmp_path / "hosts")
    return tmp_path


def test_all_that_is_missing_is_named_at_once_with_its_lines(folder, bare):
    (folder / "r.yaml").write_text(RECIPE)
    for ask in (corpusmill.check, corpusmill.run):
        with pytest.raises(MissingExtraError) as error:
            ask("r.yaml")
        *found, all_of_them = error.value.problems
        assert {each.line: re.search(r"corpusmill\[(.*)\]", each.message)[1] for each in found} == WANTED
        assert all(each.file == "r.yaml" for each in found)
        names = ",".join(dict.fromkeys(WANTED.values()))
        assert sorted(re.search(r"\[(.*)\]", all_of_them.message)[1].split(",")) == sorted(names.split(","))
        assert all_of_them.message.startswith("all of them: pip install 'corpusmill[")
    assert not (folder / "runs").exists()


def test_the_libraries_are_named(folder, bare):
    (folder / "r.yaml").write_text("read: {jsonl: in.jsonl}\nsteps:\n  - clean/mojibake\nwrite: jsonl\n")
    with pytest.raises(MissingExtraError) as error:
        corpusmill.check("r.yaml")
    assert str(error.value) == "r.yaml:3: clean/mojibake needs ftfy. Install: pip install 'corpusmill[clean]'"


def test_half_of_an_extra_is_none_of_it(folder, monkeypatch):
    pytest.importorskip("trafilatura")
    monkeypatch.setitem(sys.modules, "lxml_html_clean", None)
    (folder / "r.yaml").write_text("read: {html: '*.html'}\nsteps:\n  - extract/trafilatura\nwrite: jsonl\n")
    (folder / "a.html").write_text("<p>one")
    with pytest.raises(MissingExtraError, match=r"r\.yaml:3: extract/trafilatura needs lxml_html_clean\. Install: "):
        corpusmill.check("r.yaml")


def test_what_else_is_wrong_is_said_with_it(folder, bare):
    text = "read: {jsonl: nothing.jsonl}\nsteps:\n  - clean/mojibake\n  - filter/url: {block_domains: none.txt}\nwrite: jsonl\n"
    (folder / "r.yaml").write_text(text)
    with pytest.raises(RecipeError) as error:
        corpusmill.check("r.yaml")
    assert sorted(each.line for each in error.value.problems) == [1, 3, 4]


def test_the_executor_and_the_folder_may_need_some_too(folder, bare):
    recipe = Recipe.parse(
        "read: {jsonl: in.jsonl}\nsteps: []\nwrite: jsonl\nrun: {executor: ray, address: local, folder: 'az://box/run'}\n"
    )
    with pytest.raises(MissingExtraError) as error:
        corpusmill.check(recipe)
    said = str(error.value)
    assert "run.executor: ray needs ray. Install: pip install 'corpusmill[ray]'" in said
    assert "az://box/run needs obstore" in said and "all of them: pip install 'corpusmill[az,ray]'" in said


def test_keys_in_the_environment_need_no_boto3(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "boto3", None)
    assert [extra.missing for extra in corpusmill.storage.extras_of("s3://bucket/x")] == [("boto3",)]
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    assert [extra.missing for extra in corpusmill.storage.extras_of("s3://bucket/x")] == [()]


@pytest.mark.parametrize("part", PARTS)
def test_what_is_said_to_need_an_extra_declares_it(part):
    assert not re.search(r"[Nn]eeds? (the|its) extra|extra `", part.__doc__ or "") or hasattr(part, "extras")


def test_the_extras_are_those_of_the_package():
    offered = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert {extra.name for extra in EXTRAS} == offered.keys() - {"dev", "hf"}


def test_a_shipped_recipe_says_which_it_needs(bare, monkeypatch):
    for path in sorted((Path(corpusmill.__file__).parent / "recipes").glob("*.yaml")):
        for name in re.findall(r"\$\{(\w+)\}", path.read_text("utf-8")):
            monkeypatch.setenv(name, f"{name}.jsonl")
        needed = {extra.name for step in Recipe.load(path).steps for extra in extras.missing(step)}
        named = re.findall(r"pip install 'corpusmill\[(.*?)\]'", path.read_text("utf-8"))
        assert needed == {name for each in named for name in each.split(",")}, path


# ------------------------------------------------------------- errors of other processes


def every_error():
    for module in pkgutil.walk_packages(corpusmill.__path__, "corpusmill."):
        if not re.search(r"\.(__main__|torch|olmo|gpt|gpts|app)$|\.data\.", module.name):
            importlib.import_module(module.name)
    waiting, found = [CorpusmillError], []
    while waiting:
        kind = waiting.pop()
        if kind.__module__.startswith("corpusmill"):
            found.append(kind)
            waiting += kind.__subclasses__()
    return found


MADE = {
    MissingExtraError: lambda: MissingExtraError("clean/mojibake", "clean", libraries=["ftfy"]),
    DamagedRecord: lambda: DamagedRecord("run.json", "it is empty"),
    hub.NotHere: lambda: hub.NotHere(hub.Repo("model", "org/name"), ["a.json"], "nobody answers"),
}


def test_every_error_comes_out_of_another_process_as_it_was():
    kinds = every_error()
    assert {MissingExtraError, hub.NotHere, errors.StorageError} <= set(kinds)
    for kind in kinds:
        made = MADE[kind]() if kind in MADE else kind.__new__(kind, "what is wrong")
        made.add_note("a note")
        listed = [] if kind is DamagedRecord else [of_problems([Problem("one", "r.yaml", 3), Problem("two")], kind)]
        for error in (made, *listed):
            back = pickle.loads(pickle.dumps(error))
            assert (type(back), str(back), back.args, back.problems) == (kind, str(error), error.args, error.problems)
            assert vars(back) == vars(error)


def test_what_a_worker_lacks_is_said_once(folder, monkeypatch):
    """Only where it comes late: another machine of a cluster may lack what the first has."""
    error = pickle.loads(pickle.dumps(extras.CLEAN.error("clean/mojibake")))
    assert str(error) == "clean/mojibake needs ftfy. Install: pip install 'corpusmill[clean]'"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
