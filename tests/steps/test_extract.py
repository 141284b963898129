import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import docs
from corpusmill.errors import DocumentError, MissingExtraError, RecipeError
from corpusmill.formats.charset import codec, decode
from corpusmill.schema import DOCUMENT
from corpusmill.steps import find
from corpusmill.steps.extract import trafilatura as trafilatura_step
from corpusmill.steps.extract._page import depth
from corpusmill.steps.extract.resiliparse import Resiliparse
from corpusmill.steps.extract.trafilatura import Trafilatura

STORY = "The river runs past the mill and turns the wheel, as it has for three hundred years. "
PAGE = f"""<html><head><title>The  Mill &amp; more</title></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/about">About us</a></li></ul></nav>
<main><article><h1>The mill</h1><p>{STORY * 3}</p><p>{STORY * 2}</p><ul><li>wheel</li></ul>
<img alt="a wheel" src="w.png"></article></main>
<footer><a href="/imprint">Imprint</a> Copyright</footer></body></html>"""


def pages(*raw: bytes | None, charset=None):
    return docs(*[None] * len(raw), raw=list(raw), charset=charset or [None] * len(raw))


def text(step, raw: bytes | str, charset=None) -> str | None:
    raw = raw.encode() if isinstance(raw, str) else raw
    return step.transform(pages(raw, charset=[charset]))["text"][0].as_py()


def test_the_text_of_a_page_is_its_main_content():
    extracted = text(Resiliparse(), PAGE)
    assert extracted.startswith("The mill") and STORY.strip() in extracted
    assert "About us" not in extracted and "Imprint" not in extracted
    everything = text(Resiliparse(main_content=False), PAGE)
    assert "About us" in everything and "Imprint" in everything and "• wheel" in everything
    assert "a wheel" not in everything
    assert "a wheel" in text(Resiliparse(main_content=False, alt_texts=True), PAGE)
    assert "• wheel" not in text(Resiliparse(main_content=False, list_bullets=False), PAGE)
    assert "/imprint" in text(Resiliparse(main_content=False, links=True), PAGE) and "/imprint" not in everything


def test_documents_with_text_pass_untouched_and_pages_are_used_up():
    batch = docs("has text", None, None, raw=[None, PAGE.encode(), b"<p> </p>"], charset=["x", "utf-8", "utf-8"])
    out = Resiliparse().transform(batch)
    assert out.schema == DOCUMENT and out["id"] == batch["id"]
    assert out["text"][0].as_py() == "has text" and "mill" in out["text"][1].as_py() and out["text"][2].as_py() is None
    assert out["raw"].null_count == 3 and out["charset"].to_pylist() == ["x", None, None]
    only_text = docs("a", None)
    assert Resiliparse().transform(only_text) is only_text
    assert Resiliparse().transform(docs()) is not None


def test_all_text_is_taken_where_main_content_is_too_short():
    page = "<html><body><nav>Just a menu</nav></body></html>"
    assert text(Resiliparse(), page) == "Just a menu"
    assert "Imprint" in text(Resiliparse(least=10_000), PAGE)


def test_the_title_is_kept_if_asked_for():
    batch = docs(None, None, "t", raw=[PAGE.encode(), b"<p>none", None], metadata=['{"b":1}', None, '{"c":2}'])
    assert Resiliparse().transform(batch)["metadata"] == batch["metadata"]
    first, second, third = Resiliparse(title=True).transform(batch)["metadata"].to_pylist()
    assert json.loads(first) == {"b": 1, "title": "The Mill & more"} and (second, third) == (None, '{"c":2}')


RUSSIAN, JAPANESE, FRENCH = (
    "Река течёт мимо мельницы. " * 8,
    "川は水車小屋のそばを流れている。" * 8,
    "Été à l’œuvre: déjà vu. " * 8,
)


