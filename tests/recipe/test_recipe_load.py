"""Recipes from YAML, what they say when they are wrong, and settings that change them."""

import gzip
import re
from pathlib import Path

import pytest
from recipe_parts import Everything, KeepShort, Lines, Window

from corpusmill.errors import RecipeError
from corpusmill.read.jsonl import JsonlReader
from corpusmill.recipe import Recipe, RunSettings, Source
from corpusmill.recipe.load import load_parts
from corpusmill.recipe.override import override
from corpusmill.recipe.tree import Problems, parse
from corpusmill.steps.filter.gopher_quality import GopherQuality
from corpusmill.steps.pack.concat import Concat
from corpusmill.steps.tokenize.bpe import Bpe
from corpusmill.write.parquet import ParquetWriter
from corpusmill.write.shards import ShardsWriter

WEB = """\
name: web
seed: 7
read:
  - jsonl: {paths: [a.jsonl, b.jsonl.gz], source: forum, text: body}
  - recipe_parts:Lines: books/*.txt
steps:
  - filter/gopher_quality: {min_words: 30}
  - recipe_parts:KeepShort:
      max_words: 9
  - filter/gopher_quality
  - tokenize/bpe
  - pack/concat: {length: 1024}
write:
  - shards: {tokens_per_shard: 1000000}
  - parquet
run:
  workers: 2
  executor: serial
  folder: runs/there
  error_budget: 100
"""


def refused(text: str, *overrides: str) -> list[str]:
    with pytest.raises(RecipeError) as error:
        Recipe.parse(text, "web.yaml", overrides)
    return str(error.value).splitlines()


def step(said: str) -> str:
    return f"read: {{jsonl: x}}\nsteps:\n  - {said}\n"


@pytest.mark.parametrize(
    "path, reader",
    [("d/plain.jsonl", "jsonl"), ("a.csv.gz", "csv"), ("'*.warc.gz'", "warc"), ("s3://b/a.parquet", "parquet")],
)
def test_a_path_in_place_of_a_reader_is_one_mistake(path, reader):
    (problem,) = refused(f"read: {path}\n")
    named = path.strip("'")
    assert problem == f'web.yaml:1: "{named}" is a path, not a reader; write read: {{{reader}: {path}}}'


@pytest.mark.parametrize(
    "key, section",
    [("inputs", "read"), ("source", "read"), ("filters", "steps"), ("pipeline", "steps"), ("output", "write")],
)
def test_a_section_by_another_name_is_one_mistake(key, section):
    (problem,) = refused(f"{key}: [jsonl: x]\n" + ("" if section == "read" else "read: {jsonl: x}\n"))
    assert f'web.yaml:1: a recipe has no key "{key}"; did you mean "{section}"?' in problem


@pytest.mark.parametrize("key", ["path", "file", "files"])
def test_another_name_of_paths_is_one_mistake(key):
    (problem,) = refused(f"read: {{jsonl: {{{key}: x}}}}\n")
    assert f'web.yaml:1: jsonl has no parameter "{key}"; did you mean "paths"?' in problem


def test_yaml_and_python_are_two_spellings_of_one_recipe():
    assert Recipe.parse(WEB) == Recipe(
        name="web",
        seed=7,
        read=[
            Source(JsonlReader(text="body"), ["a.jsonl", "b.jsonl.gz"], "forum"),
            Source(Lines(), "books/*.txt", "lines"),
        ],
        steps=[
            GopherQuality(min_words=30),
            KeepShort(max_words=9),
            GopherQuality(),
            Bpe(),
            Concat(length=1024),
        ],
        write=[ShardsWriter(tokens_per_shard=1_000_000), ParquetWriter()],
        run=RunSettings(workers=2, executor="serial", folder="runs/there", error_budget=100),
    )


@pytest.mark.parametrize(
    "read", ["read: {jsonl: x}", "read:\n  jsonl: [x]", "read: [jsonl: {paths: x}]", "read:\n- jsonl: {paths: [x]}"]
)
def test_one_source_may_be_written_without_a_list(read):
    assert Recipe.parse(read) == Recipe(read=[Source(JsonlReader(), ["x"])])


def test_one_writer_may_be_written_without_a_list():
    assert Recipe.parse("read: {jsonl: x}\nwrite: parquet").write == (ParquetWriter(),)


