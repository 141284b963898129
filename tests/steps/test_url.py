import doctest
import gzip
import hashlib
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import docs
from corpusmill.assets import DATA_FOLDER, locate, manifest
from corpusmill.errors import AssetError, RecipeError
from corpusmill.steps.filter import _lists
from corpusmill.steps.filter.url import FilterUrl
from corpusmill.text import addresses
from slow_addresses import domains, pages, signals, site, suffixes


def judge(step: FilterUrl, *urls: str | None) -> list[str | None]:
    batch = docs(*["text"] * len(urls), url=list(urls))
    return step.reasons(batch, step.signals(batch)).to_pylist()


def found(step: FilterUrl, signal: str, url: str | None) -> object:
    return step.signals(docs("text", url=[url]))[signal].to_pylist()[0]


BARE: dict[str, Any] = {"hard_words": (), "sub_words": (), "soft_words": ()}


@pytest.mark.parametrize(
    ("url", "matched"),
    [
        ("http://example.com/", "example.com"),
        ("https://EXAMPLE.com:8080", "example.com"),
        ("http://a.b.example.com/x", "example.com"),
        ("http://me@example.com./x", "example.com"),
        ("example.com/page", "example.com"),
        ("http://badexample.com/", None),
        ("http://example.com.org/", None),
        ("http://other.org/example.com", None),
        ("http://10.0.0.7/", "10.0.0.7"),
        ("http://10.0.0.7:8080/", "10.0.0.7"),
        ("http://[2001:DB8::1]:80/x", "[2001:db8::1]"),
        ("http://bücher.example/", "xn--bcher-kva.example"),
        ("http://www.XN--BCHER-KVA.example:443/", "xn--bcher-kva.example"),
        ("http://user:secret@www.example.com:8080/x", "example.com"),
        ("ftp://example.com", "example.com"),
        ("//example.com/x", "example.com"),
        ("http://user@/example.com", None),
        ("http://example.com@other.org/", None),
        ("", None),
        (None, None),
    ],
)
def test_a_listed_domain_means_itself_and_its_subdomains(url, matched):
    step = FilterUrl(block_domains=("example.com", "10.0.0.7", "bücher.example", "0.7", "[2001:db8::1]"), **BARE)
    assert found(step, "block_domains", url) == matched
    assert judge(step, url) == ["block_domains" if matched else None]


def test_a_listed_public_suffix_means_everything_below_it():
    """As the UT1 lists mean it, some of which hold "ac.uk"."""
    step = FilterUrl(block_domains=("ac.uk",), allow_domains=("edu",), **(BARE | {"hard_words": ("bad",)}))
    dropped_for = judge(
        step, "http://www.college.ac.uk/", "http://shop.co.uk/", "http://mit.edu/bad", "http://edu.org/bad"
    )
    assert dropped_for == ["block_domains", None, None, "hard_words"]


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("http://www.shop.Example.co.uk:80/x", "example.co.uk"),
        ("http://me.github.io/", "me.github.io"),
        ("https://bücher.example/", "xn--bcher-kva.example"),
        ("http://a.b.xn--55qx5d.cn/", "b.xn--55qx5d.cn"),
        ("http://host.nosuchsuffix/", "host.nosuchsuffix"),
        ("http://co.uk/", None),
        ("http://localhost/", None),
        ("http://192.0.2.1/", None),
        ("http://[::1]/", None),
        ("", None),
        (None, None),
    ],
)
def test_the_registered_domain_is_kept_of_every_url(url, domain, monkeypatch):
    monkeypatch.setattr("socket.socket", None)  # nothing is looked up
    assert found(FilterUrl(), "domain", url) == domain
    assert found(FilterUrl(allow_domains=(domain,)) if domain else FilterUrl(), "domain", url) == domain


def test_the_longest_listed_domain_is_reported():
    step = FilterUrl(block_domains=("example.com", "b.example.com"), **BARE)
    assert found(step, "block_domains", "http://a.b.example.com/") == "b.example.com"