@pytest.mark.parametrize(
    ("raw", "charset", "expected"),
    [
        (RUSSIAN.encode(), None, RUSSIAN),
        (RUSSIAN.encode(), "iso-8859-1", RUSSIAN),  # declared wrong, and plainly UTF-8
        (RUSSIAN.encode("cp1251"), "windows-1251", RUSSIAN),
        (RUSSIAN.encode("cp1251"), None, RUSSIAN),  # guessed
        (RUSSIAN.encode("cp1251"), "utf-8", RUSSIAN),  # declared wrong
        (RUSSIAN.encode("koi8-r"), '"KOI8-R"', RUSSIAN),
        (b'<meta charset="cp1251">' + RUSSIAN.encode("cp1251"), None, '<meta charset="cp1251">' + RUSSIAN),
        (b'<meta charset="cp1251">' + RUSSIAN.encode("koi8-r"), "koi8-r", '<meta charset="cp1251">' + RUSSIAN),
        (b'<?xml encoding="koi8-r"?>' + RUSSIAN.encode("koi8-r"), "nonsense", '<?xml encoding="koi8-r"?>' + RUSSIAN),
        (FRENCH.encode("cp1252"), "ISO-8859-1", FRENCH),  # as browsers read the label
        (JAPANESE.encode("shift_jis"), "x-sjis", JAPANESE),
        (JAPANESE.encode("euc_jp"), None, JAPANESE),
        (JAPANESE.encode("iso2022_jp"), None, JAPANESE),
        (b"\xef\xbb\xbf" + RUSSIAN.encode(), "koi8-r", RUSSIAN),
        (RUSSIAN.encode("utf-16"), "utf-8", RUSSIAN),
        ("<html>plain".encode("utf-16-le"), None, "<html>plain"),
        ("<html>plain".encode("utf-16-be"), "utf-8", "<html>plain"),
        (RUSSIAN.encode()[:-3], "utf-8", RUSSIAN[:-3] + "\ufffd"),  # cut inside a character
        (
            "naïve café ".encode() * 40 + b"\xe9 \xe8",
            None,
            "naïve café " * 40 + "\ufffd \ufffd",
        ),  # two bad bytes of 162
        (b"", None, ""),
        (b"\xff\xfe", None, ""),
        (b"ascii", "hex", "ascii"),
    ],
)
def test_the_characters_of_a_page(raw, charset, expected):
    assert decode(raw, charset) == expected


@settings(max_examples=150)
@given(
    st.binary(max_size=200),
    st.sampled_from([None, "utf-8", "gbk", "big5", "utf-7", "utf-16", "unicode_escape", "base64", "\0", "é"]),
)
def test_any_bytes_have_characters(raw, charset):
    assert decode(raw, charset).encode() is not None


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("latin1", "cp1252"),
        ("GB2312", "gbk"),
        (" UTF8 ", "utf-8"),
        ("bogus", None),
        ("rot13", None),
        ("", None),
        (None, None),
    ],
)
def test_labels_mean_what_they_mean_in_browsers(label, name):
    assert codec(label) == name


@settings(max_examples=60)
@given(
    st.lists(
        st.sampled_from(
            ["<div>", "</div>", "<p>", "text", "<", ">", "<!--", "<a href='", "&amp;", "\0", "<table>", "<b"]
        )
    )
)
def test_no_page_makes_extraction_fail(parts):
    page = "".join(parts).encode()
    assert text(Resiliparse(), page) is None or text(Resiliparse(), page).strip()


def test_deep_pages_give_all_their_text_in_time():
    deep = "<html><body><nav>menu</nav>" + "<div>" * 30_000 + "deep" + "</div>" * 30_000
    assert text(Resiliparse(), deep) == "menu\ndeep"


def test_end_tags_of_nothing_do_not_hide_how_deep_a_page_is():
    assert text(Resiliparse(), "<html><body>" + "<b></i>" * 4_500 + "deep") == "deep"
    for stray in ("</i>", "<hr>", "</h1>"):
        with pytest.raises(DocumentError, match="the page nests 20002 elements deep"):
            Resiliparse().page_text(b"<html><body>" + b"<span>" * 20_000 + stray.encode() * 20_000, None)


def test_a_page_of_very_many_tags_is_refused():
    with pytest.raises(DocumentError, match="the page has 500003 tags, more than 500000"):
        Resiliparse().page_text(b"<html><body><p>" + b"<b>" * 500_000, None)


