"""Pages of a crawl by its name: selected by its index or in whole files, from a folder and from a server with faults."""

import base64
import gzip
import random
from collections import Counter
from itertools import pairwise

import fsspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import read_all

from corpusmill import retry
from corpusmill.errors import InputError, RecipeError, StorageError
from corpusmill.read import CommoncrawlReader, ReadCounts, WarcReader, WatReader, WetReader, _selections, files_at
from corpusmill.read._selections import GAP, FetchedRange, SelectedRecord, ranges
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.parts import Source
from corpusmill.storage import BLOCK, pace, stat, upload
from made_crawl import CRAWL, FOLDER, BucketHandler, make, serving

ICELANDIC = "content_languages = 'isl' AND url_host_registered_domain = 'example.is'"
CONTACT = {"contact": "made@example.org", "requests_per_second": 10_000.0}


@pytest.fixture(scope="module")
def crawl(tmp_path_factory):
    return make(tmp_path_factory.mktemp("crawl"))


@pytest.fixture(scope="module")
def server(crawl):
    with serving(crawl) as server:
        yield server


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.001)
    monkeypatch.setattr(pace, "PAUSE", 0.001)


@pytest.fixture
def asked(server):
    server.reset()
    return server


def read(location, target=1 << 40, **parameters):
    reader = CommoncrawlReader(crawl=CRAWL, **parameters)
    return read_all(reader, *files_at(reader, [str(location)]), target=target)


def without_place(rows):
    return [{**row, "file": row["file"].partition("/crawl-data/")[2]} for row in rows]


def test_each_selected_record_is_a_document_or_a_dead_letter_that_says_why(crawl):
    rows, dead, counts = read(crawl, where=ICELANDIC)
    assert counts.records == len(rows) + len(dead) == 43 and not counts.skipped
    assert Counter(letter["kind"] for letter in dead) == {
        "not_html": 8, "http_status": 5, "missing": 2, "digest_differs": 1, "not_a_response": 1,
    }  # fmt: skip
    assert counts.faults == 4
    reasons = {letter["url"]: letter["reason"] for letter in dead if not letter["expected"]}
    assert reasons["https://www.example.is/gone"] == "there is no such file, and the index names it"
    assert reasons["https://www.example.is/behind"] == "the file ends before this record, and the index names it"
    assert reasons["https://www.example.is/asked"] == "the record is of the type request"
    assert "the page has the SHA-1" in reasons["https://www.example.is/63"]
    assert all(
        row["url"].startswith("https://www.example.is/") and f"Page {row['url'][23:]}<" in row["raw"].decode()
        for row in rows
    )


def test_a_document_is_the_one_that_warc_reads_at_its_place(crawl):
    rows, _, _ = read(crawl, where=ICELANDIC)
    for row in rows:
        (whole,) = [
            each for each in read_all(WarcReader(), stat(row["file"]))[0] if each["position"] == row["position"]
        ]
        assert {**row, "id": "", "source": ""} == {**whole, "id": "", "source": ""}


@pytest.mark.parametrize("target", [1, 600, 2000])
def test_pieces_are_the_whole(crawl, target):
    rows, dead, _ = read(crawl, where=ICELANDIC)
    assert read(crawl, target, where=ICELANDIC)[:2] == (rows, dead)


def test_a_selection_of_several_row_groups_is_the_same(crawl, monkeypatch):
    rows, dead, _ = read(crawl, where=ICELANDIC)
    monkeypatch.setattr(_selections, "ROWS", 5)
    assert read(crawl, 600, where=f"{ICELANDIC} AND true")[:2] == (rows, dead)


