import pyarrow as pa
import pytest

from conftest import docs
from corpusmill.errors import RecipeError
from corpusmill.steps.annotate.pii import AnnotatePii
from corpusmill.steps.personal_data import Kind
from corpusmill.steps.redact.pii import RedactPii

TEXTS = ("a@b.org, 8.8.8.8 and c@d.org", None, "日本 +49 30 901820 at 10.0.0.1, version 3.3.3.0 at 12:30:45")


def test_each_kind_is_counted_and_the_text_is_not_changed():
    documents = docs(*TEXTS)
    columns = AnnotatePii(kinds=("phone", "ip", "email")).signals(documents)
    assert {name: column.to_pylist() for name, column in columns.items()} == {
        "emails": [2, 0, 0],
        "ips": [1, 0, 0],
        "phones": [0, 0, 1],
        "found": [3, 0, 1],
    }
    assert documents["text"].to_pylist() == list(TEXTS)


def test_spans_say_kind_first_byte_and_end_in_order():
    spans = AnnotatePii(spans=True).signals(docs(*TEXTS))["spans"].to_pylist()
    raw = [(text or "").encode() for text in TEXTS]
    assert [[(s["kind"], raw[row][s["start"] : s["end"]]) for s in these] for row, these in enumerate(spans)] == [
        [("email", b"a@b.org"), ("ip", b"8.8.8.8"), ("email", b"c@d.org")],
        [],
        [("phone", b"+49 30 901820")],
    ]


def test_it_finds_what_redacting_replaces():
    kinds: tuple[Kind, ...] = ("email", "ip", "phone")
    redacted = RedactPii(kinds=kinds, spans=True, public_only=False).transform(docs(*TEXTS))
    for name, column in AnnotatePii(kinds=kinds, spans=True, public_only=False).signals(docs(*TEXTS)).items():
        assert redacted[name].to_pylist() == column.to_pylist()


def test_kinds_that_do_not_exist_fail_when_the_step_is_made():
    with pytest.raises(RecipeError, match='annotate/pii: there is no kind "mail"'):
        AnnotatePii(kinds=("mail",))  # type: ignore[arg-type]


def phones_in(step: AnnotatePii, *documents: tuple[str, str | None, str | None]) -> list[int]:
    """How many telephone numbers are in documents of text, url and metadata."""
    batch = pa.RecordBatch.from_arrays(
        [
            pa.array([d[0] for d in documents], pa.large_string()),
            *(pa.array([d[i] for d in documents], pa.string()) for i in (1, 2)),
        ],
        names=["text", "url", "metadata"],
    )
    phones: list[int] = step.signals(batch)["phones"].to_pylist()
    return phones


def test_national_numbers_are_those_of_the_address_the_language_or_the_recipe():
    text = "Rathaus (030) 9018 200"
    german, coded = '{"language": "de"}', '{"lang": "deu"}'
    documents = [
        (text, None, None),
        (text, "https://host.de/", None),
        (text, "https://host.io", german),
        (text, None, coded),
    ]
    assert phones_in(AnnotatePii(kinds=("phone",)), *documents) == [0, 1, 1, 1]
    assert phones_in(AnnotatePii(kinds=("phone",), countries=("DE",)), *documents) == [1, 1, 1, 1]
    assert phones_in(AnnotatePii(kinds=("phone",), forms="plain"), *documents) == [0, 0, 0, 0]


def test_a_country_has_two_capitals():
    with pytest.raises(
        RecipeError, match=r'countries has "de", which is no country with telephone numbers; did you mean "DE"\?'
    ):
        AnnotatePii(countries=("de",))


def test_national_numbers_are_counted_by_name():
    step = AnnotatePii(kinds=("pl_pesel", "date", "email"))
    found = step.signals(docs("PESEL 44051401458 on 2024-11-21, a@b.org"))
    assert {name: column.to_pylist() for name, column in found.items()} == {
        "emails": [1],
        "pl_pesels": [1],
        "dates": [1],
        "found": [3],
    }
