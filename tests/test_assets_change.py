"""A file that a recipe names is known by its content, in every process, whenever it changes."""

import hashlib
import json
import pickle
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import corpusmill
from corpusmill import Recipe, assets
from corpusmill.errors import AssetError
from corpusmill.execute.processes import Processes
from corpusmill.execute.serial import Serial
from corpusmill.models.quality import QualityModel, linear
from corpusmill.models.quality_score import LENGTHS
from corpusmill.models.tokenizer import load
from corpusmill.steps.captures import CapturedAnswer, collect
from corpusmill.train.lm import LmSettings, train
from made_tokenizers import train_sentencepiece, write_bpe

DOCUMENTS = [
    {"text": "Which river runs below the old mill? Nobody can say.", "url": "http://bad.example/x"},
    {"text": "What is the name of the ferry in the harbour? Nobody can tell.", "url": "http://sad.example/casino/y"},
    {"text": "grumble mumbles abba abba, write to jane.roe@mail-host.org today", "url": "http://ok.example/kasino/z"},
    {"text": "grumble mumbles abba abba, write to jane.roe@mail-host.org today", "url": "http://ok.example/robots"},
]


def lines(*both):
    return [lambda path, one=one: path.write_text(one) for one in both]


def question(text):
    return json.dumps({"id": "1", "question": text, "answer": "none"}) + "\n"


MILL, FERRY = (
    question("Which river runs below the old mill?"),
    question("What is the name of the ferry in the harbour?"),
)


def bpe(config=None, **model):
    def write(path):
        path.mkdir(exist_ok=True)
        write_bpe(path / "tokenizer.json", tokens=("</s>", "<end>"), **model)
        if config:
            (path / "tokenizer_config.json").write_text(json.dumps({"eos_token": config}))

    return write


def with_merge(path):
    """The bytes, and one token that has the id of the first that is a byte elsewhere."""
    bpe()(path)
    made = json.loads((path / "tokenizer.json").read_text())
    made["model"]["vocab"]["ab"], made["model"]["merges"] = 258, [["a", "b"]]
    (path / "tokenizer.json").write_text(json.dumps(made))


def sentencepiece(kind):
    def write(path):
        pytest.importorskip("sentencepiece")
        train_sentencepiece(path, kind)

    return write


def quality(seed):
    def write(path):
        random = np.random.default_rng(seed)
        weights, lengths = random.normal(size=1 << 10), random.normal(size=LENGTHS).astype(np.float32)
        arrays = weights.astype(np.float16), lengths, np.zeros(1, np.float32)
        QualityModel({"kind": "quality"}, linear(*arrays)).save(path)

    return write


def language_model(text):
    return lambda path: train(pa.array([text] * 9, pa.large_string()), LmSettings(min_count=1), {}).save(path)


def shipped(name):
    return lambda path: path.write_bytes(assets.locate(name).read_bytes())


def captures(body):
    return lambda path: collect(
        iter([CapturedAnswer("http://ok.example", "robots", "2026-01-01", 200, None, body)]), path
    )


def onnx(factor=0.01, labels=("a", "b"), swapped=False):
    """A classifier whose outputs are the mean of the ids, times `factor` and its opposite."""

    def write(path):
        helper = pytest.importorskip("onnx").helper
        pytest.importorskip("onnxruntime")
        from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

        path.mkdir(exist_ok=True)
        kinds = pytest.importorskip("onnx").TensorProto
        nodes = [
            helper.make_node("Cast", ["input_ids"], ["x"], to=kinds.FLOAT),
            helper.make_node("ReduceMean", ["x", "axes"], ["mean"], keepdims=1),
            helper.make_node("Mul", ["mean", "factors"], ["y"]),
        ]
        held = [
            helper.make_tensor("axes", kinds.INT64, [1], [1]),
            helper.make_tensor("factors", kinds.FLOAT, [1, 2], [factor, -factor]),
        ]
        given = helper.make_tensor_value_info("input_ids", kinds.INT64, ["b", "n"])
        gives = helper.make_tensor_value_info("y", kinds.FLOAT, ["b", 2])
        graph = helper.make_graph(nodes, "made", [given], [gives], held)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        (path / "model.onnx").write_bytes(model.SerializeToString())
        words = {word: number for number, word in enumerate(["[UNK]", *map(chr, range(97, 123))])}
        tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
        tokenizer.normalizer = normalizers.Replace("a", "z") if swapped else None
        tokenizer.save(str(path / "tokenizer.json"))
        config = {"id2label": dict(enumerate(labels)), "max_position_embeddings": 512}
        (path / "config.json").write_text(json.dumps(config))

    return write


