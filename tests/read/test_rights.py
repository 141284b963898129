"""annotate/rights and filter/rights: what hosts and pages say of their use, from a crawl to the report and the card."""

import json
import random

import pytest
from reading import http, page, save, warc

import corpusmill
from conftest import docs
from corpusmill.errors import AssetError, InputError, RecipeError
from corpusmill.execute.serial import Serial
from corpusmill.ops.rights import collect as collect_crawl
from corpusmill.publish.composition import rights_of
from corpusmill.recipe.model import Recipe
from corpusmill.report.figures.rights import rights
from corpusmill.report.page.rights import section
from corpusmill.report.tables import RunTables
from corpusmill.steps.annotate.rights import AnnotateRights
from corpusmill.steps.captures import CapturedAnswer, Captures, collect, origin_of
from corpusmill.steps.filter.rights import FilterRights

CC = "https://creativecommons.org/licenses"
NO_GPT = "User-agent: GPTBot\nDisallow: /\nUser-agent: *\nDisallow: /private\n"


def found(url, body, kind="robots", status=200, date="2024-01-01T00:00:00Z", target=None):
    return CapturedAnswer(origin_of(url), kind, date, status, target, body)


def table(tmp_path, *answers):
    out = tmp_path / "hosts.captures"
    collect(iter(answers), out)
    return out


def said(step, **columns):
    """The signals of one document that are not null."""
    one = {name: [value] for name, value in columns.items()}
    return {name: column[0].as_py() for name, column in step.signals(docs(None, **one)).items() if column[0].is_valid}


def test_a_host_is_found_whatever_the_order_in_which_captures_come(tmp_path):
    answers = [found(f"https://host-{n}.org", f"# {n}", date=f"2024-01-{1 + n % 9:02d}") for n in range(3000)]
    answers += [found("https://host-7.org", "# newest", date="2025-01-01"), found("https://host-7.org", "# as new")]
    first = table(tmp_path, *answers).read_bytes()
    random.Random(1).shuffle(answers)
    path = table(tmp_path, *answers)
    assert path.read_bytes() == first
    held = Captures(path)
    assert len(held) == 3000
    assert held.find("https://host-7.org", "robots").body == "# newest"
    assert [held.find(f"https://host-{n}.org", "robots").body for n in (0, 1499, 2999)] == ["# 0", "# 1499", "# 2999"]
    assert held.find("https://host-7.org", "tdmrep") is held.find("https://other.org", "robots") is None
    assert held.find("http://host-7.org", "robots").body == "# newest"  # the host itself is the same
    assert held.find("https://host-7.org:8443", "robots") is None


def test_redirects_are_followed_as_far_as_the_crawl_has_them(tmp_path):
    hops = [
        found(f"https://h{n}.org", "", status=301, target=f"https://h{n + 1}.org" if n < 5 else None) for n in range(6)
    ]
    circle = [found(f"https://c{n}.org", "", status=302, target=f"https://c{1 - n}.org") for n in range(2)]
    held = Captures(table(tmp_path, *hops, found("https://h5.org", NO_GPT), *circle))
    assert held.find("https://h0.org", "robots").body == NO_GPT
    assert held.find("https://c0.org", "robots").status == 302  # known, and no answer


def test_a_crawl_gives_the_table(tmp_path):
    robots = http(b"User-agent: *\nDisallow: /a\n", content_type="text/plain")
    records = [
        warc("response", robots, "http://a.org/robots.txt", WARC_Date="2024-05-01T00:00:00Z"),
        warc("response", robots, "http://a.org/elsewhere/robots.txt"),
        warc("response", http(b"", status=301, Location="http://a.org/robots.txt"), "http://www.a.org/robots.txt"),
        warc("response", http(b"[]", content_type="application/json"), "http://a.org/.well-known/tdmrep.json"),
        warc("response", http(page("text")), "http://a.org/"),
        warc("revisit", b"", "http://b.org/robots.txt"),
    ]
    save(tmp_path, "a.warc", b"".join(records))
    made = collect_crawl([str(tmp_path / "*.warc")], tmp_path / "hosts.captures")
    assert (made.records, made.by_kind, made.kept) == (6, {"robots": 2, "tdmrep": 1}, 3)
    held = Captures(tmp_path / "hosts.captures")
    assert held.find("http://www.a.org", "robots").body == held.find("http://a.org", "robots").body
    assert held.find("http://a.org", "tdmrep").body == "[]"


def test_a_crawl_without_captures_and_a_file_that_is_no_table_are_refused(tmp_path):
    save(tmp_path, "a.warc", warc("response", http(page("text")), "http://a.org/"))
    with pytest.raises(InputError, match=r"no capture of robots.txt .* among the 1 records .* robotstxt/"):
        collect_crawl([str(tmp_path / "a.warc")], tmp_path / "hosts.captures")
    assert not (tmp_path / "hosts.captures").exists()
    (tmp_path / "wrong").write_text("User-agent: *")
    with pytest.raises(AssetError, match=r"not a table of captures.* Make one: corpusmill rights"):
        AnnotateRights(captures=str(tmp_path / "wrong"))
    with pytest.raises(AssetError, match="there is no asset"):
        AnnotateRights(captures=str(tmp_path / "missing"))


