"""robots.txt as Google's parser reads it, by the facts that its published tests state, and as RFC 9309 does."""

import pytest

from corpusmill.formats.rights.robots import MAX_LINE_CHARACTERS, Robots, settings

HOST = "http://foo.bar"
FOO = "user-agent: FooBot\n"
GROUPS = """allow: /foo/bar/

user-agent: FooBot
disallow: /
allow: /x/
user-agent: BarBot
disallow: /
allow: /y/


allow: /w/
user-agent: BazBot

user-agent: FooBot
allow: /z/
disallow: /
"""
ANY_CASE = (
    "USER-AGENT: FooBot\nALLOW: /x/\nDISALLOW: /\n",
    "user-agent: FooBot\nallow: /x/\ndisallow: /\n",
    "uSeR-aGeNt: FooBot\nAlLoW: /x/\ndIsAlLoW: /\n",
)
SPACED = "User-Agent: *\nDisallow: /\nUser-Agent: Foo Bar\nAllow: /x/\nDisallow: /\n"
ALL_BUT_FOO = "user-agent: *\nallow: /\nuser-agent: FooBot\ndisallow: /\n"
ONLY_NAMED = "user-agent: FooBot\nallow: /\nuser-agent: BarBot\ndisallow: /\nuser-agent: BazBot\ndisallow: /\n"
FISH = "/fish /fish.html /fish/salmon.html /fishheads /fishheads/yummy.html /fish.html?id=anything"
PHP = "/filename.php /folder/filename.php"


def filled(name, letter):
    """A path of one letter that fills a line but for the end."""
    return "/x/".ljust(MAX_LINE_CHARACTERS - 1 - len(name), letter)


FORBID, ALLOW = filled("disallow: ", "a"), filled("allow: ", "a")
OTHER = filled("allow: ", "b")
# What the file is, the agent, the paths that it may fetch, and those that it may not.
CASES = [
    (f"{FOO}disallow: /\n", "FooBot", "", "/x/y"),
    ("foo: FooBot\nbar: /\n", "FooBot", "/x/y", ""),
    ("user-agent FooBot\ndisallow /\n", "FooBot", "", "/x/y"),
    (GROUPS, "FooBot", "/x/b /z/d", "/y/c /foo/bar/"),
    (GROUPS, "BarBot", "/y/c /w/a", "/z/d /foo/bar/"),
    (GROUPS, "BazBot", "/z/d", "/foo/bar/"),
    *((text, "FooBot", "/x/y", "/a/b") for text in ANY_CASE),
    *(
        (f"User-Agent: {name}\nAllow: /x/\nDisallow: /\n", agent, "/x/y", "/a/b")
        for name in ("FOO BAR", "foo bar", "FoO bAr")
        for agent in ("Foo", "foo")
    ),
    (SPACED, "Foo", "/x/y", ""),
    (SPACED, "Foo Bar", "", "/x/y"),
    ("", "FooBot", "/x/y", ""),
    (ALL_BUT_FOO, "FooBot", "", "/x/y"),
    (ALL_BUT_FOO, "BarBot", "/x/y", ""),
    (ONLY_NAMED, "QuxBot", "/x/y", ""),
    (f"{FOO}disallow: /x/\n", "FooBot", "", "/x/y"),
    (f"{FOO}disallow: /X/\n", "FooBot", "/x/y", ""),
    (f"{FOO}disallow: /x/page.html\nallow: /x/\n", "FooBot", "", "/x/page.html"),
    (f"{FOO}allow: /x/page.html\ndisallow: /x/\n", "FooBot", "/x/page.html", "/x/"),
    (f"{FOO}disallow: \nallow: \n", "FooBot", "/x/page.html", ""),
    (f"{FOO}disallow: /\nallow: /\n", "FooBot", "/x/page.html", ""),
    (f"{FOO}disallow: /x\nallow: /x/\n", "FooBot", "/x/", "/x"),
    (f"{FOO}disallow: /x/page.html\nallow: /x/page.html\n", "FooBot", "/x/page.html", ""),
    (f"{FOO}allow: /page\ndisallow: /*.html\n", "FooBot", "/page", "/page.html"),
    (f"{FOO}allow: /x/page.\ndisallow: /*.html\n", "FooBot", "/x/page.html", "/x/y.html"),
    ("User-agent: *\nDisallow: /x/\nUser-agent: FooBot\nDisallow: /y/\n", "FooBot", "/x/page", "/y/page"),
    (f"{FOO}Disallow: /\nAllow: /foo/bar?qux=taz&baz=http://foo.bar?tar&par\n", "FooBot",
     "/foo/bar?qux=taz&baz=http://foo.bar?tar&par", ""),
    (f"{FOO}Disallow: /\nAllow: /foo/bar/ツ\n", "FooBot", "/foo/bar/%E3%83%84", ""),
    (f"{FOO}Disallow: /\nAllow: /foo/bar/%E3%83%84\n", "FooBot", "/foo/bar/%E3%83%84", ""),
    (f"{FOO}Disallow: /\nAllow: /foo/bar/%62%61%7A\n", "FooBot", "/foo/bar/%62%61%7A", ""),
    (f"{FOO}Disallow: /foo/bar/quz\nAllow: /foo/*/qux\n", "FooBot", "/foo/quz /foo//quz /foo/bax/quz", "/foo/bar/quz"),
    (f"{FOO}Disallow: /foo/bar$\nAllow: /foo/bar/qux\n", "FooBot", "/foo/bar/qux /foo/bar/ /foo/bar/baz", "/foo/bar"),
    (f"{FOO}# Disallow: /\nDisallow: /foo/quz#qux\nAllow: /\n", "FooBot", "/foo/bar", "/foo/quz"),
    ("User-Agent: *\nAllow: /allowed-slash/index.html\nDisallow: /\n", "foobot",
     "/allowed-slash/ /allowed-slash/index.html", "/allowed-slash/index.htm /anyother-url"),
    (f"{FOO}disallow: {FORBID}/qux\n", "FooBot", "/fux", f"{FORBID}/fux"),
    (f"{FOO}disallow: /\nallow: {ALLOW}/qux\nallow: {OTHER}/qux\n", "FooBot", f"{ALLOW}/qux {OTHER}/fux", "/"),
    (f"{FOO}disallow: /\nallow: /fish\n", "FooBot", FISH, "/bar /Fish.asp /catfish /?id=fish"),
    (f"{FOO}disallow: /\nallow: /fish*\n", "FooBot", FISH, "/bar /Fish.bar /catfish /?id=fish"),
    (f"{FOO}disallow: /\nallow: /fish/\n", "FooBot",
     "/fish/ /fish/salmon /fish/?salmon /fish/salmon.html /fish/?id=anything",
     "/bar /fish /fish.html /Fish/Salmon.html"),
    (f"{FOO}disallow: /\nallow: /*.php\n", "FooBot",
     f"{PHP} /folder/filename.php?parameters //folder/any.php.file.html /filename.php/ /index?f=filename.php/",
     "/bar /php/ /index?php /windows.PHP"),
    (f"{FOO}disallow: /\nallow: /*.php$\n", "FooBot", PHP,
     "/bar /filename.php?parameters /filename.php/ /filename.php5 /php/ /filename?php /aaaphpaaa //windows.PHP"),
    (f"{FOO}disallow: /\nallow: /fish*.php\n", "FooBot", "/fish.php /fishheads/catfish.php?parameters",
     "/bar /Fish.PHP"),
    (f"{FOO}allow: /p\ndisallow: /\n", "FooBot", "/page", ""),
    (f"{FOO}allow: /folder\ndisallow: /folder\n", "FooBot", "/folder/page", ""),
    (f"{FOO}allow: /page\ndisallow: /*.htm\n", "FooBot", "", "/page.htm"),
    (f"{FOO}allow: /$\ndisallow: /\n", "FooBot", "/", "/page.html"),
]  # fmt: skip
# Google compares these as they are written, and leaves it to its callers to escape addresses. RFC 9309, section 2.2.2:
# octets beyond ASCII are escaped, and escapes of other than reserved characters undone, before a comparison.
OTHERWISE = [
    (f"{FOO}Disallow: /\nAllow: /foo/bar/ツ\n", "/foo/bar/ツ"),
    (f"{FOO}Disallow: /\nAllow: /foo/bar/%E3%83%84\n", "/foo/bar/ツ"),
    (f"{FOO}Disallow: /\nAllow: /foo/bar/%62%61%7A\n", "/foo/bar/baz"),
]