def test_a_parameter_of_every_kind():
    text = step(
        "recipe_parts:Everything: {whole: 2, number: 1, flag: true, word: no, words: [no, off], numbers: [1, .5], "
        "maybe: null, count_or_share: 0.5, names: list, mode: careful, table: {no: 1}, pairs: {b: 1, a: 2}, "
        "grid: [[1], []], window: {low: 0.5}, span: [2, b], kinds: [x, y], place: there}"
    )
    assert Recipe.parse(text).steps[0] == Everything(
        whole=2,
        number=1.0,
        flag=True,
        word="no",
        words=("no", "off"),
        numbers=(1.0, 0.5),
        maybe=None,
        count_or_share=0.5,
        names="list",
        mode="careful",
        table={"no": 1.0},
        pairs=(("b", 1), ("a", 2)),
        grid=((1,), ()),
        window=Window(low=0.5),
        span=(2, "b"),
        kinds=frozenset("xy"),
        place=Path("there"),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[1, 2]",
            "web.yaml:1: a recipe is a mapping with the keys name, seed, read, steps, write, split, stages, canary, run; got a list of 2",
        ),
        (
            "hello",
            'web.yaml:1: a recipe is a mapping with the keys name, seed, read, steps, write, split, stages, canary, run; got text "hello"',
        ),
        ("steps: []", 'web.yaml: the recipe has no "read"; add one, as in: read: {jsonl: docs.jsonl}'),
        (
            "read: {jsonl: x}\nstep: []",
            'web.yaml:2: a recipe has no key "step"; did you mean "steps"? It takes: name, seed, read, steps, write, split, stages, canary, run, extends.',
        ),
        ("read: {jsonl: x}\nsteps:\nwrite: parquet", 'web.yaml:2: "steps" is empty; name a step, or remove it'),
        ("read: []", 'web.yaml:1: "read" is empty; name a reader and its paths'),
        ("read: {jsonl: x}\nname: 3", 'web.yaml:2: name must be text, got the number 3; write "3"'),
        (
            "read: {jsonl: x}\nname: a/b",
            "web.yaml:2: name: the name of a recipe is that of its folder, which 'a/b' cannot be",
        ),
        ("read: {jsonl: x}\nseed: 1.5", "web.yaml:2: seed must be a whole number, got the number 1.5"),
        ("read: {jsonl: x}\nseed: -1", "web.yaml:2: seed: need a seed from 0 to 2**64 - 1, got -1"),
        ("read: {jsonl: x}\nrun: 3", "web.yaml:2: run must be a mapping of settings, got the number 3"),
        (
            "read: {jsonl: x}\nrun:\n  worker: 3",
            'web.yaml:3: run has no parameter "worker"; did you mean "workers"? '
            "It takes: workers, executor, address, folder, unit_mb, error_budget, measure_dropped, dropped_text, keep, store_extracted, limit, sample.",
        ),
        (
            "read: {jsonl: x}\nrun: {workers: 0}",
            "web.yaml:2: run: need workers >= 1, got 0; leave it out for one per core",
        ),
        (
            "read: {jsonl: x}\nrun: {executor: process}",
            'web.yaml:2: run: there is no executor "process"; did you mean "processes"? Use one of: processes, ray, serial.',
        ),
        (
            "read: {jsonl: x}\nrun: {error_budget: 1.5}",
            "web.yaml:2: run: error_budget is a share from 0.0 to 1.0, or a",
        ),
        ("read: {jsonl: x}\nrun: {error_budget: -1}", "web.yaml:2: run: error_budget is a share from 0.0 to 1.0, or a"),
        ("read: {jsonl: x}\nrun: {unit_mb: 0}", "web.yaml:2: run: need unit_mb >= 1, got 0"),
        ("read: {jsonl: x}\nrun: {folder: ''}", "web.yaml:2: run: folder is empty; leave it out for runs/NAME"),
        ("read: {jsnl: x}", 'web.yaml:1: there is no reader "jsnl"; did you mean "jsonl"?'),
        ("read: jsonl", "web.yaml:1: jsonl needs paths, as in: jsonl: {paths: data/*}"),
        ("read: {jsonl: {text: a}}", "web.yaml:1: jsonl needs paths, as in: jsonl: {paths: data/*}"),
        ("read: {jsonl: []}", "web.yaml:1: jsonl: needs at least one path, and none of them empty"),
        ("read: {jsonl: ['']}", "web.yaml:1: jsonl: needs at least one path, and none of them empty"),
        ("read: {jsonl: 3}", "web.yaml:1: jsonl: paths must be text or a list of text, got the number 3; write "),
        ("read: {jsonl: [a, 3]}", 'web.yaml:1: jsonl: paths[1] must be text, got the number 3; write "3"'),
        ("read: {jsonl: {paths: x, source: 3}}", 'web.yaml:1: jsonl: source must be text, got the number 3; write "3"'),
        (
            "read: {jsonl: {paths: x, txt: a}}",
            'web.yaml:1: jsonl has no parameter "txt"; did you mean "text"? It takes: ',
        ),
        ("read: {jsonl: {paths: x, text_column: a}}", 'jsonl has no parameter "text_column"; did you mean "text"?'),
        ("read: {csv: {paths: x, content_field: a}}", 'csv has no parameter "content_field"; did you mean "text"?'),
        ("read: {jsonl: {paths: x, date_key: a}}", 'jsonl has no parameter "date_key"; did you mean "date"?'),
        (
            "read: {jsonl: {paths: x, sorce: a}}",
            'web.yaml:1: jsonl has no parameter "sorce"; did you mean "source"? It takes: paths, source, ',
        ),
        (
            "read:\n  - jsonl: x\n  - jsonl: y",
            'web.yaml:3: jsonl: another source is named "jsonl"; give this one a name of its own, as in',
        ),
        (
            "read:\n  - jsonl: x\n  - jsonl:\n      paths: y\n      source: jsonl",
            'web.yaml:5: jsonl: another source is named "jsonl"',
        ),
        ("read: {jsonl: x, wet: y}", "web.yaml:1: a reader is one name with its parameters, got 2 keys: jsonl, wet."),
        (
            step("filter/gofer_quality"),
            'web.yaml:3: there is no step "filter/gofer_quality"; did you mean "filter/goph',
        ),
        (step("3"), "web.yaml:3: a step is a name, or a name with its parameters; got the number 3"),
        (step("[filter/url]"), "web.yaml:3: a step is a name, or a name with its parameters; got a list of 1"),
        (step("{}"), "web.yaml:3: a step is a name, or a name with its parameters; got an empty mapping"),
        (
            step("filter/gopher_quality:\n    min_words: 3"),
            "web.yaml:3: a step is one name with its parameters, got 2 keys: filter/gopher_quality, min_words. "
            "If min_words belong to filter/gopher_quality, indent them further; if not, begin each with a dash.",
        ),
        (
            step("filter/gopher_quality: 3"),
            "web.yaml:3: filter/gopher_quality takes a mapping of its parameters, got the",
        ),
        (
            step("recipe_parts:KeepShort: {max_wrds: 3}"),
            'web.yaml:3: recipe_parts:KeepShort has no parameter "max_wrds"; did you mean "max_words"? '
            "It takes: max_words, share.",
        ),
        (
            step("recipe_parts:KeepShort"),
            'web.yaml:3: recipe_parts:KeepShort needs a value for "max_words": a whole number',
        ),
        (
            step("recipe_parts:KeepShort: {max_words: 3, share: 7}"),
            "web.yaml:3: recipe_parts:KeepShort: need 0 <= share <= 1, got 7.0",
        ),
        (step("recipe_parts:NoStep: {x: 1}"), 'recipe_parts:NoStep has no parameter "x". It takes none.'),
        (
            step("filter/gopher_quality: {min_words: thirty}"),
            'web.yaml:3: filter/gopher_quality: min_words must be a whole number or null, got text "thirty"',
        ),
        (
            step("recipe_parts:Everything: {words: en}"),
            'web.yaml:3: recipe_parts:Everything: words must be a list of text, got text "en"; write [en]',
        ),
        (
            step("recipe_parts:NoDataclass"),
            "web.yaml:3: recipe_parts:NoDataclass is not a dataclass; its parameters must",
        ),
        (step("recipe_parts:Nothing"), 'web.yaml:3: cannot import the step "recipe_parts:Nothing"'),
        (step("no_such_module:Step"), 'web.yaml:3: cannot import the step "no_such_module:Step"'),
        (step('":Step"'), 'web.yaml:3: ":Step" is not the name of a step; your own are written module:Class'),
        (
            step('"filter/c4:{a: 1}"'),
            'web.yaml:3: "filter/c4:{a: 1}" is not the name of a step; write a space after the colon',
        ),
        (step('"..a:Step"'), 'web.yaml:3: "..a:Step" is not the name of a step; your own are written module:Class'),
        ("read: {jsonl: x}\nwrite: [shard]", 'web.yaml:2: there is no writer "shard"; did you mean "shards"?'),
    ],
)
def test_reports_what_is_wrong_and_where(text, message):
    assert message in "\n".join(refused(text))


