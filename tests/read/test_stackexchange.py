"""Questions with their answers, which are anywhere in the file."""

import gzip
from xml.sax.saxutils import quoteattr

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import briefly, read_all, save

from corpusmill.errors import RecipeError
from corpusmill.read.stackexchange import StackexchangeReader, licence
from growth import assert_linear

QUESTION, ANSWER, WIKI = 1, 2, 4


def row(number: int, kind: int, **fields: object) -> str:
    known = {"Id": number, "PostTypeId": kind, "CreationDate": "2012-05-01T10:00:00.000", "Score": 0, **fields}
    return "  <row " + " ".join(f"{name}={quoteattr(str(value))}" for name, value in known.items()) + " />\r\n"


def posts(*rows: str) -> bytes:
    return ('\ufeff<?xml version="1.0" encoding="utf-8"?>\r\n<posts>\r\n' + "".join(rows) + "</posts>").encode()


ROWS = [
    row(
        1, QUESTION, Title="Why <b>?", Body="<p>A &amp; b</p>", Tags="<rivers><long-boats>", Score=5, AcceptedAnswerId=4
    ),
    row(2, QUESTION, Title="None", Body="<p>no</p>"),
    row(3, ANSWER, ParentId=1, Body="<p>high</p>", Score=9, CreationDate="2019-01-01T00:00:00"),
    row(4, ANSWER, ParentId=1, Body="<p>right</p>", Score=2, ContentLicense="CC BY-SA 9.0"),
    row(5, ANSWER, ParentId=1, Body="<p>low</p>", Score=-3),
    row(6, WIKI, Body="x"),
    row(7, ANSWER, ParentId=99, Body="stray"),
]


def bodies(rows):
    return [[part.split("</p>")[0] for part in doc["raw"].decode().split("<p>")[1:]] for doc in rows]


def test_a_question_and_its_answers_are_a_document(tmp_path):
    (tmp_path / "cooking.stackexchange.com").mkdir()
    file = save(tmp_path / "cooking.stackexchange.com", "Posts.xml", posts(*ROWS))
    rows, dead, counts = read_all(StackexchangeReader(), file)
    assert not dead and counts.skipped == {"answer": 4, "other_post": 1, "no_answer": 1}
    assert rows[0]["raw"].decode() == (
        "<html><head><title>Why &lt;b&gt;?</title></head><body><h1>Why &lt;b&gt;?</h1>\n<p>A &amp; b</p>\n"
        "<h2>Answer (accepted)</h2>\n<p>right</p>\n<h2>Answer</h2>\n<p>high</p>\n<h2>Answer</h2>\n<p>low</p></body></html>"
    )
    assert rows[0]["url"] == "https://cooking.stackexchange.com/questions/1"
    about = orjson.loads(rows[0]["metadata"])
    assert about["tags"] == ["rivers", "long-boats"] and about["score"] == 5 and about["question_id"] == 1
    assert about["answers"][0] == {"accepted": True, "id": 4, "score": 2}
    assert about["licences"] == ["CC BY-SA 3.0", "CC BY-SA 4.0", "CC BY-SA 9.0"]


@pytest.mark.parametrize(
    ("day", "known"),
    [
        ("2011-04-07T10:00:00", "CC BY-SA 2.5"),
        ("2018-05-01", "CC BY-SA 3.0"),
        ("2024-01-01", "CC BY-SA 4.0"),
        *((day, "") for day in ("", "9999-12-31", "99999-01-01", "1st of May", "yesterday", "٢٠١٢-٠٥-٠١", "2012")),
    ],
)
def test_a_licence_is_known_by_a_day_and_by_nothing_else(day, known):
    assert licence({"CreationDate": day}) == known
    assert licence({"CreationDate": day, "ContentLicense": "CC BY-SA 9.0"}) == "CC BY-SA 9.0"


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"order": "score"}, [["A & b", "high", "right", "low"]]),
        ({"order": "date"}, [["A & b", "right", "low", "high"]]),
        ({"max_answers": 1}, [["A & b", "right"]]),
        ({"min_answer_score": 5}, [["A & b", "high"]]),
        ({"min_score": 1, "answered": False}, [["A & b", "right", "high", "low"]]),
        ({"answered": False, "max_answers": 0}, [["A & b"], ["no"]]),
        ({"min_score": 6}, []),
    ],
)
def test_order_and_cuts(tmp_path, parameters, expected):
    rows, _, _ = read_all(StackexchangeReader(**parameters), save(tmp_path, "Posts.xml", posts(*ROWS)))
    assert bodies(rows) == [[part.replace("&", "&amp;") for part in each] for each in expected]