def below(name, *both):
    """In a folder."""

    def within(write):
        def make(path):
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            write(path / name)

        return make

    return list(map(within, both))


def shards(step):
    return [step, {"pack/concat": {"length": 16}}]


URL: dict[str, list] = {"soft_words": [], "hard_words": [], "sub_words": []}
COPIES = "dedup/exact", "annotate/language"
# kind -> the steps, and what writes the two contents of `asset`. Lists have the same size.
KINDS = {
    "domains": ([{"filter/url": {**URL, "block_domains": "asset"}}], *lines("bad.example\n", "sad.example\n")),
    "pages": ([{"filter/url": {**URL, "block_urls": "asset"}}], *lines("bad.example/x\n", "sad.example/c\n")),
    "words": ([{"filter/url": {**URL, "hard_words": "asset"}}], *lines("casino\n", "kasino\n")),
    "ut1": (
        [{"filter/url": {**URL, "ut1": "asset", "categories": ["adult"]}}],
        *below("adult/domains", *lines("bad.example\n", "sad.example\n")),
    ),
    "toxic_words": ([{"annotate/toxicity": {"lexicon": "asset"}}], *lines("grumble\n# some\n", "mumbles\ngrumble\n")),
    "benchmark": ([{"decontaminate/ngrams": {"benchmarks": "asset.jsonl"}}], *lines(MILL, FERRY)),
    "benchmarks": (
        [{"decontaminate/ngrams": {"benchmarks": "asset"}}],
        *below("one.jsonl", *lines(MILL, MILL)),
    ),
    "tokenizer": (shards({"tokenize/bpe": {"tokenizer": "asset/tokenizer.json"}}), bpe(), with_merge),
    "tokenizer_folder": (shards({"tokenize/bpe": {"tokenizer": "asset"}}), bpe(), with_merge),
    "end_of_document": (shards({"tokenize/bpe": {"tokenizer": "asset"}}), bpe("</s>"), bpe("<end>")),
    "sentencepiece": (
        shards({"tokenize/bpe": {"tokenizer": "asset.model"}}),
        sentencepiece("unigram"),
        sentencepiece("bpe"),
    ),
    "counted_tokens": (
        [{"filter/basic": {"tokenizer": "asset/tokenizer.json", "min_tokens": 63, "rules": ["min_tokens"]}}],
        bpe(),
        with_merge,
    ),
    "periodic": (
        [{"filter/periodic": {"tokenizer": "asset/tokenizer.json", "max_repeats": 9}}],
        bpe(),
        with_merge,
    ),
    "language_model": (
        [{"annotate/perplexity": {"model": "asset"}}],
        language_model("the river runs below the mill"),
        language_model("nobody can tell the name of the ferry"),
    ),
    "quality_model": ([{"annotate/quality": {"model": "asset"}}], quality(1), quality(2)),
    "language": ([{"annotate/language": {"model": "asset"}}], shipped("lid.176.ftz"), shipped("lid.wide")),
    "classifier": ([{"annotate/classifier": {"model": "asset"}}], shipped("lid.176.ftz"), quality(3)),
    "onnx_model": ([{"annotate/classifier": {"model": "asset"}}], onnx(), onnx(factor=0.02)),
    "onnx_config": ([{"annotate/classifier": {"model": "asset"}}], onnx(), onnx(labels=("b", "a"))),
    "onnx_tokenizer": ([{"annotate/classifier": {"model": "asset"}}], onnx(), onnx(swapped=True)),
    "robots": (
        [{"annotate/rights": {"captures": "asset", "agents": ["GPTBot"]}}],
        captures("User-agent: GPTBot\nDisallow: /robots\n"),
        captures("User-agent: GPTBot\nDisallow: /kasino\n"),
    ),
    "weights": (
        [
            *COPIES,
            {
                "mix/rehydrate": {
                    "by_language": "asset",
                    "language": "language.label",
                    "cluster_size": "exact.cluster_size",
                }
            },
            *shards("tokenize/bytes"),
        ],
        *lines('{"en": {"1": 1, "2": 3}}', '{"en": {"1": 1, "2": 4}}'),
    ),
    "key": (
        [{"redact/pii": {"kinds": ["email"], "action": "pseudonym", "key": "asset"}}],
        *lines("a key of more than 16 bytes", "another key of as many bytes"[:27]),
    ),
}
NAMES = {"benchmark": "asset.jsonl", "sentencepiece": "asset.model"}


