"""Answers of hosts in a crawl: which records are such, and what they say."""

import gzip

import pytest

from corpusmill.errors import InputError
from corpusmill.ops.rights import answer_of, collect
from corpusmill.read.warc import Record

ROBOTS = "https://a.org/robots.txt"


def response(body: bytes, status: str = "200 OK", **fields: str) -> bytes:
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body


def record(body: bytes, url: str = ROBOTS, kind: str = "response") -> Record:
    fields = {"warc-target-uri": url, "warc-date": "2026-01-02T03:04:05Z"}
    return Record(0, kind, fields, body, len(body))


@pytest.mark.parametrize(
    ("url", "kind", "expected"),
    [
        (ROBOTS, "response", "robots"),
        (ROBOTS, "resource", "robots"),
        ("https://a.org/.well-known/tdmrep.json", "response", "tdmrep"),
        (ROBOTS, "request", None),
        ("https://a.org/robots.html", "response", None),
        ("https://a.org/x/robots.txt", "response", None),
        ("", "response", None),
    ],
)
def test_an_answer_is_known_by_its_address_and_its_kind(url, kind, expected):
    answer = answer_of(record(response(b"User-agent: *\n"), url, kind))
    assert (answer and answer.kind) == expected


def test_an_answer_has_the_text_and_the_host():
    answer = answer_of(record(response("User-agent: é\n".encode())))
    assert answer.body == "User-agent: é\n" and answer.status == 200 and answer.target is None
    assert "a.org" in answer.origin


def test_the_text_is_in_the_charset_that_it_says():
    answer = answer_of(record(response("é".encode("latin-1"), Content_Type="text/plain; charset=iso-8859-1")))
    assert answer.body == "é"


def test_packed_bodies_are_unpacked_as_far_as_they_go():
    body = gzip.compress(b"User-agent: *\n")
    assert answer_of(record(response(body, Content_Encoding="gzip"))).body == "User-agent: *\n"
    assert "User-agent: *\n".startswith(answer_of(record(response(body[:-12], Content_Encoding="gzip"))).body)
    assert answer_of(record(response(b"no gzip", Content_Encoding="gzip"))).body == "no gzip", "as servers do"


@pytest.mark.parametrize("status", ["404 Not Found", "500 Oops", "403 Forbidden"])
def test_a_refusal_has_a_status_and_no_text(status):
    answer = answer_of(record(response(b"<html>", status)))
    assert (answer.status, answer.body, answer.target) == (int(status[:3]), "", None)


def test_a_redirect_leads_to_its_target():
    answer = answer_of(record(response(b"", "301 Moved", Location="https://www.a.org/robots.txt")))
    assert answer.status == 301 and "www.a.org" in str(answer.target)


def test_a_body_without_a_head_is_taken_as_it_is():
    answer = answer_of(record(b"User-agent: *\n", kind="resource"))
    assert (answer.status, answer.body) == (200, "User-agent: *\n")


def test_no_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="none"):
        collect([str(tmp_path / "none.warc.gz")], tmp_path / "out")
