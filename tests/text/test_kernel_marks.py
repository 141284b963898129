"""Characters and bullets of one's own, against the definitions."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from corpusmill.text.marks import count_bullets, count_characters
from text_strategies import batches, strings

sets = st.sampled_from(["#@{}[]<>|\\", "#…", "•-*", "é日😀", "."]) | st.text(min_size=1, max_size=5)


@settings(max_examples=200)
@given(batches, sets)
@example(["#é…😀", "\x00", "\x7f\u0080"], "…\x00\u0080")
def test_characters_of_a_set_are_counted(batch, characters):
    wanted = [sum(c in characters for c in text) for text in batch]
    assert count_characters(strings(*batch), characters).tolist() == wanted


def slow_bullets(text, bullets):
    lines = text.splitlines()
    return len(lines), sum(line.lstrip().startswith(tuple(bullets)) for line in lines)


@settings(max_examples=300)
@given(batches, sets.filter(lambda characters: not any(map(str.isspace, characters))))
@example(["- a\r\n\r\n* b\r\n  • c", "\r\n", "\n", "-", "\r", "-\n\r"], "•-*")
def test_lines_that_begin_with_a_bullet_are_counted(batch, bullets):
    lines, bulleted = count_bullets(strings(*batch), bullets)
    assert list(zip(lines.tolist(), bulleted.tolist())) == [slow_bullets(text, bullets) for text in batch]


def test_a_null_has_nothing():
    assert count_characters(strings(None, "#"), "#").tolist() == [0, 1]
    assert [counts.tolist() for counts in count_bullets(strings(None, "- a"), "-")] == [[0, 1], [0, 1]]