def recipe_of(steps):
    write = ["shards"] if any("pack/concat" in step for step in steps) else [{"jsonl": {"signals": ["*"]}}]
    made = {"name": "made", "read": {"jsonl": "in.jsonl"}, "steps": steps, "write": write}
    return Recipe.parse(json.dumps(made))


def outcome(steps, folder, executor=None):
    """What a run leaves: the checksums of its output, by file."""
    executor = executor or Serial()
    try:
        done = corpusmill.run(recipe_of(steps), folder=folder, executor=executor, progress=False)
    finally:
        executor.close()
    recorded = json.loads((done.folder / "run.json").read_text())["assets"]
    for name, facts in recorded.items():
        assert facts["sha256"] == sha256(assets.locate(name)), name
    return {
        str(path.relative_to(done.output)): sha256(path) for path in sorted(done.output.rglob("*")) if path.is_file()
    }


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Two folders with the same documents; the process is in the first."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "in.jsonl").write_text("".join(json.dumps(each) + "\n" for each in DOCUMENTS))
    monkeypatch.chdir(tmp_path / "one")
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_changes_between_two_runs_of_a_process_is_read_again(kind, folders, monkeypatch):
    steps, first, second = KINDS[kind]
    path = Path(NAMES.get(kind, "asset"))
    first(path)
    before = outcome(steps, "a")
    assert outcome(steps, "a") == before
    second(path)
    if kind == "benchmarks":
        (path / "two.jsonl").write_text(FERRY)
    after = outcome(steps, "a")
    assert after != before
    assert outcome(steps, "b") == after
    monkeypatch.chdir(folders / "two")
    first(path)
    assert outcome(steps, "a") == before


def test_workers_use_what_is_recorded(folders, monkeypatch):
    """All kinds that keep the documents, at once."""
    kinds = ("toxic_words", "quality_model", "language_model", "robots", "key", "tokenizer")
    steps = []
    for kind in kinds:
        for step in KINDS[kind][0]:
            steps.append(json.loads(json.dumps(step).replace('"asset', f'"{kind}')))

    def write(which):
        for kind in kinds:
            KINDS[kind][which](Path(kind))

    write(1)
    before = outcome(steps, "a", Processes(2))
    write(2)
    after = outcome(steps, "a", Processes(2))
    assert after != before
    assert outcome(steps, "b", Processes(2)) == after == outcome(steps, "c", Serial())
    monkeypatch.chdir(folders / "two")
    write(1)
    assert outcome(steps, "a", Processes(2)) == before


# ------------------------------------------------------------- while a run is at work


@dataclass(frozen=True, kw_only=True)
class Meddles:
    """Writes a file in the middle of a run, once."""

    path: str
    content: str
    marker: str

    def transform(self, docs):
        if len(docs) and not Path(self.marker).exists():
            Path(self.marker).touch()
            Path(self.path).write_text(self.content)
        return docs


@pytest.mark.parametrize("executor", [Serial, lambda: Processes(1)])
@pytest.mark.parametrize("order", [1, -1], ids=["before", "after"])
def test_a_file_that_changes_while_a_unit_is_at_work_is_refused(folders, executor, order):
    """Whether the step that reads it comes later in the unit, or came earlier."""
    Path("list").write_text("bad.example\n")
    meddles = {f"{__name__}:Meddles": {"path": "list", "content": "sad.example\n", "marker": "done"}}
    steps = [meddles, {"filter/url": {**URL, "block_domains": "list"}}][::order]
    with pytest.raises(AssetError, match=r"list: has changed since the run was planned.* run the same command again"):
        outcome(steps, "a", executor())
    wanted = outcome(steps, "b", executor())
    assert outcome(steps, "a", executor()) == wanted