def test_reports_all_problems_together():
    problems = refused(
        "nam: web\n"
        "read:\n"
        "  - jsnl: x\n"
        "  - jsonl: {paths: y, txt: a}\n"
        "steps:\n"
        "  - filter/gopher_quality: {min_wrds: 3, max_words: many}\n"
        "  - recipe_parts:KeepShort\n"
        "  - filter/ulr\n"
        "run: {wrkers: 3}\n"
        "run: {}\n"
    )
    assert [line.split()[0] for line in problems] == [f"web.yaml:{n}:" for n in (1, 3, 4, 6, 6, 7, 8, 9, 10)]


def test_load_names_a_recipe_for_its_file(tmp_path):
    path = tmp_path / "books.yaml"
    path.write_text("read: {jsonl: x}\n")
    assert Recipe.load(path).name == "books"
    assert Recipe.load(path, ["name=other"]).name == "other"
    path.write_bytes(b"\xef\xbb\xbfname: web\nread: {jsonl: x}\n")
    assert Recipe.load(str(path)).name == "web"


def test_a_file_that_cannot_be_read_is_reported(tmp_path):
    with pytest.raises(RecipeError, match=r"none\.yaml: there is no such file"):
        Recipe.load(tmp_path / "none.yaml")
    with pytest.raises(
        RecipeError, match=f"this is a folder, not .* corpusmill new .* --input {re.escape(str(tmp_path))}$"
    ):
        Recipe.load(tmp_path)
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"read: {jsonl: x}\nname: caf\xe9\n")
    with pytest.raises(RecipeError, match=r"latin\.yaml:2: byte 0xe9 is not UTF-8; save the file as UTF-8"):
        Recipe.load(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "docs.jsonl",
            b'{"text": "a"}\n',
            "this is data, not a recipe. To write a recipe that reads it: corpusmill new min",
        ),
        (
            "docs.parquet",
            b"PAR1\0\0",
            "this is data, not a recipe. To write a recipe that reads it: corpusmill new min",
        ),
        (
            "crawl.warc.gz",
            gzip.compress(b"WARC/1.0\r\n"),
            "this is data, not a recipe. To write a recipe that reads it",
        ),
        (
            "run/run.json",
            b"{}",
            "this is a folder, not the file of a recipe. It holds a run, which its recipe resumes: ",
        ),
        ("recipe.json", b'{"name": "a"}', 'the recipe has no "read"'),
        ("recipe", b'{"name": "a"}', 'the recipe has no "read"'),
    ],
)
def test_what_is_data_or_a_run_is_refused_with_what_to_do_with_it(tmp_path, name, content, message):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    named = path if path.parent == tmp_path else path.parent
    with pytest.raises(RecipeError) as error:
        Recipe.load(named)
    assert f"{named}: {message}" in str(error.value)