@pytest.mark.parametrize("fault", ["403", "429", "503", "cut", "wrong range", "slow", None])
@pytest.mark.parametrize("parameters", [{"where": ICELANDIC}, {"format": "wet"}, {"format": "wat"}])
def test_a_server_with_faults_gives_the_same(crawl, asked, fault, parameters):
    drawn = random.Random(fault)
    asked.fault = lambda number, path: fault if drawn.random() < 0.4 else None
    again = {name: f"{value} -- {fault}" for name, value in parameters.items() if name == "where"}  # a new question
    rows, dead, _ = read(asked.url, **CONTACT | parameters | again)
    here, dead_here, _ = read(crawl, **parameters)
    assert without_place(rows) == without_place(here) and without_place(dead) == without_place(dead_here)
    assert not fault or asked.faults[fault]
    assert all(agent.startswith("corpusmill/") and agent.endswith(" (+made@example.org)") for agent in asked.agents)
    assert asked.busiest <= 4


def test_a_password_is_used_and_not_written_down(asked, tmp_path):
    location = asked.url.replace("http://", "http://me:secret-word@")
    reader = CommoncrawlReader(crawl=CRAWL, where=ICELANDIC, contact="me", requests_per_second=9_000.0)
    Source(reader, location)
    reader.select(location, tmp_path / reader.selection, tmp_path / "scratch")
    assert "secret-word" not in reader.question(location)
    assert _selections.notes_of(str(tmp_path / reader.selection))[_selections.WHERE] == asked.url
    rows, _, _ = read_all(reader, *files_at(reader, [str(tmp_path / reader.selection)]))
    assert rows and all("secret-word" not in row["file"] for row in rows)
    assert set(asked.users) == {f"Basic {base64.b64encode(b'me:secret-word').decode()}"}


def test_only_what_is_selected_is_fetched(asked):
    read(asked.url, where="url = 'https://www.example.is/30'", **CONTACT)
    assert [path for _, path, _ in asked.requests if path.endswith(".warc.gz")] == [
        f"/{FOLDER}/warc/CC-MAIN-20260601000000-00001.warc.gz"
    ]
    assert not any("robotstxt" in path for _, path, _ in asked.requests)


def test_a_server_that_refuses_whatever_one_does_stops_the_run(asked, monkeypatch):
    asked.fault = lambda number, path: "403" if path.endswith(".warc.gz") else None
    with pytest.raises(
        StorageError,
        match=r"the server still answers 403, .* Wait, then run the same command again.*lower requests_per_second",
    ):
        read(asked.url, where=ICELANDIC, **CONTACT)
    assert len([path for _, path, _ in asked.requests if path.endswith("-00000.warc.gz")]) >= 10


def test_a_server_without_ranges_gives_the_same(crawl, asked):
    asked.ranges = False
    try:
        rows, _, _ = read(asked.url, where=f"{ICELANDIC} AND 1 = 1", **CONTACT)
    finally:
        asked.ranges = True
    assert without_place(rows) == without_place(read(crawl, where=ICELANDIC)[0])


def test_a_record_that_is_cut_off_or_damaged_in_the_file_is_a_dead_letter(tmp_path):
    folder = make(tmp_path / "crawl")
    path = folder / FOLDER / "warc/CC-MAIN-20260601000000-00003.warc.gz"
    whole, _, _ = read(folder, where="warc_filename LIKE '%00003%'")
    last = max(whole, key=lambda row: row["position"])
    path.write_bytes(path.read_bytes()[: last["position"] + 50])
    rows, dead, counts = read(folder, where="warc_filename LIKE '%00003%' AND true")
    assert counts.records == 31 and len(rows) == len(whole) - 1
    (truncated,) = (letter["reason"] for letter in dead if letter["kind"] == "truncated")
    assert truncated.startswith("the file ends after 50 of the ")
    data = bytearray(path.read_bytes())
    data[rows[0]["position"] + 40] ^= 0xFF
    path.write_bytes(data)
    again, dead, counts = read(folder, where="warc_filename LIKE '%00003%' AND true")
    assert counts.records == 31 and len(again) in (len(rows) - 1, len(rows))
    assert len(again) == len(rows) or {"damaged", "digest_differs", "truncated"} & {letter["kind"] for letter in dead}