def test_a_file_that_is_itself_again_at_the_end_of_a_unit_is_refused(folders):
    Path("list").write_text("bad.example\n")
    changes = ("sad.example\n", "one"), ("bad.example\n", "two")
    one, two = ({f"{__name__}:Meddles": {"path": "list", "content": c, "marker": m}} for c, m in changes)
    with pytest.raises(AssetError, match="list: has changed since the run was planned"):
        outcome([one, {"filter/url": {**URL, "block_domains": "list"}}, two], "a")


def test_a_benchmark_that_is_added_while_a_unit_is_at_work_is_refused(folders):
    Path("asked").mkdir()
    Path("asked/one.jsonl").write_text(MILL)
    meddles = {f"{__name__}:Meddles": {"path": "asked/two.jsonl", "content": FERRY, "marker": "done"}}
    with pytest.raises(AssetError, match=r"asked.two\.jsonl: has changed since the run was planned"):
        outcome([meddles, {"decontaminate/ngrams": {"benchmarks": "asked"}}], "a")


# ------------------------------------------------------------- files by their content


def test_a_file_is_hashed_once_and_loaded_once_while_it_stays(tmp_path, monkeypatch):
    path = tmp_path / "list"
    path.write_text("one")
    monkeypatch.setattr(assets, "CLOCK_TICK_NS", -1)  # it has settled
    loaded = assets.load(str(path), read_words)
    monkeypatch.setattr(hashlib, "file_digest", None)  # nothing is read
    assert assets.load(str(path), read_words) is loaded


def read_words(path):
    return path.read_text().split()


def test_a_file_of_this_moment_is_read_each_time(tmp_path, monkeypatch):
    """It may change again within a tick of the clock, and its size, inode and times be the same."""
    path, digest, read = tmp_path / "list", hashlib.file_digest, []
    path.write_text("one")

    def counted(*about):
        read.append(1)
        return digest(*about)

    monkeypatch.setattr(assets, "CLOCK_TICK_NS", 1 << 60)
    monkeypatch.setattr(hashlib, "file_digest", counted)
    assert assets.fingerprint(path) == assets.fingerprint(path) == sha256(path)
    assert len(read) == 2
    monkeypatch.setattr(assets, "CLOCK_TICK_NS", -1)
    assert assets.fingerprint(path) == assets.fingerprint(path)
    assert len(read) == 3


def test_a_folder_is_known_by_all_that_is_in_it(tmp_path):
    (tmp_path / "model" / "part").mkdir(parents=True)
    (tmp_path / "model" / "part" / "weights").write_text("1")
    made = []

    def make():
        made.append(1)
        return len(made)

    folder = tmp_path / "model"
    assert [assets.of_files([folder], "made", make) for _ in range(2)] == [1, 1]
    (folder / "part" / "weights").write_text("2")
    assert assets.of_files([folder], "made", make) == 2
    (folder / "meta.json").write_text("{}")
    assert assets.of_files([folder], "made", make) == 3


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path):
    path = tmp_path / "list"
    path.write_text("one")

    def grows(path):
        path.write_text(path.read_text() + " more")

    with pytest.raises(AssetError, match=r"list: changed while it was read\. Wait until it is written"):
        assets.load(str(path), grows)
    assert assets.load(str(path), read_words) == ["one", "more"]


def test_a_file_that_cannot_be_read_is_said_to_be_one(tmp_path):
    with pytest.raises(AssetError, match="cannot be read: it is a folder"):
        assets.load(str(tmp_path), read_words)


def test_a_tokenizer_is_not_taken_to_another_process_with_another_file(tmp_path):
    bpe()(tmp_path / "made")
    tokenizer = load(tmp_path / "made")
    sent = pickle.dumps(tokenizer)
    assert pickle.loads(sent) is load(tmp_path / "made")
    with_merge(tmp_path / "made")
    with pytest.raises(AssetError, match="the file has changed since the tokenizer was loaded"):
        pickle.loads(sent)


def test_what_a_driver_knows_spares_others_the_reading(tmp_path, monkeypatch):
    path = tmp_path / "list"
    path.write_text("one")
    monkeypatch.setattr(assets, "CLOCK_TICK_NS", -1)
    name = str(path)
    digests = {name: assets.digest(name)}
    known = assets.planned([name])
    monkeypatch.setattr(assets, "_known", {})
    monkeypatch.setattr(hashlib, "file_digest", None)  # nothing is read
    with assets.pinned(digests, known_files=known):
        assert assets.digest(name) == digests[name]
