import pytest
from reading import briefly, packed, read_all, save, warc

from corpusmill.read.wet import WetReader


@pytest.mark.parametrize("how", ["", "gz", "zst"])
def test_conversion_records_are_documents(tmp_path, how):
    made = [
        warc("warcinfo", b"software: made", None),
        warc("conversion", "Der Fluß läuft.".encode(), WARC_Identified_Content_Language="deu"),
        warc("conversion", b"caf\xe9 \xff\xfe latte", "http://made.org/b"),
        warc("conversion", b" \n\t"),
        warc("conversion", b"x" * 2000),
        warc("metadata", b"{}"),
    ]
    rows, dead, counts = read_all(WetReader(max_mb=0.001), save(tmp_path, "a.warc.wet", packed(made, how)))
    assert [row["text"] for row in rows] == ["Der Fluß läuft.", "caf\ufffd \ufffd\ufffd latte"]
    assert '"warc_languages":"deu"' in rows[0]["metadata"]
    assert [row["url"] for row in rows] == ["http://made.org/", "http://made.org/b"]
    assert [(letter["kind"], letter["expected"]) for letter in dead] == [("empty_text", True), ("too_large", True)]
    assert dict(counts.skipped) == {"warc_warcinfo": 1, "warc_metadata": 1}


def test_pieces_give_the_same_records_as_one_piece(tmp_path):
    made = [warc("conversion", b"text %d " % i * 20) for i in range(50)]
    file = save(tmp_path, "a.warc.wet.gz", packed(made, "gz"))
    together = read_all(WetReader(), file)[0]
    assert len(together) == 50 and read_all(WetReader(), file, target=700)[0] == together


def test_a_truncated_record_is_not_a_document(tmp_path):
    data = packed([warc("conversion", b"one"), warc("conversion", b"two, and more")], "gz")
    rows, dead, _ = read_all(WetReader(), save(tmp_path, "a.warc.wet.gz", data[:-15]))
    assert [row["text"] for row in rows] == ["one"]
    assert [kind for _, kind, _ in briefly(dead)] == ["truncated"]