@pytest.mark.parametrize(("kind", "reader"), [("warc", WarcReader()), ("wet", WetReader()), ("wat", WatReader())])
@pytest.mark.parametrize("files", [None, 2])
def test_without_a_condition_whole_files_are_read(crawl, asked, kind, reader, files):
    folder = crawl / FOLDER / kind
    rows, dead, counts = read_all(reader, *(stat(str(path)) for path in sorted(folder.iterdir())[:files]))
    for location, parameters in ((crawl, {}), (asked.url, CONTACT)):
        same, also_dead, also_counts = read(location, 2000, format=kind, files=files, **parameters)
        assert [row["raw"] or row["text"] for row in same] == [row["raw"] or row["text"] for row in rows]
        assert [row["position"] for row in same] == [row["position"] for row in rows]
        assert len(also_dead) == len(dead) and also_counts.skipped == counts.skipped


def test_of_many_files_on_the_web_the_sizes_of_some_are_asked_for(asked, monkeypatch):
    from corpusmill.read import _crawl_index

    monkeypatch.setattr(_crawl_index, "SIZED", 2)
    reader = CommoncrawlReader(crawl=CRAWL, format="wet", contact="a page", requests_per_second=9_999.0)
    sizes = [file.size for file in files_at(reader, [asked.url])]
    assert len(asked.requests) == 3 and len(sizes) == 4 and len(set(sizes)) == 3


def test_whether_pages_must_be_extracted_depends_on_the_format(crawl):
    text = "read: {{commoncrawl: {{crawl: {}, paths: {}, format: {}}}}}\nsteps: [filter/c4]\nwrite: jsonl"
    with pytest.raises(RecipeError, match="commoncrawl gives HTML pages, and no step extracts their text"):
        Recipe.parse(text.format(CRAWL, crawl, "warc"))
    for kind in ("wet", "wat"):
        assert Recipe.parse(text.format(CRAWL, crawl, kind)).read[0].reader.format == kind


def test_in_python_a_crawl_needs_no_paths_and_a_recipe_is_written_as_it_was():
    recipe = Recipe(
        read={"commoncrawl": {"crawl": CRAWL, "where": "true", "contact": "me"}},
        steps=["extract/blocks"],
        write="jsonl",
    )
    assert recipe.read[0].paths == ("https://data.commoncrawl.org/",)
    assert Recipe.parse(recipe.dump()) == recipe and Recipe.parse(recipe.dump(resolved=True)) == recipe


# ------------------------------------------------------------------ what is wrong


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"crawl": "crawl-data/CC"}, 'crawl is the name of a crawl, as in CC-MAIN-2026-25, got "crawl-data/CC"'),
        ({"where": "url_host_tld = "}, "where: url_host_tld = : syntax error at or near .*as after WHERE in SQL"),
        ({"where": "1=1) UNION SELECT (1"}, "it holds more than a condition"),
        ({"where": "true", "format": "wet"}, "where selects records of WARC files, and the index knows no wet"),
        ({"where": "true", "format": "wat"}, "where selects records of WARC files, and the index knows no wat"),
        ({"where": "true", "files": 3}, "where selects records, files takes whole files"),
        ({"files": 0}, "need files >= 1, got 0"),
        ({"requests_per_second": 0.0}, "need requests_per_second > 0"),
        ({"contact": "a\nb"}, "contact must be ASCII"),
    ],
)
def test_parameters_that_cannot_be_meant_are_refused(parameters, message):
    with pytest.raises(RecipeError, match=message):
        CommoncrawlReader(**{"crawl": CRAWL, **parameters})


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (
            "url_host_tdl = 'is'",
            'has no column "url_host_tdl"; did you mean "url_host_tld".? It has: url, url_host_reg',
        ),
        ("url_host_tld = 'xx'", f"{CRAWL}: no page fits where: url_host_tld = 'xx'"),
        ("fetch_status = 'abc'", "where: fetch_status = 'abc': Conversion Error"),
        ("EXISTS (SELECT 1 FROM read_csv('/etc/passwd'))", "where: .*Permission Error"),
    ],
)
def test_a_condition_that_the_index_cannot_answer_says_why(crawl, where, message):
    with pytest.raises((RecipeError, InputError), match=message):
        read(crawl, where=where)