def test_forms_with_thousands_of_choices_do_not_matter():
    form = "<select>" + "<option>x</option>" * 30_000 + "</select>"
    assert text(Resiliparse(), PAGE.replace("<footer>", form + "<footer>")) == text(Resiliparse(), PAGE)


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("x" * 1_000_001, r"the page has 1\.0 MB, more than max_mb=1"),
        ("<div " + " ".join(f'a{i}="v"' for i in range(9000)) + ">x", "one tag of the page has 9000 attributes"),
        ("<div " + "/".join(f"a{i}" for i in range(9000)) + ">x", "one tag of the page has 9000 attributes"),
        ("<div " + "".join(f'a{i}=">"' for i in range(9000)) + ">x", "one tag of the page has 9000 attributes"),
        ("".join(f"<body a{i}>" for i in range(9000)) + ">x", "one tag of the page has 9000 attributes"),
        (
            ("<p " + " ".join(f"a{i}" for i in range(3000)) + ">") * 3,
            "the tags of the page have so many attributes, up to",
        ),
        ("<p>" + "".join(f"<i a{i}>" for i in range(1200)) + "</p><p>x" * 1000, "the page leaves so many formatting"),
        ("<select>" + "<option>x" * 9000, "the page has 9000 <option> tags outside a closed <select>"),
    ],
)
@pytest.mark.parametrize("step", [Resiliparse(max_mb=1), Trafilatura(max_mb=1)])
def test_a_page_beyond_the_limits_is_a_document_error_that_names_it(step, page, message):
    batch = docs(None, None, raw=[PAGE.encode(), page.encode()], url=[None, "http://made.org/x"])
    with pytest.raises(DocumentError, match=rf"document {batch['id'][1]} \(http://made.org/x\): {message}"):
        step.transform(batch.slice(1))


@pytest.mark.parametrize(
    ("html", "most"),
    [
        ("", 0),
        ("<p><p><p>", 0),
        ("<div><DIV></div><b>", 2),
        ("</div></div><a>", 1),
        ("<b></i>" * 3, 3),
        ("<b><i></b></i>", 2),
        ("<br>" * 9, 0),
        ("<a/><a/>", 2),
    ],
)
def test_depth_is_an_upper_bound_read_from_the_tags(html, most):
    assert depth(html) == most


def test_bad_parameters_fail_when_the_step_is_made():
    for make in (lambda: Resiliparse(max_mb=0), lambda: Resiliparse(least=-1), lambda: Trafilatura(favour="both")):  # type: ignore[arg-type]
        with pytest.raises(RecipeError):
            make()


def test_both_are_found_by_name():
    assert find("extract/resiliparse") is Resiliparse and find("extract/trafilatura") is Trafilatura


def test_trafilatura_names_its_extra_if_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    trafilatura_step._library.cache_clear()
    with pytest.raises(MissingExtraError, match=r"pip install 'corpusmill\[trafilatura\]'"):
        Trafilatura().transform(pages(PAGE.encode()))


class TestWithTrafilatura:
    @pytest.fixture(autouse=True)
    def _installed(self):
        pytest.importorskip("trafilatura", exc_type=ImportError)
        trafilatura_step._library.cache_clear()

    def test_the_text_of_a_page_is_its_main_content(self):
        extracted = text(Trafilatura(), PAGE)
        assert STORY.strip() in extracted and "Imprint" not in extracted and "About us" not in extracted

    def test_resiliparse_helps_where_nothing_is_found(self):
        page = "<html><body><nav>Just a menu</nav></body></html>"
        assert text(Trafilatura(), page) == text(Resiliparse(), page) == "Just a menu"
        deep = "<div>" * 3000 + STORY + "</div>" * 3000
        assert text(Trafilatura(), deep) == text(Resiliparse(), deep) == STORY.strip()
        many = PAGE.replace("<footer>", "<p>x</p>" * 9 + "<footer>")
        assert text(Trafilatura(max_tags=10), many) == text(Resiliparse(), many)

    @settings(max_examples=25)
    @given(st.text(alphabet="<>/div pab='\n&;\0é", max_size=60))
    def test_no_page_makes_extraction_fail(self, page):
        extracted = text(Trafilatura(), page)
        assert extracted is None or extracted.strip()


def test_a_table_for_the_layout_gives_lines_and_one_of_data_its_rows():
    pytest.importorskip("trafilatura")
    parts = [
        f"The ferry number {n} leaves the harbour at seven, and is back before noon with the post." for n in range(6)
    ]
    layout = "".join(f'<tr><td width="20%"></td><td>{part}</td></tr>' for part in parts)
    data = "<tr><th>ferry</th><th>leaves</th></tr><tr><td>first</td><td>seven</td></tr>"
    text = Trafilatura().html_text(f"<html><body><table>{layout}</table><table>{data}</table></body></html>")
    lines = text.splitlines()
    assert [line for line in lines if line.startswith("The ferry")] == parts
    assert not [line for line in lines if line.endswith("|") and "harbour" in line]