def test_an_agent_with_a_version_is_refused():
    with pytest.raises(RecipeError, match=r'"GPTBot/1.0" is no name of an agent'):
        FilterRights(agents=("GPTBot/1.0",))


def test_robots_are_those_of_the_host(tmp_path):
    answers = [
        found("https://a.org", NO_GPT),
        found("https://none.org", "", status=404),
        found("https://down.org", "", status=503),
        found("https://signal.org", "User-agent: *\nContent-Signal: search=yes, ai-train=no\nAllow: /\n"),
    ]
    step = AnnotateRights(captures=str(table(tmp_path, *answers)), agents=("GPTBot", "CCBot"))
    assert said(step, url="https://A.org/x") == {"robots": 1, "robots_agents": "GPTBot"}
    assert said(step, url="https://a.org/private/x") == {"robots": 2, "robots_agents": "GPTBot,CCBot"}
    assert said(step, url="https://none.org/") == {"robots": 0}
    assert said(step, url="https://down.org/") == said(step, url="https://x.org/") == said(step, url=None) == {}
    signal = {"robots": 0, "ai_train": "no", "content_signal": "ai-train=no,search=yes"}
    assert said(step, url="https://signal.org/") == signal


def test_preferences_by_aipref_are_those_of_header_and_robots(tmp_path):
    rules = "Content-Usage: search=y\nUser-agent: *\nAllow: /\nContent-Usage: train-ai=n\nContent-Usage: /open/ train-ai=y\nContent-Usage: /open/*.pdf$ bots=n\n"
    step = AnnotateRights(captures=str(table(tmp_path, found("https://a.org", rules))), agents=("GPTBot",))

    def usage(url, header=""):
        shown = said(step, url=url, metadata=json.dumps({"http_content_usage": header}) if header else None)
        return shown.get("train_ai"), shown.get("content_usage")

    assert usage("https://a.org/x") == ("n", "search=y,train-ai=n")
    assert usage("https://a.org/open/x") == ("y", "train-ai=y")
    assert usage("https://a.org/open/x.pdf") == ("n", "bots=n")
    assert usage("https://a.org/open/x", "train-ai=n") == ("n", "train-ai=n")
    assert usage("https://b.org/", "search=n") == (None, "search=n")
    assert usage("https://b.org/", "bots=n, train-ai=y") == ("y", "bots=n,train-ai=y")
    assert usage("https://b.org/", "train-ai=y, train-genai=n") == ("n", "train-ai=y,train-genai=n")
    assert usage("https://b.org/", "train-ai=no, TRAIN-AI=n, train-ai") == (None, None)


@pytest.mark.parametrize(
    ("markup", "link", "rules", "expected"),
    [
        ('<link rel="license" type="application/rsl+xml" href="/l.xml">', "", "", ("https://a.org/l.xml", "page")),
        (
            "<LINK href=l.xml type='application/RSL+xml' rel='alternate License'>",
            "",
            "",
            ("https://a.org/d/l.xml", "page"),
        ),
        ('<link rel="license" href="/l.html">', "", "", (None, None)),
        ("", '<https://b.org/l.xml>; rel="license"; type="application/rsl+xml"', "", ("https://b.org/l.xml", "header")),
        (
            "",
            '</s.css>; rel=preload, </l.xml>; type="application/rsl+xml"; rel=license',
            "",
            ("https://a.org/l.xml", "header"),
        ),
        ("", '</l.xml>; rel=alternate; type="application/rsl+xml"', "", (None, None)),
        ("", "", "User-agent: x\nDisallow:\n\nLicense: https://b.org/r.xml # terms", ("https://b.org/r.xml", "robots")),
        ("", "", "License: terms.xml", (None, None)),
    ],
)
def test_a_licence_by_rsl_is_named_by_page_header_or_robots(tmp_path, markup, link, rules, expected):
    step = AnnotateRights(captures=str(table(tmp_path, found("https://a.org", rules))))
    metadata = json.dumps({"http_link": link}) if link else None
    shown = said(step, url="https://a.org/d/x", metadata=metadata, raw=f"<html><head>{markup}</head></html>".encode())
    assert (shown.get("rsl"), shown.get("rsl_how")) == expected


def test_the_filter_drops_what_aipref_says_and_rsl_if_asked():
    about = [
        {"http_content_usage": "train-ai=n"},
        {"http_content_usage": "train-ai=y"},
        {"http_link": '</l>; rel="license"; type="application/rsl+xml"'},
    ]
    batch = docs(None, None, None, url=["https://a.org/"] * 3, metadata=[json.dumps(one) for one in about])
    usual, other = FilterRights(), FilterRights(content_usage=False, rsl=True)
    assert usual.reasons(batch, usual.signals(batch)).to_pylist() == ["content_usage", None, None]
    assert other.reasons(batch, other.signals(batch)).to_pylist() == [None, None, "rsl"]


