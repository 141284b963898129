import json

import orjson
import pyarrow.parquet as pq
import pytest
from reading import briefly, http, packed, read_all, save, warc

import corpusmill
from corpusmill.read import WarcReader, WatReader

URL = "http://made.org/a/"
HEAD = {
    "Title": "Ferries &amp;\n  tides",
    "Base": "/ships/",
    "Metas": [{"name": "Description", "content": "When they\tleave."}, {"name": "robots", "content": "noai"}],
    "Link": [{"path": "LINK@/href", "url": "/a", "rel": "canonical"}],
    "Scripts": [{"path": "SCRIPT@/src", "url": "/a.js"}],
}
LINKS = [
    {"path": "IMG@/src", "url": "ship.png", "alt": "A ship"},
    {"path": "A@/href", "url": "/b?x=1&amp;y=2", "text": "Fares and\u00a0times", "rel": "next"},
    {"path": "A@/href", "url": "#top"},
    {"path": "FORM@/action", "url": "/find", "method": "get"},
]


def about(page=None, kind="response", status="200", headers=None, url=URL, **more):
    """A record of a WAT file; `page` is what it says of HTML."""
    answer = {
        "Response-Message": {"Status": status},
        "Headers": headers or {"Content-Type": "text/html; charset=utf-8"},
    }
    answer |= {} if page is None else {"HTML-Metadata": page}
    header = {
        "WARC-Type": kind,
        "WARC-Target-URI": url,
        "WARC-Date": "2026-06-01T10:00:00Z",
        "WARC-Record-ID": "<urn:1>",
    }
    envelope = {"WARC-Header-Metadata": header, "Payload-Metadata": {"HTTP-Response-Metadata": answer}}
    place = {"Filename": "CC-0.warc.gz", "Offset": "17", "Gzip-Metadata": {"Deflate-Length": "900"}}
    return record(json.dumps({"Container": place, "Envelope": envelope} | more).encode())


def record(body, url=URL):
    return warc("metadata", body, url, Content_Type="application/json")


def titled(number):
    return about({"Head": {"Title": f"Page {number}"}, "Links": []}, url=f"http://made.org/{number}")


@pytest.mark.parametrize("how", ["", "gz", "zst"])
def test_title_description_and_texts_of_links_are_the_text_and_the_rest_is_metadata(tmp_path, how):
    made = [
        warc("warcinfo", b"software: made", None),
        about(kind="request"),
        about({"Head": HEAD, "Links": LINKS}, headers={"X-Robots-Tag": ["noindex", "noai"], "Set-Cookie": "a"}),
        about(kind="metadata"),
        about(kind="revisit"),
    ]
    ((row,), dead, counts) = read_all(WatReader(), save(tmp_path, "a.warc.wat", packed(made, how)))
    assert row["text"] == "Ferries & tides\nWhen they leave.\nA ship\nFares and times"
    assert (row["url"], row["date"], row["raw"], row["charset"]) == (URL, "2026-06-01T10:00:00Z", None, None)
    assert orjson.loads(row["metadata"]) == {
        "title": "Ferries & tides", "description": "When they leave.", "base": "/ships/", "metas": HEAD["Metas"],
        "link": HEAD["Link"], "links": LINKS, "warc_filename": "CC-0.warc.gz", "warc_offset": 17, "warc_length": 900,
        "warc_record_id": "<urn:1>", "http_x_robots_tag": "noindex\nnoai",
    }  # fmt: skip
    assert not dead and counts.skipped == {"warc_warcinfo": 1, "warc_request": 1, "warc_metadata": 1, "warc_revisit": 1}


@pytest.mark.parametrize(
    ("head", "lines"),
    [
        ({"Metas": [{"property": "og:title", "content": "O"}, {"property": "og:description", "content": "D"}]}, ["O", "D"]),
        ({"Title": "T", "Metas": [{"name": "description"}, {"name": "twitter:description", "content": "X"}]}, ["T", "X"]),
        ({"Metas": [{"name": "description", "content": "1"}, {"name": "description", "content": "2"}]}, ["1"]),
        ({"Title": ["T"], "Metas": {"name": "description"}, "Base": 3}, []),
        ({"Title": None, "Metas": [None, 1, "x", {"name": 1, "content": 2}]}, []),
    ],
)  # fmt: skip
def test_a_head_that_lacks_something_gives_what_it_has(tmp_path, head, lines):
    ((row,), _, _) = read_all(WatReader(), save(tmp_path, "a.wat", about({"Head": head, "Links": [*LINKS, None, 3]})))
    assert row["text"].splitlines() == [*lines, "A ship", "Fares and times"]


