"""Layouts of other programs: what is written there is read back as it was, signals included."""

import gzip
import json

import pyarrow.parquet as pq
import pytest
import zstandard

import corpusmill
from conftest import docs
from corpusmill.errors import RecipeError
from corpusmill.execute.serial import Serial
from corpusmill.export import export
from corpusmill.ops.verify import verify_place
from corpusmill.read.dolma import DolmaReader
from corpusmill.read.jsonl import JsonlReader
from corpusmill.read.redpajama import RedpajamaReader
from corpusmill.recipe import Recipe
from corpusmill.storage import stat
from corpusmill.write.dclm import DclmWriter
from corpusmill.write.dolma import DolmaWriter
from corpusmill.write.redpajama import RedpajamaWriter

TEXTS = [
    f"The ferry number {n} left the old harbour — late at night, and nobody saw it go.\nIt came back."
    for n in range(40)
]


def lines(path):
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else zstandard.ZstdDecompressor().stream_reader(data).read()
    return [json.loads(line) for line in data.splitlines()]


def put(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(zstandard.compress(data) if path.suffix == ".zst" else gzip.compress(data, mtime=0))


def run(folder, source, writer, steps="[annotate/stats]", workers=1):
    recipe = f"name: made\nread: {source}\nsteps: {steps}\nwrite: {{{writer}}}\nrun: {{folder: {folder}}}"
    corpusmill.run(Recipe.parse(recipe), executor=Serial())
    return folder / "output"


def dolma(root):
    for number, part in enumerate((TEXTS[:25], TEXTS[25:])):
        rows = [
            {"id": f"{number}-{n}", "text": text, "source": "ferries", "added": "2024-01-01", "version": "v1",
             "created": "2023-05-06T07:08:09Z", "metadata": {"url": f"http://made.org/{n}", "n": n}}
            for n, text in enumerate(part)
        ]  # fmt: skip
        put(root / f"documents/{number}.json.gz", rows)
        said = [
            {"id": row["id"], "attributes": {"t__night": [[text.index("night"), text.index("night") + 5, 0.75]]}}
            for row, text in zip(rows, part)
        ]
        put(root / f"attributes/t/{number}.json.gz", said)
    return root


def read(reader, path):
    files = reader.find_files([str(path)]) if hasattr(reader, "find_files") else [stat(str(path))]
    counts = corpusmill.read.ReadCounts()
    rows = [
        row
        for piece in reader.split(files, 1 << 30)
        for batch in reader.read(piece, "ferries", counts)
        for row in batch.to_pylist()
    ]
    assert not counts.dead_letters
    return rows


@pytest.mark.parametrize("compression", ["gz", "zst"])
def test_dolma_comes_back_with_its_ids_and_attributes_and_ours_beside_them(tmp_path, compression):
    source = dolma(tmp_path / "in")
    output = run(
        tmp_path / "run",
        f"{{dolma: {{paths: {source}, source: ferries}}}}",
        f'dolma: {{signals: ["stats.words"], keep: [t], compression: {compression}}}',
    )
    written = output / "dolma"
    assert sorted(path.relative_to(written).as_posix() for path in written.rglob("*.json.*")) == [
        f"attributes/corpusmill/00000.json.{compression}",
        f"attributes/t/00000.json.{compression}",
        f"documents/00000.json.{compression}",
    ]
    before, after = read(DolmaReader(), source), read(DolmaReader(), written)
    assert [[row[name] for name in ("id", "text", "url", "date")] for row in before] == [
        [row[name] for name in ("id", "text", "url", "date")] for row in after
    ]
    for old, new in zip(before, after):
        was, now = json.loads(old["metadata"]), json.loads(new["metadata"])
        ours = now["attributes"].pop("corpusmill")
        assert was == now
        (span,) = ours["corpusmill__stats__words"]
        assert span[:2] == [0, len(old["text"])] and span[2] > 10
    assert not next(iter(verify_place(str(tmp_path / "run")))).problems


def test_dolma_of_other_inputs_has_its_six_fields(tmp_path):
    put(tmp_path / "in.jsonl.gz", [{"text": TEXTS[0], "url": "http://a.org/", "licence": "cc0", "date": "2024-01-02"}])
    output = run(tmp_path / "run", f"{{jsonl: {tmp_path}/in.jsonl.gz}}", "dolma")
    (row,) = lines(output / "dolma/documents/00000.json.gz")
    assert len(row.pop("id")) == 32
    assert row == {
        "text": TEXTS[0],
        "source": "jsonl",
        "created": "2024-01-02",
        "metadata": {"licence": "cc0", "url": "http://a.org/"},
    }
    assert not (output / "dolma/attributes").exists()


def test_signals_of_dolma_filter_mark_and_replace(tmp_path):
    source = dolma(tmp_path / "in")
    steps = """
  - clean/spans: {replace: {attributes.t.t__night: "day"}, min_score: 0.5}
  - annotate/metadata: {numbers: {night: attributes.t.t__night.0.2, n: metadata.n}}
  - filter/keep_where: {condition: "metadata.night > 0.5 and metadata.n < 5"}"""
    output = run(tmp_path / "run", f"{{dolma: {source}}}", "jsonl: {compression: gz}", steps)
    kept = lines(output / "jsonl/00000.jsonl.gz")
    assert len(kept) == 10 and all("late at day, and nobody" in row["text"] for row in kept)


def test_a_quantity_a_flag_a_text_and_spans_as_attributes(tmp_path):
    text = "é a@host.org, nobody else."
    put(tmp_path / "in.jsonl.gz", [{"text": text}, {"text": "Nothing here."}])
    steps = "[annotate/pii: {spans: true}, annotate/metadata: {texts: {a b: none}}, annotate/language]"
    signals = '["pii.emails", "pii.spans", "metadata.*", "language.label"]'
    output = run(tmp_path / "run", f"{{jsonl: {tmp_path}/in.jsonl.gz}}", f"dolma: {{signals: {signals}}}", steps)
    first, second = (row["attributes"] for row in lines(output / "dolma/attributes/corpusmill/00000.json.gz"))
    ((start, end, score),) = first["corpusmill__pii__spans__email"]
    assert (text[start:end], score) == ("a@host.org", 1.0)
    assert first["corpusmill__pii__emails"] == [[0, len(text), 1]]
    assert second["corpusmill__pii__emails"] == [[0, 13, 0]] and "corpusmill__pii__spans__email" not in second
    assert first["corpusmill__metadata__a b"] == []
    (label,) = [name for name in first if name.startswith("corpusmill__language__label__")]
    assert first[label] == [[0, len(text), 1.0]]


def test_spans_of_a_text_that_has_changed_since_are_refused(tmp_path):
    put(tmp_path / "in.jsonl.gz", [{"text": "Write to a@host.org"}])
    steps = '[annotate/pii: {spans: true}, clean/replace: {patterns: {"a@host": ""}}]'
    with pytest.raises(RecipeError, match="spans of another text"):
        run(tmp_path / "run", f"{{jsonl: {tmp_path}/in.jsonl.gz}}", "dolma: {signals: [pii.spans]}", steps)


def pajama(root):
    at = "2023-06/0000/en_head"
    rows = [
        {"url": f"http://made.org/{n}", "date_download": "2023-02-01T00:00:00Z", "digest": f"sha1:{n}",
         "length": len(text), "nlines": 2, "source_domain": "made.org", "title": f"T {n}", "raw_content": text,
         "cc_segment": "crawl", "language": "en", "language_score": 0.9, "perplexity": 210.5, "bucket": "head"}
        for n, text in enumerate(TEXTS)
    ]  # fmt: skip
    put(root / f"documents/{at}.json.gz", rows)
    signals = [
        {"id": f"{at}.json.gz/{n}", "id_int": n, "metadata": {"url": row["url"]},
         "quality_signals": {"ccnet_perplexity": [[0, row["length"], 210.5]]}}
        for n, row in enumerate(rows)
    ]  # fmt: skip
    put(root / f"quality_signals/{at}.signals.json.gz", signals)
    import pyarrow as pa

    for part, columns in (
        ("duplicates", {"shard_id": [f"{at}.json.gz"], "doc_id": [f"{at}.json.gz/3"], "digest": ["sha1:3"]}),
        ("minhash", {"shard_id": [f"{at}.json.gz"] * 40, "id": [row["id"] for row in signals], "id_int": list(range(40)),
                     "signature_sim0.7": [[b"\x00\xff", b"b"]] * 40}),
    ):  # fmt: skip
        (root / part / at).parent.mkdir(parents=True)
        pq.write_table(pa.table(columns), root / f"{part}/{at}.{part}.parquet")
    return root


def test_redpajama_comes_back_with_its_signals_duplicates_and_signatures(tmp_path):
    source = pajama(tmp_path / "in")
    parts = ("quality_signals", "duplicates", "minhash")
    output = run(
        tmp_path / "run",
        f"{{redpajama: {{paths: {source}, source: ferries, parts: [{', '.join(parts)}]}}}}",
        'redpajama: {signals: ["stats.words"], keep: true}',
    )
    before, after = (read(RedpajamaReader(parts=parts), path) for path in (source, output / "redpajama"))
    assert len(after) == 40
    for old, new in zip(before, after):
        assert all(old[name] == new[name] for name in ("id", "text", "url", "date"))
        was, now = json.loads(old["metadata"]), json.loads(new["metadata"])
        assert now["quality_signals"].pop("corpusmill_stats_words")[0][2] > 10
        assert was == now
    (first, *_) = lines(output / "redpajama/quality_signals/00000.signals.json.gz")
    assert first["id"] == "00000.json.gz/0" and first["metadata"]["language"] == "en"
    again = pq.read_table(output / "redpajama/duplicates/00000.duplicates.parquet").to_pylist()
    assert again == [{"shard_id": "00000.json.gz", "doc_id": "00000.json.gz/3", "digest": "sha1:3"}]
    table = pq.read_table(output / "redpajama/minhash/00000.minhash.parquet")
    assert (
        table["signature_sim0.7"].to_pylist() == [[b"\x00\xff", b"b"]] * 40
        and str(table.schema.field("id_int").type) == "uint64"
    )
    assert not next(iter(verify_place(str(tmp_path / "run")))).problems


def test_dclm_comes_back_field_by_field(tmp_path):
    rows = [
        {"bff_contained_ngram_count_before_dedupe": n, "language_id_whole_page_fasttext": {"en": 0.9},
         "metadata": {"WARC-Record-ID": f"<urn:uuid:{n}>", "WARC-Date": "2014-03-13T14:49:13Z", "Content-Length": "7"},
         "previous_word_count": 20, "text": text, "url": f"http://made.org/{n}", "warcinfo": "robots: classic",
         "fasttext_openhermes_reddit_eli5_vs_rw_v2_bigram_200k_train_prob": 0.0855}
        for n, text in enumerate(TEXTS)
    ]  # fmt: skip
    put(tmp_path / "in.jsonl.zst", rows)
    output = run(
        tmp_path / "run",
        f"{{jsonl: {{paths: {tmp_path}/in.jsonl.zst, id: metadata.WARC-Record-ID}}}}",
        "dclm: {signals: [metadata.quality]}",
        "[annotate/metadata: {numbers: {quality: fasttext_openhermes_reddit_eli5_vs_rw_v2_bigram_200k_train_prob}}]",
    )
    assert lines(output / "dclm/00000.jsonl.zst") == [{**row, "metadata.quality": 0.0855} for row in rows]
    reader = JsonlReader(id="metadata.WARC-Record-ID")
    before, after = read(reader, tmp_path / "in.jsonl.zst"), read(reader, output / "dclm/00000.jsonl.zst")
    assert [row["id"] for row in before] == [row["id"] for row in after]


def test_two_files_of_any_number_of_workers_are_the_same(tmp_path):
    source = dolma(tmp_path / "in")
    made = []
    for name, executor in (("one", Serial()), ("two", None)):
        recipe = (
            f"name: made\nread: {{dolma: {source}}}\nsteps: [annotate/stats]\n"
            f"write: [dolma: {{signals: ['stats.*']}}, redpajama: {{signals: ['stats.*']}}]\n"
            f"run: {{folder: {tmp_path / name}, workers: 2}}"
        )
        corpusmill.run(Recipe.parse(recipe), executor=executor)
        output = tmp_path / name / "output"
        made.append({p.relative_to(output).as_posix(): p.read_bytes() for p in output.rglob("*") if p.is_file()})
    assert made[0] == made[1]


def test_an_export_writes_the_same_layout(tmp_path):
    source = dolma(tmp_path / "in")
    output = run(tmp_path / "run", f"{{dolma: {source}}}", "dolma: {keep: [t], signals: [stats.words]}")
    export(tmp_path / "run", "dolma", tmp_path / "out", keep=["t"], signals=["stats.words"])
    for path in (output / "dolma").rglob("*.json.gz"):
        assert (tmp_path / "out" / path.relative_to(output / "dolma")).read_bytes() == path.read_bytes()


def test_the_layouts_in_an_object_store(tmp_path, store_server, monkeypatch):
    import store_server as faults
    from corpusmill import storage

    for name, value in faults.environment(store_server.endpoint).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    store_server.reset()
    place = f"{store_server.root}/layouts"
    for make, name in ((dolma, "wiki"), (pajama, "rp")):
        root = make(tmp_path / name)
        for path in root.rglob("*.*"):
            storage.write_atomic(f"{place}/{name}/{path.relative_to(root).as_posix()}", path.read_bytes())
    for reader, name in ((DolmaReader(), "wiki"), (RedpajamaReader(), "rp")):
        there, here = read(reader, f"{place}/{name}"), read(reader, tmp_path / name)
        assert [(row["id"], row["text"], row["metadata"]) for row in there] == [
            (row["id"], row["text"], row["metadata"]) for row in here
        ]
        assert [row["id"] for row in read(reader, f"{place}/{name}/documents")] == [row["id"] for row in here]
    recipe = (
        f"name: made\nread: {{dolma: {{paths: {place}/wiki, source: ferries}}}}\nsteps: [annotate/stats]\n"
        f"write: {{dolma: {{keep: [t], compression: zst}}}}\nrun: {{folder: {place}/run}}"
    )
    corpusmill.run(Recipe.parse(recipe), executor=Serial())
    written = read(DolmaReader(), f"{place}/run/output/dolma")
    assert [(row["id"], row["text"], row["metadata"]) for row in written] == [
        (row["id"], row["text"], row["metadata"]) for row in read(DolmaReader(), tmp_path / "wiki")
    ]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: DolmaWriter(keep=("a", "a")), "have one name"),
        (lambda: DolmaWriter(keep=("../a",)), "cannot be a folder"),
        (lambda: DolmaWriter(compression="bz2"), "gz or zst"),  # type: ignore[arg-type]
        (lambda: DolmaWriter(signals=("words",)), "is not a signal"),
        (lambda: RedpajamaWriter(keep=("a",)), "true or false"),  # type: ignore[arg-type]
        (lambda: DclmWriter(name="a"), "is the same for all files"),
    ],
)
def test_settings_that_make_no_sense(make, said):
    with pytest.raises(RecipeError, match=said):
        make()


def test_one_batch_or_many_write_the_same_bytes(tmp_path):
    batch = docs(*TEXTS)
    for writer in (DolmaWriter(), RedpajamaWriter(), DclmWriter()):
        for name, batches in (("a", [batch]), ("b", [batch.slice(at, 7) for at in range(0, 40, 7)])):
            writer.write(batches, tmp_path / name)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
