import pytest
from hypothesis import example, given, settings
from slow_tokens import slow_tokens

from corpusmill.text.plain_tokens import count_tokens, token_spans
from text_strategies import batches, raw_strings, strings, texts


def words(text: str) -> list[str]:
    data = text.encode()
    return [data[start:end].decode() for start, end in token_spans(text)]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        (" \n\t\u3000", []),
        ("It's 3.5°", ["It", "'", "s", "3", ".", "5", "°"]),
        ("snake_case", ["snake", "_", "case"]),
        ("हिन्दी e\u0301te\u0301", ["हिन्दी", "e\u0301te\u0301"]),  # combining marks join
        ("東京は東", ["東", "京", "は", "東"]),
        ("กข", ["ก", "ข"]),
        ("한국 사람", ["한국", "사람"]),  # Korean has spaces
        ("x東y", ["x", "東", "y"]),
        ("👩\u200d🚀", ["👩", "\u200d", "🚀"]),
        (
            "x" * 200 + "é" + "y" * 70,
            ["x" * 200 + "é" + "y" * 70],
        ),  # longer than the 64 bytes that are looked at at once
        (" " * 130 + "a", ["a"]),
    ],
)
def test_tokens_are(text, tokens):
    assert words(text) == tokens


@given(texts)
@example("x" * 63 + "é")
@example("." * 70 + "é")
@settings(max_examples=300)
def test_tokens_agree_with_the_definition(text):
    assert token_spans(text) == slow_tokens(text)


@given(batches)
@settings(max_examples=50)
def test_tokens_are_counted_by_document(batch):
    assert count_tokens(strings(*batch)).tolist() == [len(slow_tokens(text)) for text in batch]


def test_a_null_has_no_tokens_and_malformed_bytes_end_with_their_document():
    assert count_tokens(strings("a", None, "b c")).tolist() == [1, 0, 2]
    assert count_tokens(raw_strings(b"a \xe4\xb8", b"\xff", b"x")).tolist()[2] == 1