@settings(max_examples=15, deadline=None)
@given(
    kinds=st.lists(st.tuples(st.sampled_from([QUESTION, ANSWER, ANSWER, WIKI]), st.integers(1, 12)), max_size=25),
    target=st.integers(100, 4000),
)
def test_the_pieces_of_a_file_give_what_the_file_gives(tmp_path_factory, kinds, target):
    """Also where answers stand before their question, and numbers come twice."""
    made = [
        row(number, kind, Body=f"<p>{at}</p>", Title=f"t{at}", ParentId=number, Score=at % 3)
        for at, (kind, number) in enumerate(kinds)
    ]
    file = save(tmp_path_factory.mktemp("posts"), "Posts.xml", posts(*made))
    whole, dead, counts = read_all(StackexchangeReader(answered=False), file)
    assert len(whole) == len({number for kind, number in kinds if kind == QUESTION})
    rows, in_pieces, split = read_all(StackexchangeReader(answered=False), file, target=target)
    assert rows == whole and in_pieces == dead and split.skipped == counts.skipped
    first = {number: at for at, (kind, number) in reversed([*enumerate(kinds)]) if kind == QUESTION}
    for doc, (number, own) in zip(whole, sorted(first.items(), key=lambda item: item[1]), strict=True):
        answers = {str(at) for at, (kind, parent) in enumerate(kinds) if kind == ANSWER and parent == number}
        assert set(bodies([doc])[0]) == answers | {str(own)}


def test_a_compressed_file_and_rows_that_are_wrong(tmp_path):
    bad = [
        "  <row Id='x' />\n",
        '  <row Id="8" PostTypeId="1" Title="a & b" />\n',
        '<!DOCTYPE a [<!ENTITY b "c">]><row Id="9" PostTypeId="1" Title="&b;" />\n',
    ]
    file = save(tmp_path, "Posts.xml.gz", gzip.compress(posts(*ROWS, *bad)))
    rows, dead, _ = read_all(StackexchangeReader(site="a.org"), file)
    assert [doc["url"] for doc in rows] == ["https://a.org/questions/1"]
    assert [letter[1:] for letter in briefly(dead)] == [("bad_xml", False), ("bad_xml", False)]
    assert briefly(read_all(StackexchangeReader(), save(tmp_path, "Posts.xml", b""))[1]) == [(0, "empty_file", True)]
    with pytest.raises(RecipeError, match="order must be one of accepted, score, date"):
        StackexchangeReader(order="best")  # type: ignore[arg-type]


def test_of_questions_of_one_number_the_first_of_the_file_counts(tmp_path):
    rows = [row(7, ANSWER, ParentId=1, Body="<p>early</p>"), *(row(1, QUESTION, Body=f"<p>{n}</p>") for n in range(40))]
    rows += [
        row(2, QUESTION, Body="<p>two</p>"),
        row(8, ANSWER, ParentId=1, Body="<p>a</p>"),
        row(9, ANSWER, ParentId=2),
    ]
    file = save(tmp_path, "Posts.xml", posts(*rows))
    for target in (1 << 40, file.size // 5):
        documents, dead, counts = read_all(StackexchangeReader(), file, target=target)
        assert bodies(documents)[0] == ["0", "early", "a"] and len(documents) == 2
        assert len(dead) == 39 and counts.skipped["answer"] == 3
        assert {letter["reason"] for letter in dead} == {"an earlier question has the number 1, too"}


@pytest.mark.parametrize(
    "make",
    [
        lambda count: row(1, QUESTION) * count + row(2, ANSWER, ParentId=1) * count,
        lambda count: row(1, QUESTION) + row(2, ANSWER, ParentId=1) * count,
        lambda count: "  <row " + 'Id="' * count + "/>\n",
        lambda count: "  <row Id='1' " + "".join(f'a{number}="" ' for number in range(count)) + "/>\n",
    ],
)
def test_hostile_files_take_linear_time(tmp_path, make):
    assert_linear(
        lambda data: read_all(StackexchangeReader(), save(tmp_path, "Posts.xml", data)),
        lambda size: posts(make(size)),
        1500,
    )


def test_a_score_that_is_too_large_for_any_is_none(tmp_path):
    rows = posts(row(1, QUESTION, Score=10**30), row(2, ANSWER, ParentId=1, Score=-(10**25)))
    documents, _, _ = read_all(StackexchangeReader(), save(tmp_path, "Posts.xml", rows))
    assert orjson.loads(documents[0]["metadata"])["score"] == 0
