"""Words of a list are found as they are written to get past such lists, and nothing else is."""

import re

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.errors import AssetError
from corpusmill.text.lexicon import FORM_CAPACITY, SUBSTITUTES, find_words, make_words, read_words

LIST = ["damn", "dildos", "idiot", "kill", "lll", "nags", "oaf", "oafish"]
WORDS = make_words(LIST)


def column(*texts: str | None) -> pa.LargeStringArray:
    return pa.array(texts, pa.large_string())


def words_in(text: str, words=WORDS) -> list[str]:
    hits, _ = find_words(column(text), words)
    data = text.encode()
    return [data[start:end].decode() for _, start, end in hits.tolist()]


def counted(text: str) -> int:
    return int(find_words(column(text), WORDS)[1][0])


@pytest.mark.parametrize(
    "text",
    [
        "oaf",
        "OAF",
        "Oaf",
        "oaaaaf",
        "0af",
        "0@f",
        "0AAAf",
        "k1ll",
        "k!!l",
        "k1l1",
        "oafishhh",
        "kiiiiill",
        "d*mn",
        "d**n",
        "lllll",
        "id1ot",
    ],
)
def test_a_word_of_the_list_is_found_however_it_is_written(text):
    for around in ("{}", "you {}?", "({}).", "an {}-like", "“{}”", "{}'s", "**{}**", "x_{}_y", "@{}"):
        assert words_in(around.format(text)) == [text], around


@pytest.mark.parametrize(
    "text", ["d a m n", "D.A.M.N", "d-a-m-n", "d_4_m_n", "k i l l", "k 1 l l", "o a f i s h", "d a a a m n"]
)
def test_single_letters_are_read_together(text):
    for around in ("{}", "you {} fool", "({})", "so {}!", "{} 2 go"):
        assert words_in(around.format(text)) == [text], around
    assert words_in(f"a {text}") == [text]


@pytest.mark.parametrize(
    "text",
    [
        "oafs", "loaf", "oaff", "ooaf", "oa f", "kil", "skill", "kills", "éoaf", "oafé", "oâf", "111", "0af0", "1d107", "d***",
        "*amn", "dam*", "d*m", "o*f", "o a f", "d a m  n", "d a-m n", "d a m n s", "s d a m n", "da mn", "d.a.m.n.s",
        "K111", "ok ill", "d*mn*d", "2014", "!!!", "***", "", " ", "東京oaf",
    ],
)  # fmt: skip
def test_what_only_looks_like_one_is_not(text):
    assert words_in(text) == []


def test_words_are_counted_as_they_are_written():
    assert counted("The oaf, 2 of 3: it's 50 % b@d - !!! d a m n") == 13
    assert counted("no_one é 東京 $ *") == 4
    hits, counts = find_words(column("oaf", None, "", "an oaf"), WORDS)
    assert hits.tolist() == [[0, 0, 3], [3, 3, 6]] and counts.tolist() == [1, 0, 0, 2]


def test_spans_are_bytes_and_leave_out_what_is_around():
    assert find_words(column("é !!oaf!!"), WORDS)[0].tolist() == [[0, 5, 8]]
    assert find_words(column("I d a m n"), WORDS)[0].tolist() == [[0, 2, 9]]


def test_a_form_of_any_length_is_seen_or_passed_by():
    assert words_in("o" + "a" * 500 + "f") == ["o" + "a" * 500 + "f"]
    assert words_in("d" + " a" * 70 + " m n") == []
    assert words_in("d" + "*" * 100 + "n") == []


# The slow twin: a regular expression for each word, tried on each word of the text.
SINGLE = r"[A-Za-z013457-9@$!]"
INSIDE = r"[^\W_]|[@$!*]"
RUNS = re.compile(rf"(?:{INSIDE})+")
NEXT = r"(?![!*]*(?:[^\W_]|[@$]))"
ALONE = re.compile(rf"{SINGLE}{NEXT}(?:([ .\-_]){SINGLE}{NEXT}(?:\1{SINGLE}{NEXT})*)")


def letter_class(letter: str) -> str:
    return "[" + re.escape(letter + "".join(mark for mark, means in SUBSTITUTES.items() if letter in means)) + "]"