def test_a_crawl_that_is_not_there_and_a_missing_contact(crawl, asked):
    with pytest.raises(
        InputError, match=r"no crawl CC-MAIN-1999-01 with warc files.*index\.commoncrawl\.org lists them"
    ):
        files_at(CommoncrawlReader(crawl="CC-MAIN-1999-01"), [str(crawl)])
    with pytest.raises(
        RecipeError, match=r"needs a contact to read from https://data\.commoncrawl\.org/, as in contact"
    ):
        Source(CommoncrawlReader(crawl=CRAWL), "https://data.commoncrawl.org/")
    text = f"read:\n  commoncrawl: {{crawl: {CRAWL}}}\nwrite: jsonl"
    with pytest.raises(RecipeError, match=":2: commoncrawl: needs a contact"):
        Recipe.parse(text)


def test_a_list_or_an_index_that_is_damaged_is_named(tmp_path):
    folder = make(tmp_path / "crawl", files=1, pages=3)
    (folder / f"crawl-data/{CRAWL}/warc.paths.gz").write_bytes(b"junk")
    with pytest.raises(InputError, match=r"warc.paths.gz: is not a list of files in gzip"):
        read(folder)
    (folder / f"crawl-data/{CRAWL}/wet.paths.gz").write_bytes(gzip.compress(b"crawl-data/nothing.warc.wet.gz\n"))
    with pytest.raises(InputError, match=r"nothing.warc.wet.gz: the crawl lists this file, and it is not there"):
        read(folder, format="wet")
    (index, *_) = folder.glob("cc-index/**/*.parquet")
    index.write_bytes(b"PAR1 junk PAR1")
    with pytest.raises(InputError, match=f"{index.name}: the index cannot be read with where: true: "):
        read(folder, where="true")
    index.unlink()
    with pytest.raises(
        InputError, match=f"{index.name}: the crawl lists this file of its index, but it does not exist"
    ):
        read(folder, where="1 = 1")


def test_a_question_that_broke_off_goes_on_with_the_next_file_of_the_index(asked, tmp_path):
    reader = CommoncrawlReader(crawl=CRAWL, where=ICELANDIC, contact="me", requests_per_second=8_000.0)
    asked.fault = lambda number, path: "404" if "part-00001" in path else None
    with pytest.raises(InputError, match=r"part-00001.c000.gz.parquet: the crawl lists this file of its index, but it"):
        reader.select(asked.url, tmp_path / "first", tmp_path / "scratch")
    asked.reset()
    reader.select(asked.url, tmp_path / "second", tmp_path / "scratch")
    assert not any("part-00000" in path for _, path, _ in asked.requests)
    reader.select(asked.url, tmp_path / "third", tmp_path / "another")
    assert (tmp_path / "second").read_bytes() == (tmp_path / "third").read_bytes()


def test_an_index_without_a_list_is_found_in_a_folder(tmp_path, crawl):
    folder = make(tmp_path / "crawl")
    (folder / f"crawl-data/{CRAWL}/cc-index-table.paths.gz").unlink()
    assert without_place(read(folder, where=ICELANDIC)[0]) == without_place(read(crawl, where=ICELANDIC)[0])


# ------------------------------------------------------------------ ranges


@given(st.lists(st.tuples(st.integers(0, 3 * GAP), st.integers(1, BLOCK)), max_size=30))
def test_ranges_hold_each_record_once_and_are_no_longer_than_needed(steps):
    records, at = [], 0
    for gap, length in steps:
        at += gap
        records.append(SelectedRecord(at, length, None, None))
        at += length
    fetched = list(ranges(records))
    assert [record for part in fetched for record in part.records] == records
    for part in fetched:
        gaps = [b.offset - a.stop for a, b in pairwise(part.records)]
        assert all(gap <= GAP for gap in gaps) and (len(part.records) == 1 or part.stop - part.start <= BLOCK)
    for before, after in pairwise(fetched):  # else they would have been one
        joined = FetchedRange((*before.records, after.records[0]))
        assert after.start - before.stop > GAP or joined.stop - joined.start > BLOCK


