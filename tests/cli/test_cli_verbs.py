"""The verbs: what they print, their exit codes, and their answers to mistakes."""

import json
import shlex
import shutil

import pytest

from corpusmill.cli.demo import next_steps
from corpusmill.steps import names
from corpusmill.steps.describe import describe
from made_run import HOSTILE_URL, made_corpus, made_run, unfinish, write_corpus


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run to look at that may be written to."""
    return shutil.copytree(made_run(), tmp_path_factory.mktemp("cli") / "run")


def test_a_run_from_recipe_to_verified_shards(corpusmill, tmp_path):
    recipe = write_corpus(tmp_path)
    status, out, _ = corpusmill("run", recipe, "--folder", tmp_path / "run")
    assert status == 0
    assert "57 documents in, 36 out" in out
    assert (tmp_path / "run" / "report.html").exists() and "(verified: XXH3-128, token ids, documents)" in out
    status, out, _ = corpusmill("run", recipe, "--folder", tmp_path / "run", "--json")
    record = json.loads(out)
    assert status == 0 and record["units"]["pass-1"]["units"] and record["steps"][0]["step"] == "gopher_quality"
    assert record["report"] == str(tmp_path / "run" / "report.html")


def test_a_recipe_that_writes_nothing_runs_to_its_end(corpusmill, tmp_path):
    (tmp_path / "d.jsonl").write_text('{"text": "one two"}\n')
    (tmp_path / "r.yaml").write_text(f"read: {{jsonl: {tmp_path}/d.jsonl}}\nsteps: [filter/url]\n")
    status, out, _ = corpusmill("run", tmp_path / "r.yaml", "--folder", tmp_path / "run")
    assert status == 0 and "1 document in, 1 out" in out and "output    none: the recipe has no `write:`" in out


def test_a_run_that_loses_too_much_fails_and_says_how_to_resume(corpusmill, tmp_path):
    recipe = write_corpus(tmp_path)
    command = ("run", recipe, "--folder", tmp_path / "run", "--set", "run.error_budget=1")
    status, out, err = corpusmill(*command)
    assert (status, out) == (1, "")
    assert "2 of 59 records could not be processed (1 bad_json, 1 no_text)" in err and "--dead" in err


def test_check_reads_nothing_and_says_what_would_run(corpusmill):
    status, out, _ = corpusmill("check", made_corpus())
    assert status == 0 and "can run" in out and "pass-1: gopher_quality → fineweb" in out
    status, out, _ = corpusmill("check", made_corpus(), "--json")
    assert status == 0 and json.loads(out)["sources"]["web"]["files"] == 1


@pytest.mark.parametrize(
    "setting, said",
    [
        ("steps.gopher_quality.min_word=3", 'did you mean "min_words"'),
        ("steps.gopher_quality.min_words=lots", "min_words"),
        ("steps.gofer_quality.min_words=3", "gopher_quality"),
    ],
)
def test_a_wrong_setting_is_an_error_of_the_recipe(corpusmill, setting, said):
    status, out, err = corpusmill("check", made_corpus(), "--set", setting)
    assert (status, out) == (2, "") and said in err


def test_a_missing_recipe_or_input_is_named(corpusmill, tmp_path):
    status, _, err = corpusmill("check", tmp_path / "none.yaml")
    assert status == 2 and "none.yaml" in err
    (tmp_path / "r.yaml").write_text(f"read: [jsonl: {tmp_path}/nothing.jsonl]\n")
    status, _, err = corpusmill("run", tmp_path / "r.yaml", "--folder", tmp_path / "run")
    assert status == 2 and "nothing.jsonl" in err and not (tmp_path / "run").exists()


def test_steps_lists_all_and_describes_one(corpusmill):
    status, out, _ = corpusmill("steps")
    assert status == 0 and max(map(len, out.splitlines())) <= 120
    listed = dict(entry.split(": ", 1) for entry in out.split("\n\n")[:-1])
    assert list(listed) == names()
    for name, entry in listed.items():
        info = describe(name)
        said = " ".join(entry.split())
        assert info.summary in said and info.source in said
        assert all(f" {parameter.name}" in said for parameter in info.parameters), name
    assert "min_words=50 max_words=100000" in " ".join(listed["filter/gopher_quality"].split())
    assert "ut1=null categories=[adult, … 10] block_domains=[]" in " ".join(listed["filter/url"].split())
    status, out, _ = corpusmill("steps", "filter/gopher_quality")
    assert status == 0 and "arXiv:2112.11446" in out and "min_words" in out and "code points" in out
    status, out, _ = corpusmill("steps", "filter/gopher_quality", "--json")
    (info,) = json.loads(out)["steps"]
    assert status == 0 and info["parameters"][0]["name"] == "min_words"


def test_an_unknown_step_is_answered_with_the_nearest(corpusmill):
    status, out, err = corpusmill("steps", "filter/gofer_quality")
    assert (status, out) == (2, "") and 'did you mean "filter/gopher_quality"' in err


def test_peek_shows_kept_documents(corpusmill, run):
    status, out, _ = corpusmill("peek", run, "-n", "2")
    assert status == 0 and out.count("id  ") == 2 and "tokens" in out and "dropped" not in out


def test_peek_shows_why_a_document_is_dropped_without_obeying_it(corpusmill, run):
    status, out, _ = corpusmill("peek", run, "--dropped", "gopher_quality.max_hash_ratio")
    assert status == 0 and "gopher_quality.max_hash_ratio: hash_ratio 0.143, above 0.1" in out
    assert "\x1b" not in out and "\u202e" not in out and "␛[2J" in out


@pytest.mark.parametrize("step", ["exact", "minhash"])
def test_peek_names_what_is_kept_instead_of_a_duplicate(corpusmill, run, step):
    _, out, _ = corpusmill("peek", run, "--dropped", step, "-n", "1", "--json")
    (entry,) = json.loads(out)["documents"]
    signals = entry["signals"]
    _, out, _ = corpusmill("peek", run, "--dropped", step, "-n", "1")
    assert f"duplicate of {signals[f'{step}.duplicate_of']}, similarity {signals[f'{step}.similarity']:.3f}" in out


def test_what_the_demo_suggests_can_be_done(corpusmill, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    suggested = [line.partition("  ")[0] for line in next_steps(str(run)).replace("\n  ", "\n").splitlines()[2:]]
    assert len(suggested) == 3
    for command in suggested:
        name, *words = shlex.split(command)
        assert name == "corpusmill" and corpusmill(*words)[0] == 0, command


def test_peek_knows_all_about_one_document(corpusmill, run):
    status, out, _ = corpusmill("peek", run, "--id", HOSTILE_URL)
    assert status == 0 and "gopher_quality.alpha_word_ratio" in out and "alert(2)" in out


@pytest.mark.parametrize(
    "options, count",
    [
        ((), 5),
        (("-n", "50"), 36),
        (("--dropped", "all", "-n", "50"), 21),
        (("--dead",), 2),
        (("--dropped", "exact"), 5),
    ],
)
def test_peek_prints_json(corpusmill, run, options, count):
    status, out, _ = corpusmill("peek", run, "--json", *options)
    assert status == 0 and len(json.loads(out)["documents"]) == count


def test_peek_shows_dead_letters_with_their_reason(corpusmill, run):
    status, out, _ = corpusmill("peek", run, "--dead")
    assert status == 0 and "read/jsonl: bad_json" in out and "{bad json" in out


@pytest.mark.parametrize(
    "options, said",
    [
        (("--dropped", "gofer_quality"), 'did you mean "gopher_quality"'),
        (("--dropped", "exact.near_copy"), "Reasons of exact: exact.exact_copy"),
        (("--id", "nobody"), 'the id or URL "nobody"'),
        (("--dead", "--id", "x"), "exclude each other"),
        (("-n", "0"), "'-n'"),
        (("--dropt", "x"), "--dropt"),
    ],
)
def test_peek_answers_a_mistake(corpusmill, run, options, said):
    status, out, err = corpusmill("peek", run, *options)
    assert (status, out) == (2, "") and said in err


@pytest.mark.parametrize("verb", ["peek", "report"])
def test_a_folder_without_a_run_is_named(corpusmill, tmp_path, verb, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, out, err = corpusmill(verb, tmp_path / "none")
    assert status and not out and "not a run folder" in err and "corpusmill run RECIPE" in err


def test_the_runs_that_are_near_are_named(corpusmill, run, monkeypatch):
    monkeypatch.chdir(run.parent)
    status, _, err = corpusmill("peek", run.parent)
    assert status and str(run) in err


def test_report_writes_the_page_and_prints_the_waterfall(corpusmill, run):
    (run / "report.html").unlink(missing_ok=True)
    status, out, _ = corpusmill("report", run)
    assert status == 0 and (run / "report.html").exists()
    assert "gopher_quality" in out and "min_words 12" in out and "bad_json 1 · no_text 1" in out
    status, out, _ = corpusmill("report", run, "--json")
    said = json.loads(out)
    assert status == 0 and said["steps"][-1]["documents_out"] == 36
    assert (said["domains"]["documents"], said["domains"]["without"]) == (51, 6)
    assert said["domains"]["domains"][0]["name"] == "made.org"
    assert said["together"][0]["rules"] == ["fineweb.max_short_lines", "gopher_quality.min_stop_words"]
    assert [(one["step"], one["clusters"], one["documents"]) for one in said["clusters"]] == [
        ("exact", 5, 10),
        ("minhash", 3, 6),
    ]
    assert [(one["step"], one["removed"], one["lost"]) for one in said["survival"]] == [
        ("exact", 5, 0),
        ("minhash", 3, 8),
    ]


def test_report_of_a_run_that_is_not_finished_says_what_is_missing(corpusmill, tmp_path):
    folder = shutil.copytree(made_run(), tmp_path / "run")
    unfinish(folder, "shards")
    status, out, err = corpusmill("report", folder)
    assert (status, out) == (1, "") and "shards has 0 of 1 units" in err


def test_verify_reads_the_shards_back(corpusmill, run):
    status, out, _ = corpusmill("verify", run)
    assert status == 0 and "everything verified" in out
    status, out, _ = corpusmill("verify", run / "output" / "shards", "--json")
    assert status == 0 and json.loads(out)["problems"] == []


def test_verify_finds_damage(corpusmill, tmp_path):
    shards = shutil.copytree(made_run() / "output" / "shards", tmp_path / "shards")
    file = max(shards.iterdir(), key=lambda path: (path.suffix == ".bin", path.name))
    damaged = bytearray(file.read_bytes())
    damaged[10] ^= 1
    file.unlink()
    file.write_bytes(damaged)
    status, out, _ = corpusmill("verify", shards)
    assert status == 1 and "XXH3-128" in out and "1 problem" in out


def test_verify_of_what_holds_no_shards_says_so(corpusmill, tmp_path):
    status, out, err = corpusmill("verify", tmp_path)
    assert status and not out and str(tmp_path) in err


def test_the_version_and_the_help(corpusmill):
    import corpusmill as package

    status, out, _ = corpusmill("--version")
    assert status == 0 and out.strip() == f"corpusmill {package.__version__}"
    status, out, _ = corpusmill("peek", "--help")
    assert status == 0 and "Example: corpusmill peek runs/demo" in out
    status, _, err = corpusmill("pek")
    assert status == 2 and "pek" in err