@pytest.mark.parametrize(
    ("url", "matched"),
    [
        ("https://www.example.org/~joe", "example.org/~joe"),
        ("https://example.org/~joe/pics/1.html?p=2", "example.org/~joe"),
        ("https://example.org/~joey", None),
        ("https://example.org/", None),
        ("https://example.org/find?q=1#top", "example.org/find?q=1"),
        ("https://example.org/find?q=12", None),
        ("https://example.org/find", None),
    ],
)
def test_a_listed_page_means_everything_below_it(url, matched):
    step = FilterUrl(block_urls=("http://example.org/~joe/", "example.org/find?q=1"), **BARE)
    assert found(step, "block_urls", url) == matched
    assert judge(step, url) == ["block_urls" if matched else None]


@pytest.mark.parametrize(  # the examples of RefinedWeb's table of URL rules, with words of our own
    ("url", "reason"),
    [
        ("http://foo.badword-bar.com/any/bar", "hard_words"),
        ("http://foo.bar/any/BadWord.html", "hard_words"),
        ("http://foobadwordbar.com", None),
        ("http://foosub.wo-rdbar.com/any", "sub_words"),
        ("http://foo.soft1-bar.com/any", None),
        ("http://foo.soft1-bar.com/soft1/soft1", None),  # the same word again says no more
        ("http://foo.soft1-bar.com/any/soft2", "max_soft_words"),
        ("http://foo.com/soft1soft2", None),
    ],
)
def test_words_judge_as_in_refinedweb(url, reason):
    step = FilterUrl(hard_words=("badword",), sub_words=("subword",), soft_words=("soft1", "soft2", "soft3"))
    assert judge(step, url) == [reason]


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://foo.com/two-words", "hard_words"),
        ("http://two.words.com/", "hard_words"),
        ("http://foo.com/two/other/words", None),
        ("http://foo.com/twowords", None),
        ("http://foo.com/xtwo-words", None),
        ("http://foo.com/xfree-stu.ffx", "sub_words"),
        ("http://foo.com/so-soft/soft", "max_soft_words"),
        ("http://foo.com/so/soft", None),
    ],
)
def test_entries_of_several_words_are_found_where_they_follow_one_another(url, reason):
    listed: dict[str, Any] = {
        "hard_words": ("Two Words",),
        "sub_words": ("free stuff",),
        "soft_words": ("so-soft", "soft"),
    }
    assert judge(FilterUrl(**listed, max_soft_words=1 if "so-soft" in url else 2), url) == [reason]


def test_the_word_that_is_reported_is_the_first_of_the_list():
    step = FilterUrl(hard_words=("bbb", "aaa", "bbb"), sub_words=("dd", "cc"), soft_words=())
    assert found(step, "hard_words", "http://x.com/aaa/bbb") == "bbb"
    assert found(step, "sub_words", "http://x.com/ccdd") == "dd"


def test_the_number_of_soft_words_is_a_setting():
    listed = {**BARE, "soft_words": ("soft1", "soft2")}
    both = "http://foo.com/soft1/soft2"
    assert judge(FilterUrl(**listed, max_soft_words=2), both) == [None]
    assert judge(FilterUrl(**listed, max_soft_words=None), both) == [None]
    assert judge(FilterUrl(**listed, max_soft_words=0), "http://foo.com/soft1") == ["max_soft_words"]


def test_an_allowed_domain_is_kept_even_if_another_list_has_it():
    step = FilterUrl(allow_domains=("clinic.example",), block_domains=("example",), hard_words=("porn",))
    assert judge(step, "http://www.clinic.example/porn", "http://clinics.example/") == [None, "block_domains"]


def test_all_that_speaks_against_a_url_is_named():
    step = FilterUrl(
        block_domains=("example.com",), curated_domains=("example.com",), **(BARE | {"hard_words": ("bad",)})
    )
    assert judge(step, "http://example.com/bad") == ["block_domains,curated_domains,hard_words"]