@pytest.mark.parametrize(
    ("markup", "header", "directives"),
    [
        ('<meta name="robots" content="NoAI, noimageai">', "", "noai,noimageai"),
        ("<META content=none NAME=Robots>", "", "nofollow,noindex"),
        ('<meta name="gptbot" content="noindex"><meta name="otherbot" content="noai">', "", "noindex"),
        ("", "otherbot: noindex, noai\nnofollow, max-snippet: 10", "max-snippet,nofollow"),
        ("", "GPTBot: noai, unavailable_after: 25 Jun 2010", "noai,unavailable_after"),
    ],
)
def test_directives_of_the_page_and_of_its_server(markup, header, directives):
    metadata = json.dumps({"http_x_robots_tag": header}) if header else None
    got = said(AnnotateRights(agents=("GPTBot",)), raw=f"<html>{markup}</html>".encode(), metadata=metadata)
    names = directives.split(",")
    assert got == {"noindex": "noindex" in names, "noai": "noai" in names, "directives": directives}


def test_reservations_of_text_and_data_mining_the_nearest_first(tmp_path):
    rules = [
        {"location": "/open/*", "tdm-reservation": 0},
        {"location": "/*.pdf$", "tdm-reservation": 1, "tdm-policy": "https://a.org/terms"},
        {"location": "/", "tdm-reservation": 1},
    ]
    path = table(tmp_path, found("https://a.org", json.dumps(rules), "tdmrep"), found("https://b.org", "{", "tdmrep"))
    step = AnnotateRights(captures=str(path))
    assert said(step, url="https://a.org/open/x.pdf") == {"tdm": 0, "tdm_how": "file"}
    policy = {"tdm": 1, "tdm_how": "file", "tdm_policy": "https://a.org/terms"}
    assert said(step, url="https://a.org/x.pdf") == policy
    assert said(step, url="https://a.org") == {"tdm": 1, "tdm_how": "file"}
    assert said(step, url="https://b.org") == {}
    header = json.dumps({"http_tdm_reservation": "0", "http_tdm_policy": "https://a.org/p"})
    assert said(step, url="https://a.org/", metadata=header)["tdm_how"] == "header"
    markup = b'<meta name="tdm-reservation" content="1"><meta name="tdm-policy" content="/terms">'
    got = said(step, url="https://a.org/", metadata=header, raw=markup)
    assert (got["tdm"], got["tdm_how"], got["tdm_policy"]) == (1, "page", "/terms")


RECIPE = """
name: rights
read:
  - warc: {{paths: {folder}/*.warc, source: web}}
steps:
  - filter/rights: {{captures: {folder}/hosts.captures, agents: [GPTBot], noncommercial: true}}
  - extract/blocks
  - tokenize/bytes
write: [jsonl]
run: {{executor: serial}}
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rights")
    text = "<p>The river that runs to the sea has to be crossed with care, as every captain knows.</p>" * 3
    noai = http(page(text), X_Robots_Tag="noai")
    licensed = page(text).replace(b"<p>", f'<a rel="license" href="{CC}/by-nc/4.0/">NC</a><p>'.encode(), 1)
    records = [
        warc("response", http(NO_GPT.encode(), content_type="text/plain"), "http://no.org/robots.txt"),
        warc("response", http(b"", status=404), "http://yes.org/robots.txt"),
        warc("response", http(page(text)), "http://no.org/1"),
        warc("response", noai, "http://no.org/2"),
        warc("response", noai, "http://yes.org/3"),
        warc("response", http(licensed), "http://yes.org/4"),
        warc("response", http(page(text)), "http://yes.org/5"),
        warc("response", http(page(text), Content_Signal="ai-train=no"), "http://new.org/6"),
        warc("response", http(page(text), Content_Usage="train-ai=n"), "http://yes.org/7"),
        warc(
            "response", http(page(text), Link='</l.xml>; rel="license"; type="application/rsl+xml"'), "http://yes.org/8"
        ),
    ]
    save(folder, "a.warc", b"".join(records))
    collect_crawl([str(folder / "a.warc")], folder / "hosts.captures")
    return corpusmill.run(Recipe.parse(RECIPE.format(folder=folder)), folder=folder / "run", executor=Serial())


def test_the_report_counts_what_each_signal_costs(done):
    [figure] = rights(RunTables(done.folder))
    each = figure.tokens // figure.documents
    shown = {one.name: (one.documents, one.dropped, one.alone) for one in figure.reserved}
    assert figure.documents == 8 and shown == {
        "robots": (2, 2, 1),
        "noai": (2, 2, 1),
        "content_signal": (1, 1, 1),
        "content_usage": (1, 1, 1),
        "rsl": (1, 0, 0),
        "noncommercial": (1, 1, 1),
        "unknown_robots": (1, 0, 0),
    }
    assert all(one.tokens > 0 and abs(one.tokens - one.documents * each) < each for one in figure.reserved)
    assert [(one.name, one.documents) for one in figure.agents] == [("GPTBot", 2)]
    assert done.waterfall.documents_out == 2
    shown_ = "".join(str(part) for part in section(RunTables(done.folder)))
    assert "Content-Signal: ai-train=no" in shown_ and "GPTBot" in shown_
    assert "| `content_signal` | 1 | " in rights_of([figure])