def test_there_are_as_many_cases_as_the_page_says():
    assert sum(len(f"{may} {not_}".split()) for _, _, may, not_ in CASES) == 134


@pytest.mark.parametrize(("text", "agent", "may", "not_"), CASES)
def test_answers_as_google_does(text, agent, may, not_):
    file = Robots(text)
    assert [path for path in may.split() if not file.allows(agent, HOST + path)] == []
    assert [path for path in not_.split() if file.allows(agent, HOST + path)] == []


@pytest.mark.parametrize(("text", "path"), OTHERWISE)
def test_escapes_are_undone_as_the_rfc_says(text, path):
    assert Robots(text).allows("FooBot", HOST + path)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_any_system_ends_them(end):
    text = end.join(["\ufeffUser-Agent: foo", "Disallow: /some/path", "User-Agent: bar", "", "", "Disallow: /"])
    assert not Robots(text).allows("foo", f"{HOST}/some/path")
    assert Robots(text).allows("foo", f"{HOST}/other")
    assert not Robots(text).allows("bar", f"{HOST}/other")


def test_an_agent_obeys_its_own_name_alone():
    text = "User-agent: Google\nDisallow: /\nUser-agent: AI2Bot/1.0\nDisallow: /a\n"
    assert Robots(text).allows("Google-Extended", f"{HOST}/")
    assert not Robots(text).allows("AI2Bot", f"{HOST}/a")
    assert Robots(text).allows("AI2Bot-Dolma", f"{HOST}/a")


def test_content_signals_are_those_of_the_group_of_an_agent():
    text = """
        User-Agent: *
        Content-Signal: search=yes, ai-train=no
        Allow: /
        User-Agent: GPTBot
        User-Agent: CCBot
        Content-signal: ai-train=yes,AI-Input=maybe
        Disallow: /private
    """
    file = Robots(text)
    assert file.group("ClaudeBot").signals == {"search": "yes", "ai-train": "no"}
    assert file.group("ccbot").signals == file.group("GPTBot").signals == {"ai-train": "yes"}
    assert not file.allows("CCBot", f"{HOST}/private") and file.allows("ClaudeBot", f"{HOST}/private")


def test_what_is_said_twice_is_no_if_it_is_that_once():
    assert settings("ai-train=yes, ai-train=no, ai-train=yes") == {"ai-train": "no"}


@pytest.mark.parametrize("text", ["", "<!doctype html><title>404</title>", "\x00\xff", "Disallow: /", "User-agent:\n"])
def test_a_file_without_a_group_forbids_nothing(text):
    assert Robots(text).allows("CCBot", f"{HOST}/a") and Robots(text).group("CCBot").signals == {}
