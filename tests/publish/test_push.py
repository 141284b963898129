"""Pushing a run, to a Hub of our own that answers as huggingface_hub asks."""

import json
import sys

import pyarrow.parquet as pq
import pytest
import yaml

import corpusmill
from corpusmill.errors import InputError, StorageError
from corpusmill.execute.serial import Serial
from corpusmill.publish import readme, target_repo, upload
from corpusmill.recipe.model import Recipe
from fake_hub import TOKEN, serving
from made_run import made_corpus

# huggingface_hub 2.4 uploads in a way that its client has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

TARGET = "hf://datasets/me/made"
CARD = "README.md"


def run_of(write, folder, **settings):
    text = made_corpus().read_text().replace("write: [shards]", f"write: {write}")
    return corpusmill.run(Recipe.parse(text), folder=folder, executor=Serial(), **settings)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A run with three files of text, rows of tokens, and JSON Lines."""
    folder = tmp_path_factory.mktemp("push") / "run"
    return run_of("[shards, parquet_tokens: {tokens_per_shard: 1000}, jsonl: {columns: [id, text]}]", folder)


@pytest.fixture
def hub(monkeypatch, tmp_path):
    pytest.importorskip("huggingface_hub")
    from huggingface_hub import constants, file_download

    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)  # its protocol is not the one that the fake speaks
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with serving() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        # Versions below 1.3 look at the environment once, when they are imported.
        template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, hub.address)
        for module in (constants, file_download):
            monkeypatch.setattr(module, "HUGGINGFACE_CO_URL_TEMPLATE", template, raising=False)
        monkeypatch.setattr(constants, "ENDPOINT", hub.address)
        yield hub


def shards(files, folder):
    return sorted(name for name in files if name.startswith(f"{folder}/"))


def test_what_is_pushed_is_the_outputs_and_a_card_that_names_them(done, hub):
    pushed = corpusmill.push(done, TARGET, private=True, license="odc-by")
    files = hub.files["me/made", "main"]
    assert pushed.url == f"{hub.address}/datasets/me/made" and hub.private == {"me/made": True}
    assert set(files) == {*pushed.files, ".gitattributes"} and pushed.sent == len(pushed.files)
    tokens = sorted((done.output / "parquet_tokens").glob("*.parquet"))
    assert len(tokens) > 1
    assert [files[name] for name in shards(files, "parquet_tokens")] == [path.read_bytes() for path in tokens]
    _, head, text = files[CARD].decode().split("---\n", 2)
    metadata = yaml.safe_load(head)
    assert metadata["license"] == "odc-by" and metadata["size_categories"] == ["n<1K"]
    configs = {one["config_name"]: one["data_files"][0]["path"] for one in metadata["configs"]}
    assert configs == {"default": "data/train-*", "parquet_tokens": "parquet_tokens/train-*"}
    assert 'load_dataset("me/made", "parquet_tokens", split="train"' in text
    for row in done.waterfall.rows:
        assert f"| {row.step} | {row.documents_in:,} | {row.documents_out:,} |" in text
    assert "No step redacts personal data" in text and "no step of the recipe identifies" in text


def test_json_lines_are_converted_with_the_columns_that_they_have(done, tmp_path):
    pushed = corpusmill.push(done, TARGET, dry_run=True)
    (name,) = shards(pushed.files, "data")
    table = pq.read_table(pushed.folder / name)
    assert table.column_names == ["id", "text"] and len(table) == done.waterfall.documents_out
    assert pushed.url is None and pushed.sent == 0


def test_what_is_there_is_not_sent_again(done, hub):
    corpusmill.push(done, TARGET)
    before = len(hub.commits), len(hub.sent)
    assert corpusmill.push(done, TARGET).sent == 0
    assert (len(hub.commits), len(hub.sent)) == before
    del hub.files["me/made", "main"]["data/train-00000-of-00001.parquet"]
    assert corpusmill.push(done, TARGET).sent == 1


def test_a_push_that_broke_off_goes_on_where_it_stopped(done, hub, monkeypatch):
    monkeypatch.setattr(upload, "COMMIT_FILES", 1)
    hub.refuse = (2, 400)
    with pytest.raises(StorageError, match=r"answers with an error \(400\).* 2 of \d+ files were sent.* same command"):
        corpusmill.push(done, TARGET)
    assert all(len(added) == 1 for added in hub.commits)
    hub.refuse = None
    pushed = corpusmill.push(done, TARGET)
    assert pushed.sent == len(pushed.files) - 2
    assert sorted(name for added in hub.commits for name in added) == sorted(pushed.files)
    assert hub.commits[-1] == [CARD, "croissant.json", "recipe.yaml"]  # last, when all that it names is there


def test_shards_of_an_earlier_push_are_removed_and_those_of_others_are_not(done, hub):
    corpusmill.push(done, TARGET)
    files = hub.files["me/made", "main"]
    files["data/train-00001-of-00002.parquet"] = b"old"
    files["other.parquet"] = b"mine"
    corpusmill.push(done, TARGET)
    assert "data/train-00001-of-00002.parquet" not in files and files["other.parquet"] == b"mine"
    files |= {"data/train-00001-of-00002.parquet": b"somebody's", CARD: b"# by hand\n"}
    held = dict(files)
    with pytest.raises(InputError, match=r"has 1 files that this push does not.*hf repos delete-files me/made"):
        corpusmill.push(done, TARGET)
    assert files == held


def test_a_card_that_somebody_edited_is_left_alone(done, hub):
    corpusmill.push(done, TARGET)
    files = hub.files["me/made", "main"]
    files[CARD] = files[CARD].replace(readme.MARK.encode(), b"") + b"\nMy own words.\n"
    said: list[str] = []
    corpusmill.push(done, TARGET, license="mit", progress=said.append)
    assert files[CARD].endswith(b"My own words.\n")
    assert said[:2] == ["converting jsonl to Parquet …", "README.md on the Hub was edited, and is left as it is"]


def test_a_branch_is_made(done, hub):
    pushed = corpusmill.push(done, f"{TARGET}@v2")
    assert pushed.url.endswith("/datasets/me/made/tree/v2")
    assert set(hub.files["me/made", "main"]) == {".gitattributes"}
    assert b'revision="v2"' in hub.files["me/made", "v2"][CARD]


def test_folders_of_this_machine_are_not_published(done, tmp_path):
    pushed = corpusmill.push(done, TARGET, dry_run=True)
    for name in (CARD, "recipe.yaml"):
        text = (pushed.folder / name).read_text()
        assert str(made_corpus().parent) not in text and "…/web.jsonl" in text
    yaml.safe_load((pushed.folder / "recipe.yaml").read_text())


# ------------------------------------------------------------------- what cannot be pushed


def test_the_command_lists_what_a_dry_run_made_and_asks_nobody(done, corpusmill, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    status, out, _ = corpusmill("push", done.folder, TARGET, "--dry-run")
    assert status == 0 and "data/train-00000-of-00001.parquet" in out and out.endswith("Nothing was sent.\n")
    status, out, _ = corpusmill("push", done.folder, TARGET, "--dry-run", "--json")
    assert json.loads(out)["url"] is None


def test_a_run_without_tables_is_told_which_line_to_add(tmp_path, corpusmill):
    only_shards = run_of("[shards]", tmp_path / "run")
    status, _, err = corpusmill("push", only_shards.folder, TARGET)
    assert status == 2 and "the run wrote shards, and neither Parquet nor JSON Lines" in err
    assert "`- parquet` for the text" in err and "corpusmill export" in err


def test_one_output_is_pushed_by_name(done):
    pushed = corpusmill.push(done, TARGET, outputs=["parquet_tokens"], dry_run=True)
    assert not shards(pushed.files, "parquet_tokens") and len(shards(pushed.files, "data")) > 1
    with pytest.raises(InputError, match=r'has no output "parquet"; did you mean'):
        corpusmill.push(done, TARGET, outputs=["parquet"], dry_run=True)
    with pytest.raises(InputError, match="shards is neither Parquet nor JSON Lines"):
        corpusmill.push(done, TARGET, outputs=["shards"], dry_run=True)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("me/made", "did you mean hf://datasets/me/made?"),
        ("runs/x/y", "is written hf://datasets/ME/NAME"),
        ("hf://datasets/made", "names no data set of the Hub"),
        ("hf://me/made", "is a model; a data set is hf://datasets/me/made"),
        ("hf://datasets/me/made/data", "push to the whole, hf://datasets/me/made"),
    ],
)
def test_what_is_no_data_set_is_answered_with_how_one_is_written(target, words):
    with pytest.raises(InputError) as error:
        target_repo(target)
    assert words in str(error.value)


def test_two_revisions_are_one_too_many():
    with pytest.raises(InputError, match="give one of them"):
        target_repo(f"{TARGET}@v1", "v2")


def test_without_a_token_it_says_how_to_log_in(done, hub, monkeypatch):
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    with pytest.raises(InputError, match=r"there is no token for the Hugging Face Hub.*hf auth login"):
        corpusmill.push(done, TARGET)
    assert hub.asked == []


def test_a_wrong_token_and_a_name_of_others_are_told_apart(done, hub, monkeypatch):
    with pytest.raises(InputError, match=r"this token may not write.*hf auth whoami"):
        corpusmill.push(done, "hf://datasets/google/made")
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(InputError, match="does not accept the token"):
        corpusmill.push(done, TARGET)


def test_without_a_network_nothing_is_made(done, hub, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(StorageError, match=r"the Hub cannot be reached.*--dry-run"):
        corpusmill.push(done, TARGET)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError, match="HF_HUB_OFFLINE is set"):
        corpusmill.push(done, TARGET)


def test_the_reserved_size_names_are_those_of_the_hub():
    assert [readme.size_category(n) for n in (0, 999, 1000, 10**6, 10**12)] == [
        "n<1K", "n<1K", "1K<n<10K", "1M<n<10M", "n>1T",
    ]  # fmt: skip