def make_ut1(folder: Path) -> str:
    for name, text in {
        "adult/domains": "# a comment\nbad.example\n\nWorse.example\n",
        "adult/urls": "host.example/~joe\n",
        "phishing/domains": "phish.example\n",
        "press/domains": "news.example\n",
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(text.encode() + b"caf\xe9.example\n")
    return str(folder)


def test_lists_in_the_ut1_layout_are_read_by_category(tmp_path):
    step = FilterUrl(ut1=make_ut1(tmp_path), categories=("adult", "phishing"), **BARE)
    assert judge(step, "http://bad.example", "http://x.worse.example", "http://news.example") == ["ut1", "ut1", None]
    assert found(step, "ut1", "http://host.example/~joe/1") == "adult: host.example/~joe"
    assert found(step, "ut1", "http://phish.example/") == "phishing: phish.example"
    assert [Path(name).relative_to(tmp_path).as_posix() for name in step.assets] == [
        "adult/domains",
        "adult/urls",
        "phishing/domains",
    ]
    assert pickle.loads(pickle.dumps(step)) == step


def test_a_category_that_is_not_there_is_an_error_that_names_the_nearest(tmp_path):
    with pytest.raises(
        AssetError, match=r'no category "phising".*did you mean "phishing".*Found: adult, phishing, press'
    ):
        FilterUrl(ut1=make_ut1(tmp_path), categories=("phising",))


def test_a_category_without_any_entry_is_an_error(tmp_path):
    make_ut1(tmp_path)
    (tmp_path / "ddos").mkdir()
    (tmp_path / "ddos" / "domains").write_text("# nothing\n\n")
    with pytest.raises(AssetError, match=r"ddos: an empty list; unpack"):
        FilterUrl(ut1=str(tmp_path), categories=("ddos",))
    (tmp_path / "adult" / "urls").write_text("")  # the other file of the category is enough
    assert judge(FilterUrl(ut1=str(tmp_path), categories=("adult",), **BARE), "http://bad.example") == ["ut1"]


@pytest.mark.parametrize(
    ("content", "field", "words"),
    [
        (b"", "block_domains", "an empty list: it has no domain"),
        (b"# comment\n\n", "block_urls", "an empty list: it has no page"),
        (b"\n", "hard_words", "an empty list: it has no word"),
        (b"[Adblock Plus 2.0]\n! Title\n||ads.example^\n", "block_domains", r"begins with '\[Adblock Plus 2.0\]'"),
        (b"0.0.0.0 ads.example\n", "allow_domains", "not a list of one domain per line.*hosts files"),
        (
            gzip.compress(b"example.org\n" * 9, mtime=0),
            "curated_domains",
            "not a list of one domain per line.*Compressed files",
        ),
        (gzip.compress(b"casino\n" * 9, mtime=0), "soft_words", "not a list of one word per line"),
        (b"/only/a/path\n", "block_urls", "not a list of one page per line.*example.org/page"),
        ("казино\n".encode(), "hard_words", "not a list of one word per line"),
    ],
)
def test_a_file_that_holds_no_such_list_is_an_error_before_anything_runs(tmp_path, content, field, words):
    (tmp_path / "list").write_bytes(content)
    with pytest.raises(AssetError, match=words):
        FilterUrl(**dict[str, Any]({field: str(tmp_path / "list")}))


def test_a_slip_in_a_list_of_domains_is_passed_over_and_in_one_of_words_is_named(tmp_path):
    (tmp_path / "list").write_text("bad.example\nno domain\n???\n")
    assert judge(FilterUrl(block_domains=str(tmp_path / "list"), **BARE), "http://bad.example") == ["block_domains"]
    with pytest.raises(AssetError, match=r'entry 3, "\?\?\?", has no letter'):
        judge(FilterUrl(**(BARE | {"hard_words": str(tmp_path / "list")})), "http://bad.example")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"block_domains": "no/such/list"}, 'no asset "no/such/list": it is neither a file'),
        ({"hard_words": "url/hard_wrods"}, 'did you mean "url/hard_words"'),
        ({"ut1": "no/such/folder"}, 'no asset "no/such/folder"'),
    ],
)
def test_a_list_that_is_not_there_is_an_error(wrong, words):
    with pytest.raises(AssetError, match=words):
        FilterUrl(**wrong)