def stretched(word: str) -> re.Pattern[str]:
    groups = [match[0] for match in re.finditer(r"(.)\1*", word)]
    return re.compile("".join(f"(?:{letter_class(g[0])}{{{len(g)}}}|{letter_class(g[0])}{{3,}})" for g in groups))


def masked(word: str) -> re.Pattern[str]:
    inner = "".join(f"(?:{letter_class(letter)}|\\*)" for letter in word[1:-1])
    return re.compile(letter_class(word[0]) + inner + letter_class(word[-1]))


FORMS = [(word, stretched(word), masked(word)) for word in LIST]


def slow_is_form(form: str) -> bool:
    form = form.lower()
    if "*" not in form:
        form = re.sub(r"(.)\1{2,}", r"\1\1\1", form)
    if len(form) > FORM_CAPACITY or not re.search("[a-z]", form) or 2 * len(re.findall("[0-9]", form)) > len(form):
        return False
    if "*" in form:
        return len(form) >= 4 and any(m.fullmatch(form) for _, _, m in FORMS)
    return any(s.fullmatch(form) for _, s, _ in FORMS)


def slow_find(text: str) -> tuple[list[tuple[int, int]], int]:
    hits, count, at = [], 0, 0
    while run := RUNS.search(text, at):
        start, end = run.span()
        alone = ALONE.match(text, start) if end - start == 1 else None
        if alone:
            start, end = alone.span()
            letters = text[start:end:2]
            if len(letters) >= 4 and slow_is_form(letters):
                hits.append((start, end))
            elif len(letters) >= 5 and letters[0] in "aAiI" and text[start + 1] == " " and slow_is_form(letters[1:]):
                hits.append((start + 2, end))
            else:
                end -= 1
                letters = letters[:-1]
            count += sum(letter.isalnum() for letter in letters)
        else:
            word = run[0]
            count += any(map(str.isalnum, word))
            for marks in ("", "!*", "@$!*"):
                part = word.strip(marks) if marks else word
                if len(part) >= 3 and part.isascii() and slow_is_form(part):
                    first = start + word.index(part)
                    hits.append((first, first + len(part)))
                    break
        at = end
    return hits, count


pieces = st.sampled_from(
    [
        *LIST,
        "d a m n",
        "k.1.l.l",
        "0af",
        "d*mn",
        "a",
        "I",
        "é",
        "东",
        "1",
        "7",
        "!",
        "!!",
        "*",
        "@",
        "$",
        "l",
        "k",
        "ok",
        "d",
    ]
) | st.text("dilosamnkf01!$@*aA é_'-", max_size=8)
gaps = st.sampled_from([" ", "", ".", "-", "_", "  ", "\n", ", ", "’"])
texts = st.lists(st.tuples(pieces, gaps), max_size=12).map(lambda parts: "".join(map("".join, parts)))


@given(st.lists(texts, max_size=4))
@settings(max_examples=400)
def test_agrees_with_regular_expressions(written):
    hits, counts = find_words(column(*written), WORDS)
    expected = []
    for d, text in enumerate(written):
        spans, count = slow_find(text)
        assert counts[d] == count, text
        expected += [[d, len(text[:a].encode()), len(text[:b].encode())] for a, b in spans]
    assert hits.tolist() == expected


@pytest.mark.parametrize("length", range(60, 70))
def test_where_a_block_ends_makes_no_difference(length):
    text = "x" * (length - 1) + " oaf"
    assert words_in(text) == ["oaf"]
    assert words_in("é" * length + " d a m n!") == ["d a m n"]


def test_a_list_is_read_from_a_file_and_invalid_ones_are_refused(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("# ours\nOaf oafish  # two\n\noaf\n", "utf-8")
    assert words_in("an oaf is oafish", read_words(path)) == ["oaf", "oafish"]
    for content, said in (
        ("", "without words"),
        ("sh1t", r'words\.txt:1: "sh1t"'),
        ("\nab", ":2: .* 3 to 32 letters"),
        ("oooof", "in a row"),
    ):
        path.write_text(content, "utf-8")
        with pytest.raises(AssetError, match=said):
            read_words(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(AssetError, match="cannot read the list of words"):
        read_words(path)
