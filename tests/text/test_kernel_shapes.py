"""The shape of each line, against Python's own string methods."""

from random import Random

from hypothesis import example, given, settings
from hypothesis import strategies as st

from corpusmill.text.shapes import LINE, line_shapes, line_texts
from text_strategies import ATOMS, batches, strings


def slow_shapes(document, text):
    begin = 0
    for line in text.split("\n"):
        inner = line.strip()
        start = begin + len(line[: line.find(inner)].encode()) if inner else begin
        yield (
            document,
            begin,
            begin + len(line.encode()),
            start,
            start + len(inner.encode()),
            len(line.split()),
            len("".join(line.split())),
            sum(map(str.isalpha, line)),
            sum(map(str.isupper, line)),
            sum(map(str.isdecimal, line)),
        )
        begin += len(line.encode()) + 1


@settings(max_examples=150)
@given(batches)
@example(["\n", "", "a\n", "\n a\u3000B \n\n1\u0661"])
def test_equals_the_definition(batch):
    expected = [shape for document, text in enumerate(batch) for shape in slow_shapes(document, text)]
    lines = line_shapes(strings("cut off", *batch)[1:])
    assert lines.dtype == LINE and [row.item() for row in lines] == expected


def test_a_document_of_10_mb_equals_the_definition():
    random = Random(10)
    lines = ["".join(random.choice(ATOMS) for _ in range(random.randrange(200))) for _ in range(500)]
    text = "\n".join(random.choice(lines) for _ in range(19_000)) + "\n" + "LONG" * 100_000 + "\n" * 1000
    assert 9e6 < len(text.encode()) < 13e6
    assert [row.item() for row in line_shapes(strings("x\ny", text))[2:]] == list(slow_shapes(1, text))


@settings(max_examples=50)
@given(batches, st.randoms(use_true_random=False))
def test_lines_can_be_taken_in_any_order(batch, random):
    texts = strings("cut off", *batch)[1:]
    lines = line_shapes(texts)
    order = random.sample(range(len(lines)), len(lines))
    whole = [line.strip() for text in batch for line in text.split("\n")]
    assert line_texts(texts, lines[order]).to_pylist() == [whole[at] for at in order]


def test_a_null_is_one_empty_line():
    assert line_shapes(strings(None, "")).tolist() == [(d, *[0] * 9) for d in (0, 1)]