def test_a_record_without_a_document_says_why(tmp_path):
    deep = b'{"Envelope": ' + b"[" * 1100 + b"]" * 1100 + b"}"
    made = [
        about({"Head": {}, "Links": []}),
        about(headers={"content-type": "application/pdf"}),
        about({"Head": HEAD}, status="404"),
        record(b"{"),
        record(b"[1]"),
        record(deep),
        record(b'{"Envelope": 3}'),
        about({"Head": HEAD}, more="x" * 5000),
        warc("metadata", b"fetchTimeMs: 3"),
        warc("response", http(b"<p>")),
    ]
    rows, dead, counts = read_all(WatReader(max_mb=0.004), save(tmp_path, "a.wat.gz", packed(made, "gz")))
    assert rows == [] and [(kind, expected) for _, kind, expected in briefly(dead)] == [
        ("empty_text", True), ("not_html", True), ("http_status", True), ("bad_json", False), ("bad_json", False),
        ("too_deep", False), ("too_large", True),
    ]  # fmt: skip
    assert dead[1]["reason"] == "application/pdf" and all(letter["url"] == URL for letter in dead)
    assert counts.skipped == {"warc_unknown": 1, "warc_metadata": 1, "warc_response": 1}


def test_texts_that_were_cut_within_a_character_are_read(tmp_path):
    body = about({"Head": {"Title": "cut \ud83d"}}).replace(b"\\\\ud83d", b"\\ud83d")
    ((row,), dead, _) = read_all(WatReader(), save(tmp_path, "a.wat", body))
    assert row["text"] == "cut \ufffd" and dead == []


def test_pieces_give_the_same_records_as_one_piece(tmp_path):
    file = save(tmp_path, "a.warc.wat.gz", packed([titled(number) for number in range(50)], "gz"))
    together = read_all(WatReader(), file)[0]
    assert len(together) == 50 and read_all(WatReader(), file, target=700)[0] == together


def test_a_truncated_record_is_not_a_document(tmp_path):
    data = packed([titled(1), titled(2)], "gz")
    rows, dead, _ = read_all(WatReader(), save(tmp_path, "a.warc.wat.gz", data[:-15]))
    assert [row["text"] for row in rows] == ["Page 1"] and [kind for _, kind, _ in briefly(dead)] == ["truncated"]


def test_columns_are_made_of_what_is_known(tmp_path):
    save(tmp_path, "a.warc.wat.gz", packed([about({"Head": HEAD, "Links": LINKS}), titled(1)], "gz"))
    steps = [
        {"annotate/metadata": {"texts": {"title": "title", "description": "description"}}},
        {"filter/keep_where": {"condition": "metadata.description is not null"}},
    ]
    recipe = corpusmill.Recipe(
        read={"wat": str(tmp_path / "a.warc.wat.gz")},
        steps=steps,
        write={"parquet": {"signals": ["metadata.title"]}},
    )
    corpusmill.run(recipe, folder=tmp_path / "run", progress=False, workers=1)
    (file,) = (tmp_path / "run/output/parquet").glob("*.parquet")
    (row,) = pq.read_table(file).to_pylist()
    assert row["url"] == URL and orjson.loads(row["metadata"])["links"] == LINKS
    assert row["signals"] == {"metadata.title": "Ferries & tides"}


@pytest.mark.parametrize(("reader", "told"), [("warc", "`wat`"), ("wet", "`wat`")])
def test_another_reader_of_archives_says_which_one_reads_these_files(tmp_path, corpusmill, reader, told):
    save(tmp_path, "a.gz", packed([warc("warcinfo", b"", None), titled(1), titled(2)], "gz"))
    recipe = tmp_path / "r.yaml"
    steps = "steps: [extract/blocks]\n" if reader == "warc" else ""
    recipe.write_text(f"read: {{{reader}: {tmp_path}/a.gz}}\n{steps}write: jsonl\n")
    status, out, err = corpusmill("check", recipe)
    expected = f"of the first 3 records, none is a document: warc_metadata 2, warc_warcinfo 1. {told} reads such files"
    assert status == 0 and expected in out + err
    assert read_all(WarcReader(), save(tmp_path, "b", titled(1)))[2].skipped == {"warc_metadata": 1}