def test_the_home_folder_is_meant_by_a_tilde_in_paths(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    made = Recipe.parse("read: {jsonl: [~/a, ./~/b, ~c]}\nrun: {folder: ~/runs}")
    assert made.read[0].paths == ("/home/me/a", "./~/b", "~c")
    assert made.run.folder == "/home/me/runs"
    assert made == Recipe(read=[Source(JsonlReader(), ["~/a", "./~/b", "~c"])], run=RunSettings(folder="~/runs"))


def test_variables_fill_in_paths_and_numbers(monkeypatch):
    monkeypatch.setenv("SHELF", "/data")
    monkeypatch.setenv("N", "3")
    monkeypatch.delenv("NOT_SET", raising=False)
    made = Recipe.parse("read: {jsonl: '${SHELF}/x'}\nrun:\n  workers: ${N}\n  unit_mb: ${NOT_SET:-64}\nname: ${N}")
    assert made.read[0].paths == ("/data/x",)
    assert (made.run.workers, made.run.unit_mb, made.name) == (3, 64, "3")


@pytest.mark.parametrize(
    ("setting", "place", "value"),
    [
        ("name=other", lambda r: r.name, "other"),
        ("seed=9", lambda r: r.seed, 9),
        ("run.workers=4", lambda r: r.run.workers, 4),
        ("run.workers=null", lambda r: r.run.workers, None),
        ("run.unit_mb=1", lambda r: r.run.unit_mb, 1),
        ("steps.gopher_quality.min_words=31", lambda r: r.steps[0].min_words, 31),
        ("steps.gopher_quality_2.min_words=32", lambda r: r.steps[2].min_words, 32),
        ("steps.gopher_quality.max_words=33", lambda r: (r.steps[0].min_words, r.steps[0].max_words), (30, 33)),
        ("steps.keep_short.max_words = 5", lambda r: r.steps[1].max_words, 5),
        ("write.shards.tokens_per_shard=77", lambda r: r.write[0].tokens_per_shard, 77),
        ("read.forum.paths=*.gz", lambda r: r.read[0].paths, ("*.gz",)),
        ("read.forum.paths=[c, '*.d']", lambda r: r.read[0].paths, ("c", "*.d")),
        ("read.forum.text=a: b # c", lambda r: r.read[0].reader.text, "a: b # c"),
        ('read.forum.text="7"', lambda r: r.read[0].reader.text, "7"),
        ("read.lines.column=x", lambda r: (r.read[1].reader.column, r.read[1].paths), ("x", ("books/*.txt",))),
        ("read.lines.paths=y", lambda r: r.read[1].paths, ("y",)),
        ("read.lines.source=z", lambda r: r.read[1].source, "z"),
    ],
)
def test_a_setting_changes_one_thing(setting, place, value):
    changed = Recipe.parse(WEB, overrides=[setting])
    assert place(changed) == value
    assert changed != Recipe.parse(WEB)


def test_settings_reach_into_a_parameter():
    text = step("recipe_parts:Everything")
    made = Recipe.parse(
        text, overrides=["steps.everything.window.low=0.25", "steps.everything.table.no=3", "run.workers=2"]
    )
    assert made.steps[0] == Everything(window=Window(low=0.25), table={"no": 3.0})
    assert made.run.workers == 2


def test_later_settings_win():
    assert Recipe.parse(WEB, overrides=["run.workers=4", "run.workers=5"]).run.workers == 5


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("workers", "--set workers: a setting is KEY=VALUE, as in run.workers=4 or steps.gopher_quality.min_words=30"),
        ("run..workers=3", "--set run..workers=3: a setting is KEY=VALUE"),
        ("runs.workers=3", '--set runs.workers=3: a recipe has no key "runs"; did you mean "run"? It takes: name,'),
        ("run=3", "--set run=3: the key must be run.PARAMETER, as in run.workers=4"),
        ("seed.x=3", "--set seed.x=3: the key must be seed alone"),
        ("steps.gopher_quality=3", "the key must be steps.NAME.PARAMETER, as in steps.gopher_quality.parameter=value"),
        (
            "steps.gopher_qualty.min_words=3",
            'the recipe has no step "gopher_qualty"; did you mean "gopher_quality"? '
            "It has: gopher_quality, keep_short, gopher_quality_2, bpe, concat.",
        ),
        ("read.jsonl.paths=x", '--set read.jsonl.paths=x: the recipe has no source "jsonl". It has: forum, lines.'),
        ("write.parket.x=1", 'the recipe has no writer "parket"; did you mean "parquet"? It has: shards, parquet.'),
        (
            "steps.gopher_quality.min_wrds=3",
            "--set steps.gopher_quality.min_wrds=3: filter/gopher_quality has no parameter "
            '"min_wrds"; did you mean "min_words"?',
        ),
        (
            "steps.gopher_quality.min_words=few",
            "--set steps.gopher_quality.min_words=few: filter/gopher_quality: min_words must be a whole number or null, "
            'got text "few"',
        ),
        ("run.workers=[1", "--set run.workers=[1:1: not YAML"),
        ("steps.gopher_quality.min_words.x=3", '"min_words" is the number 30, which has no "x" inside; set all of it'),
        ("run.workers=${NOT_SET_HERE}", "the environment variable NOT_SET_HERE is not set"),
    ],
)
def test_reports_what_is_wrong_with_a_setting(setting, message):
    assert message in "\n".join(refused(WEB, setting))


def test_override_leaves_the_tree_as_it_was():
    tree = parse(WEB, "web.yaml", Problems())
    changed = override(tree, "steps.gopher_quality.min_words=31", Problems())
    assert Recipe(**load_parts(tree, "recipe", Problems()).sections._asdict()) == Recipe.parse(WEB)
    assert load_parts(changed, "recipe", Problems()).sections.steps[0] == GopherQuality(min_words=31)


def test_a_mistake_that_is_made_many_times_is_not_listed_each_time():
    text = "read:\n" + "  - jsonl: {paths: a.jsonl, source: a}\n" * 500
    with pytest.raises(RecipeError) as raised:
        Recipe.parse(text)
    lines = str(raised.value).splitlines()
    assert len(lines) == 51 and lines[-1] == "… and 449 more problems"


def test_a_name_that_no_folder_can_have_is_refused_with_its_beginning():
    with pytest.raises(RecipeError, match=r"which 300000 characters cannot be: 'x{60}'…; use at most 200 bytes"):
        Recipe.parse(f"name: {'x' * 300_000}\nread: {{jsonl: a.jsonl}}")
