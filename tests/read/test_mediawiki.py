"""Exports of MediaWiki: pages, namespaces, histories, bz2 in many streams, damage."""

import bz2
import gzip
import itertools
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import briefly, read_all, save

from corpusmill.errors import RecipeError
from corpusmill.read.mediawiki import MediawikiReader
from growth import assert_linear

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="de">
  <siteinfo><sitename>Made</sitename><dbname>madewiki</dbname><base>https://made.org/wiki/Start</base>
  <namespaces><namespace key="0" /><namespace key="6">Datei</namespace><namespace key="14">Kategorie</namespace>
  </namespaces></siteinfo>
"""
TAIL = "</mediawiki>\n"


def revision(text: str, number: int = 1, model: str = "wikitext") -> str:
    return (
        f"    <revision><id>{number}</id><timestamp>2024-05-0{number}T00:00:00Z</timestamp><model>{model}</model>"
        f'<text xml:space="preserve">{escape(text)}</text></revision>\n'
    )


def wiki_page(number: int, *revisions: str, ns: int = 0, more: str = "") -> str:
    inner = "".join(revisions) or revision(f"The river {number} runs & runs.")
    return f"  <page><title>River {number}</title><ns>{ns}</ns><id>{number}</id>{more}\n{inner}  </page>\n"


def export(*pages: str) -> bytes:
    return (HEAD + "".join(pages) + TAIL).encode()


def streams(*pages: str, each: int = 2) -> bytes:
    """As in `multistream`: the head, so many pages, the tail, each compressed alone."""
    groups = ["".join(pages[at : at + each]) for at in range(0, len(pages), each)]
    return b"".join(bz2.compress(part.encode()) for part in [HEAD, *groups, TAIL])


def texts(rows):
    return [row["raw"].decode() for row in rows]


def test_a_page_has_its_title_address_date_and_number(tmp_path):
    rows, dead, _ = read_all(MediawikiReader(), save(tmp_path, "a.xml", export(wiki_page(7))))
    assert not dead and rows[0]["text"] is None
    assert rows[0]["raw"] == b"The river 7 runs & runs." and rows[0]["date"] == "2024-05-01T00:00:00Z"
    assert rows[0]["url"] == "https://made.org/wiki/River_7"
    assert rows[0]["metadata"] == (
        '{"language":"de","namespace":"0","page_id":"7","revision_id":"1","title":"River 7","wiki":"madewiki"}'
    )


def test_what_is_no_article_is_counted_by_kind(tmp_path):
    pages = [
        wiki_page(1, ns=1),
        wiki_page(2, more='<redirect title="River 1" />'),
        wiki_page(3, revision("#REDIRECT [[River 1]]")),
        wiki_page(4, revision(" ")),
        wiki_page(5, revision(".a {}", model="css")),
        wiki_page(6, revision("x" * 2000)),
        "<page><title>Fish & chips</title><revision></revision></page>",
        '<page><title>a</title><!DOCTYPE a [<!ENTITY b "c">]><revision></revision></page>',
        wiki_page(7),
    ]
    rows, dead, counts = read_all(MediawikiReader(max_mb=0.001), save(tmp_path, "a.xml", export(*pages)))
    assert [row["url"] for row in rows] == ["https://made.org/wiki/River_7"]
    assert counts.skipped == {"other_namespace": 1, "redirect": 2}
    kinds = [(kind, expected) for _, kind, expected in briefly(dead)]
    assert kinds == [
        ("empty_text", True),
        ("not_wikitext", True),
        ("too_large", True),
        ("bad_xml", False),
        ("bad_xml", False),
    ]


def test_files_and_categories_have_the_names_that_every_wiki_knows(tmp_path):
    page = wiki_page(1, revision("[[datei:a.jpg]] [[ Kategorie :Rivers]] [[Dateien]]"))
    rows, _, _ = read_all(MediawikiReader(), save(tmp_path, "a.xml", export(page)))
    assert texts(rows) == ["[[File:a.jpg]] [[Category:Rivers]] [[Dateien]]"]


def test_of_a_history_the_latest_revision_or_all(tmp_path):
    file = save(tmp_path, "a.xml", export(wiki_page(1, revision("old", 1), revision("new", 2)), wiki_page(2)))
    assert texts(read_all(MediawikiReader(), file)[0]) == ["new", "The river 2 runs & runs."]
    rows, _, _ = read_all(MediawikiReader(revisions="all"), file)
    assert texts(rows) == ["old", "new", "The river 2 runs & runs."] and len({row["id"] for row in rows}) == 3


PAGES = [wiki_page(number, revision(f"{number} " * (number % 7 * 9 + 1))) for number in range(1, 40)]
ONE_STREAM = bz2.compress(export(*PAGES))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.xml", export(*PAGES)),
        ("a.xml.bz2", streams(*PAGES)),
        ("a.xml.bz2", ONE_STREAM),
        ("a.xml.gz", gzip.compress(export(*PAGES))),
    ],
    ids=["plain", "multistream", "bz2", "gzip"],
)
@pytest.mark.parametrize("target", [100, 333, 1000, 5000])
def test_the_pieces_of_a_file_give_what_the_file_gives(tmp_path, name, data, target):
    file = save(tmp_path, name, data)
    rows, dead, _ = read_all(MediawikiReader(), file)
    assert len(rows) == len(PAGES) and not dead
    positions = [row["position"] for row in rows]
    assert positions == sorted(set(positions))
    assert read_all(MediawikiReader(), file, target=target)[0] == rows


@settings(max_examples=15, deadline=None)
@given(cuts=st.sets(st.integers(1, len(export(*PAGES[:9])) - 1), max_size=6), target=st.integers(60, 2000))
def test_streams_may_begin_anywhere_in_the_text(tmp_path_factory, cuts, target):
    data = export(*PAGES[:9])
    parts = [data[a:b] for a, b in itertools.pairwise([0, *sorted(cuts), len(data)])]
    file = save(tmp_path_factory.mktemp("cuts"), "a.xml.bz2", b"".join(map(bz2.compress, parts)))
    rows, dead, _ = read_all(MediawikiReader(), file)
    assert len(rows) == 9 and not dead
    assert read_all(MediawikiReader(), file, target=target)[0] == rows


@pytest.mark.parametrize("target", [1 << 30, 300])
def test_a_damaged_stream_costs_its_own_pages(tmp_path, target):
    good = streams(*PAGES)
    starts = [at for at in range(len(good)) if good.startswith(b"BZh91AY&SY", at)]
    hurt = starts[5] + 40
    file = save(tmp_path, "a.xml.bz2", good[:hurt] + b"\0\0\0\0" + good[hurt + 4 :])
    rows, dead, _ = read_all(MediawikiReader(), file, target=target)
    assert len(rows) == len(PAGES) - 2 and briefly(dead) == [(starts[5], "damaged", False)]


def test_a_file_that_ends_early_says_so(tmp_path):
    whole = export(*PAGES[:3])
    rows, dead, _ = read_all(MediawikiReader(), save(tmp_path, "a.xml", whole[: whole.rindex(b"<revision>") + 30]))
    assert len(rows) == 2 and [kind for _, kind, _ in briefly(dead)] == ["truncated"]
    file = save(tmp_path, "b.xml.bz2", streams(*PAGES[:6])[:-200])
    assert "truncated" in [kind for _, kind, _ in briefly(read_all(MediawikiReader(), file)[1])]
    assert briefly(read_all(MediawikiReader(), save(tmp_path, "c.xml", b""))[1]) == [(0, "empty_file", True)]


def test_a_page_that_never_ends_takes_no_memory(tmp_path):
    data = (
        HEAD.encode() + b"<page><title>a</title><revision>" + b"x" * (8 << 20) + b"</revision></page>" + TAIL.encode()
    )
    _, dead, _ = read_all(MediawikiReader(max_mb=1), save(tmp_path, "a.xml.bz2", bz2.compress(data)))
    assert briefly(dead)[0][1:] == ("too_large", True)


def test_parameters_are_checked():
    with pytest.raises(RecipeError, match='revisions must be one of latest, all, got "lates"; did you mean "latest"'):
        MediawikiReader(revisions="lates")  # type: ignore[arg-type]
    with pytest.raises(RecipeError, match="name one at least"):
        MediawikiReader(namespaces=())


@pytest.mark.parametrize(
    "make",
    [
        lambda size: b"<mediawiki>" + b"<siteinfo>" * (size // 10),
        lambda size: b"<mediawiki " * (size // 11),
        lambda size: b"<page><revision></revision></page>" * (size // 34),
        lambda size: export(wiki_page(1, revision("[[" * (size // 2)))),
        lambda size: export(wiki_page(1, revision("[[ " * (size // 3)))),
        lambda size: export(wiki_page(1, revision("[[Datei" * (size // 7)))),
        lambda size: export(wiki_page(1, revision("[[" + "_" * size))),
    ],
)
def test_hostile_exports_take_linear_time(tmp_path, make):
    assert_linear(lambda data: read_all(MediawikiReader(), save(tmp_path, "a.xml", data)), make, 1 << 16)


def test_a_wiki_has_as_many_names_for_a_namespace_as_are_looked_for(tmp_path):
    many = "".join(f'<namespace key="6">Datei{number}</namespace>' for number in range(5000))
    data = export(wiki_page(1, revision("[[Datei:a.jpg]] [[datei3 : b.jpg]] [[Datei4000:c]]"))).replace(
        b'<namespace key="14">', f'{many}<namespace key="14">'.encode()
    )
    rows, _, _ = read_all(MediawikiReader(), save(tmp_path, "a.xml", data))
    assert texts(rows) == ["[[File:a.jpg]] [[File: b.jpg]] [[Datei4000:c]]"]
