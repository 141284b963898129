"""C4's line rules, each switched on or off, against the rules read aloud; and what sentences are."""

import re
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from corpusmill.text import unicode
from corpusmill.text.c4 import LINE_REASONS, POLICY_PHRASES, VERDICTS, clean_lines
from corpusmill.text.sentences import ABBREVIATIONS, sentence_counts, sentence_spans
from text_strategies import WHITE, strings, texts

ASCII_LOWER = str.maketrans({c: c.lower() for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"})


def slow_clean(text, rules):
    """(text, verdict, lines by reason)"""
    kept, lines = [], dict.fromkeys(LINE_REASONS, 0)
    for whole in map(str.strip, text.splitlines()):
        words = whole.split()
        if rules["max_word_chars"] is not None and any(len(word) > rules["max_word_chars"] for word in words):
            lines["long_word"] += 1
            continue
        line = re.sub(r"\[\d*]|\[edit]|\[citation needed]", "", whole) if rules["citations"] else whole
        low = line.translate(ASCII_LOWER)
        ends = (".", "?", "!", '"', *(["'"] if rules["apostrophe"] else []))
        if rules["terminal_punctuation"] and (not line.endswith(ends) or line.endswith("...")):
            lines["no_terminal_punctuation"] += 1
        elif rules["min_words"] is not None and len(words) < rules["min_words"]:
            lines["few_words"] += 1
        elif rules["lorem_ipsum"] and "lorem ipsum" in low:
            return "", "lorem_ipsum", lines
        elif rules["javascript"] and "javascript" in low:
            lines["javascript"] += 1
        elif rules["curly_bracket"] and "{" in line:
            return "", "curly_bracket", lines
        elif rules["policy"] and any(phrase in low for phrase in POLICY_PHRASES):
            lines["policy"] += 1
        else:
            lines["kept"] += 1
            kept.append(line)
    return "\n".join(kept).strip(), "ok", lines


PARTS = [
    *(
        "one two three four",
        "One.",
        "a b",
        " ",
        "\u3000",
        "[1]",
        "[12",
        "]",
        "[]",
        "[٣]",
        "[edit]",
        "[citation needed]",
    ),
    *(
        ".",
        ".",
        ".\n",
        ".\n",
        "\n",
        "\r\n",
        "\r",
        "\x85",
        "...",
        "\u2028",
        "?",
        "!",
        '"',
        "'",
        "{",
        "é",
        "x" * 9,
        "日本語",
    ),
    *("Lorem ipsum", "JavaScript", "javascrip", *POLICY_PHRASES, "Privacy Policy"),
]
pages = st.lists(st.sampled_from(PARTS), max_size=40).map("".join)
SWITCHES = ["citations", "terminal_punctuation", "apostrophe", "lorem_ipsum", "javascript", "curly_bracket", "policy"]
switches = st.fixed_dictionaries(
    {
        "max_word_chars": st.sampled_from([None, 6, 1000]),
        "min_words": st.sampled_from([None, 1, 3]),
        **dict.fromkeys(SWITCHES, st.booleans()),
    }
)
ALL = {"max_word_chars": 1000, "min_words": 3} | dict.fromkeys(SWITCHES, True)


@settings(max_examples=300)
@given(st.lists(pages, min_size=1, max_size=3), switches)
@example(["[1] a b c.\n[2] d e f [3]."], ALL)
@example(["x" * 62 + " [1] uses COOKIES.\n" + "y" * 58 + " [12 and [edit] no more.[3]\nprivacy\npolicy for all."], ALL)
@example(
    ["[1] \n\n[2]\r\nx [3]\n"],
    dict.fromkeys(ALL, False) | {"citations": True, "min_words": None, "max_word_chars": None},
)
def test_equals_the_rules_read_aloud(batch, rules):
    assert found_by(batch, rules) == [slow_clean(text, rules) for text in batch]
    result = clean_lines(strings(*batch), **rules)
    assert result.sentences.tolist() == sentence_counts(result.text).tolist()


def found_by(batch, rules):
    result = clean_lines(strings(*batch), **rules)
    return [
        (text, VERDICTS[verdict], dict(zip(LINE_REASONS, lines.tolist(), strict=True)))
        for text, verdict, lines in zip(result.text.to_pylist(), result.verdict, result.lines, strict=True)
    ]


@pytest.mark.parametrize("white", WHITE, ids=lambda c: f"U+{ord(c):04X}")
def test_every_white_space_parts_words_and_lines_as_python_has_it(white):
    batch = [white, f"{white}one two{white}three.{white}", f"one two three.{white}four five six.{white * 3}", "x"]
    assert found_by(batch, ALL) == [slow_clean(text, ALL) for text in batch]
    assert sentence_counts(strings(*batch)).tolist() == [slow_sentences(text) for text in batch]


def test_a_document_of_10_mb_equals_the_rules_read_aloud():
    random = Random(10)
    lines = ["".join(random.choice(PARTS) + " " for _ in range(random.randrange(30))) for _ in range(2000)]
    lines += [" ".join(f"word{random.randrange(1000)}" for _ in range(random.randrange(200))) + "." for _ in range(500)]
    text = "\n".join(random.choice(lines) for _ in range(40_000)) + "\n" + "long" * 100_000 + " word."
    assert 9.5e6 < len(text.encode()) < 13e6
    rules = ALL | {"lorem_ipsum": False, "curly_bracket": False}
    assert found_by(["before.", text], rules)[1] == slow_clean(text, rules)
    assert sentence_counts(strings("x", text)).tolist() == [1, slow_sentences(text)]


def test_nulls_stay_null_and_long_words_are_counted_in_characters():
    line = "é" * 1000 + " and two more."
    result = clean_lines(strings(None, line, "é" + line))
    assert result.text.to_pylist() == [None, line, ""]
    assert result.lines[2, LINE_REASONS.index("long_word")] == 1


def slow_sentences(text):
    return len(slow_spans(text))


def slow_spans(text):
    """First character and end of each sentence, without the white space around it."""
    terminal = "".join(map(re.escape, unicode.terminal()))
    runs = re.compile(rf"[{terminal}][{terminal}\"')\]}}»’”]*")
    spans = []
    start = 0  # of the line
    for line in text.split("\n"):
        begin = 0
        for run in runs.finditer(line):
            after = line[run.end() :]
            if after and run.group() and ord(run.group()[0]) < 128:
                if not after[0].isspace():
                    continue
                if run.group()[0] == ".":
                    word = re.search(r"[A-Za-z]*$", line[: run.start()]).group()
                    before = line[: run.start() - len(word)][-1:]
                    if (len(word) == 1 or word in ABBREVIATIONS) and not before.isalnum():
                        continue
                    following = after.lstrip()[:1]
                    if following and (following.islower() or (following.istitle() and not following.isupper())):
                        continue
            spans.append((start + begin, start + run.end()))
            begin = run.end()
        spans.append((start + begin, start + len(line)))
        start += len(line) + 1
    trimmed = [(end - len(text[begin:end].lstrip()), begin + len(text[begin:end].rstrip())) for begin, end in spans]
    return [(begin, end) for begin, end in trimmed if begin < end]


SENTENCES = [
    "Mr",
    "Prof",
    "Professor",
    "A",
    "é",
    "word",
    "Word",
    ".",
    ". ",
    "! ",
    "?",
    "...",
    "。",
    "। ",
    '"',
    ") ",
    "\n",
    " ",
    "3",
    "ǅ",
]


@settings(max_examples=300)
@given(st.one_of(texts, st.lists(st.sampled_from(SENTENCES), max_size=30).map("".join)))
@example("Dr. Who. 1é.\nAé. B")
def test_sentences_are_counted_as_defined(text):
    assert sentence_counts(strings(text)).tolist() == [slow_sentences(text)], text
    spans, offsets = sentence_spans(strings("One. Two", text, None))
    expected = [[len(text[:begin].encode()), len(text[:end].encode())] for begin, end in slow_spans(text)]
    assert spans.tolist() == [[0, 4], [5, 8], *expected]
    assert offsets.tolist() == [0, 2, len(spans), len(spans)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", 3),
        ('He said "No." She left.', 2),
        ("Dr. J. Smith, e.g. here, paid 3.50 for www.example.org.", 1),
        ("it was... fine. Really", 2),
        ("一つ。二つ。", 2),
        ("A headline\nand a line.", 2),
        (" \n\n", 0),
        (None, 0),
    ],
)
def test_sentences_of(text, sentences):
    assert sentence_counts(strings(text)).tolist() == [sentences]