def test_files_and_folders_are_distinguished(tmp_path):
    (tmp_path / "file").write_text("example.org\n")
    with pytest.raises(
        AssetError, match=r"this is a folder; it must be a file with one domain per line\. A UT1 folder is for"
    ):
        FilterUrl(block_domains=str(tmp_path))
    with pytest.raises(AssetError, match="this is a file; it must be the folder of the UT1 lists"):
        FilterUrl(ut1=str(tmp_path / "file"))


def test_a_list_may_be_a_file(tmp_path):
    (tmp_path / "blocked.txt").write_text("example.com\n# example.org\n", "utf-8")
    step = FilterUrl(block_domains=str(tmp_path / "blocked.txt"), **BARE)
    assert judge(step, "http://example.com", "http://example.org") == ["block_domains", None]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"block_domains": ("http://example.com/",)}, 'block_domains has "http://example.com/".*write "example.com"'),
        ({"block_urls": ("/only/a/path",)}, 'block_urls has "/only/a/path", which has no host'),
        ({"block_domains": ("example.com:80",)}, 'block_domains has "example.com:80"'),
        ({"allow_domains": ("me@example.com",)}, 'write "example.com"'),
        ({"hard_words": ("порно",)}, 'hard_words has "порно"; a word is made of a-z and 0-9'),
    ],
)
def test_an_entry_that_could_never_match_fails_when_the_step_is_made(wrong, words):
    with pytest.raises(RecipeError, match=words):
        FilterUrl(**wrong)