def test_what_a_selection_says_of_itself_is_what_is_fetched(crawl, asked):
    reader = CommoncrawlReader(crawl=CRAWL, where=ICELANDIC, contact="me", requests_per_second=10_000.0)
    files = files_at(reader, [asked.url])
    asked.reset()
    for piece in reader.split(files, 1 << 40):
        list(reader.read(piece, "made", ReadCounts()))
    lengths = [stop - start + 1 for *_, part in asked.requests for start, stop in [map(int, part[6:].split("-"))]]
    assert reader.describe(files[0]) == f"43 selected records, {sum(lengths):,} bytes in {len(lengths)} requests"
    assert len(lengths) == 6 and sum(file.size for file in files) < sum(lengths)


def test_a_file_changes_when_its_selected_records_do(crawl):
    wide, narrow = (
        {file.name: file.fingerprint for file in files_at(CommoncrawlReader(crawl=CRAWL, where=where), [str(crawl)])}
        for where in (ICELANDIC, f"{ICELANDIC} AND url <> 'https://www.example.is/30'")
    )
    assert [name for name in wide if wide[name] != narrow[name]] == [
        f"{FOLDER}/warc/CC-MAIN-20260601000000-00001.warc.gz"
    ]


# ------------------------------------------------------------------ in a bucket


@pytest.mark.parametrize("store_server", ["s3"], indirect=True)
def test_a_bucket_gives_the_same(store_server, crawl, monkeypatch):
    import store_server as faults

    for name, value in faults.environment(store_server.endpoint).items():
        monkeypatch.setenv(name, value)
    store_server.reset()
    for path in crawl.rglob("*"):
        if path.is_file():
            upload(path, f"{store_server.root}/crawl/{path.relative_to(crawl).as_posix()}")
    store_server.faults.append(faults.Fault(faults.refuse(503, "SlowDown"), every=3, times=4))
    for parameters in (
        {"where": f"{ICELANDIC} AND 2 = 2"},
        {"format": "wet", "files": 2},
        {"format": "wat", "files": 2},
    ):
        rows, dead, _ = read(f"{store_server.root}/crawl", **parameters)
        here, dead_here, _ = read(crawl, **parameters)
        assert without_place(rows) == without_place(here) and without_place(dead) == without_place(dead_here)


def test_a_bucket_of_the_hub_gives_the_same_and_no_more_is_fetched_than_is_meant(crawl, monkeypatch):
    pytest.importorskip("huggingface_hub._buckets")
    with serving(crawl, BucketHandler) as hub:
        monkeypatch.setitem(fsspec.config.conf, "hf", {"endpoint": hub.url.rstrip("/"), "token": False})
        for parameters in (
            {"where": f"{ICELANDIC} AND 3 = 3"},
            {"format": "wet", "files": 2},
            {"format": "wat", "files": 2},
        ):
            rows, dead, _ = read("hf://buckets/org/crawl", **parameters)
            here, dead_here, _ = read(crawl, **parameters)
            assert without_place(rows) == without_place(here) and without_place(dead) == without_place(dead_here)
            reader = CommoncrawlReader(crawl=CRAWL, **parameters)
            asked = [part for _, path, part in hub.requests if path.endswith(".warc.gz")]
            lengths = [stop - start + 1 for part in asked for start, stop in [map(int, part[6:].split("-"))]]
            files = files_at(reader, ["hf://buckets/org/crawl"])
            if parameters.get("where"):
                assert sum(lengths) <= int(_selections.notes_of(files[0].beside[0].path)[_selections.TRANSFER])