@pytest.mark.parametrize("name", ["url/hard_words", "url/soft_words", "url/sub_words"])
def test_the_word_lists_that_ship_hold_each_word_once_and_only_words(name):
    path = locate(name)
    entries = [line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    assert entries == sorted(set(entries))
    assert all(entry.isascii() and entry.isalnum() and entry.islower() for entry in entries)
    shipped = DATA_FOLDER / manifest()[name]["file"]
    assert hashlib.sha256(shipped.read_bytes()).hexdigest() == manifest()[name]["sha256"]


@pytest.mark.parametrize(
    "honest",
    [
        "https://www.essexcampus.ac.uk/experts-exchange/therapist",
        "https://www.ville-pornic.fr/tourisme",
        "https://library.example.edu/adult-literacy/courses",
        "https://en.wikipedia.org/wiki/Sex_education",
        "https://www.scunthorpe.example/council",
    ],
)
def test_the_words_that_ship_let_honest_addresses_pass(honest):
    assert judge(FilterUrl(), honest) == [None]


HOSTS = [
    *("example.com", "a.b.example.com", "WWW.Example.CO.uk", "www.ck", "x.www.ck", "a.b.kobe.jp", "city.kobe.jp"),
    *("sub.city.kobe.jp", "kobe.jp", "me.github.io", "localhost", "com", "10.0.0.7", "1.2.3", "[::1]", "[2001:DB8::1]"),
    *(
        "bücher.example",
        "xn--bcher-kva.example",
        "ß.de",
        "a..b",
        ".a",
        "a.",
        "...",
        "www.",
        "www",
        "www.www.a",
        "[",
        "]",
    ),
    *(
        "[a",
        "a]",
        "[a\nb]",
        "[]",
        "[.]",
        "例え.jp",
        "公司.cn",
        "xn--55qx5d.cn",
        "x.公司.cn",
        "a_b-c.org",
        "\u212axample.com",
    ),
    *("İx.org", "a\u3002b.com", "x" * 70 + ".é", "%65xample.com", "", "ΑΣ.gr"),
]
PIECES = [
    *(
        "http://",
        "HTTPS://",
        "//",
        "ftp:",
        "1a://",
        "h+.-2://",
        "http:/",
        "http:",
        "me@",
        "me:secret@",
        "@",
        ":",
        ":80",
        ":8a",
    ),
    *(
        "/",
        "//",
        "/a",
        "/A/b/",
        "/two-words",
        "/two--Words",
        "?",
        "?q=1",
        "#",
        "#top",
        "?q#f?",
        "/free-stu.ff",
        "/so/soft",
    ),
    *(
        " ",
        "\t",
        "\x1c",
        "\x00",
        "\n",
        "\u3000",
        "\xa0",
        "é",
        "%20",
        "\u212a",
        "İ",
        "soft",
        "bad",
        "1",
        "bad bad",
        "٣",
        ".",
    ),
]
hostile = st.one_of(
    st.none(),
    st.text(max_size=40),
    st.lists(st.sampled_from(HOSTS + PIECES), max_size=9).map("".join),
    st.tuples(st.sampled_from(PIECES), st.sampled_from(HOSTS), st.lists(st.sampled_from(PIECES), max_size=5)).map(
        lambda parts: parts[0] + parts[1] + "".join(parts[2])
    ),
    st.tuples(st.sampled_from([*HOSTS, *PIECES]), st.integers(0, 600)).map(lambda part: part[0] * part[1]),
)
WORDS = [
    "bad",
    "two words",
    "so",
    "soft",
    "so soft",
    "free stuff",
    "words",
    "a",
    "b",
    "k",
    "i",
    "1",
    "bad bad",
    "freestuff",
]
some_words = st.lists(st.sampled_from(WORDS), max_size=6).map(tuple)


@given(st.lists(hostile, max_size=5), st.data())
@settings(max_examples=500)
def test_every_signal_is_that_of_the_slow_twin(urls, data):
    """Whatever is in the place of a URL, and whichever of its names the lists have."""
    given = [url for url in urls if url is not None]
    hosts = sorted({name for url in given for name in domains(url) if _lists.is_domain(name)} | {"example.com", "jp"})
    addresses_of = sorted({name for url in given for name in pages(url) if pages(name)} | {"example.com/a"})
    step = FilterUrl(
        block_domains=tuple(data.draw(st.lists(st.sampled_from(hosts), max_size=3))),
        allow_domains=tuple(data.draw(st.lists(st.sampled_from(hosts), max_size=3))),
        block_urls=tuple(data.draw(st.lists(st.sampled_from(addresses_of), max_size=3))),
        hard_words=data.draw(some_words),
        sub_words=data.draw(some_words),
        soft_words=data.draw(some_words),
        sub_words_across=data.draw(st.booleans()),
    )
    batch = docs(*["text"] * len(urls), url=urls)
    found = pa.RecordBatch.from_pydict(step.signals(batch)).to_pylist()
    assert found == [signals(step, url) for url in urls]
    assert len(step.reasons(batch, step.signals(batch))) == len(urls)


def test_the_registered_domain_is_that_of_the_package_for_every_rule():
    rules = sorted(rule.lstrip("*!.") for rule in suffixes()._publicsuffix)
    urls = [f"{below}{rule}" for rule in rules for below in ("", "a.", "b.a.", "c.b.a.", "a..")]
    assert FilterUrl().signals(docs(*["text"] * len(urls), url=urls))["domain"].to_pylist() == [
        site(url) for url in urls
    ]


def test_a_long_list_finds_each_of_its_entries_and_no_other():
    entries = tuple(f"host{i}.example" for i in range(5000))
    urls = [*entries, *(f"guest{i}.example" for i in range(5000))]
    found = FilterUrl(block_domains=entries, **BARE).signals(docs(*["text"] * len(urls), url=urls))["block_domains"]
    assert found.to_pylist() == [*entries, *[None] * 5000]


def test_a_url_of_many_parts_takes_time_in_proportion_to_its_length():
    url = "http://" + "a." * 200_000 + "example" + "/b" * 200_000  # hashed part by part, it would take minutes
    step = FilterUrl(block_domains=("example",), block_urls=("nowhere.example/b",), hard_words=("b",))
    assert judge(step, url) == ["block_domains,hard_words"]


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(_lists).failed == doctest.testmod(addresses).failed == 0
