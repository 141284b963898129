import re
import string

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conftest import docs
from corpusmill.engine.work.batch import Batch
from corpusmill.errors import RecipeError
from corpusmill.steps.clean.refinedweb_lines import RefinedwebLines

KEEP_ALL = RefinedwebLines(max_words_removed=None)
PROSE = "The river that runs to the sea has to be crossed with care."


def run(step: RefinedwebLines, text: str | None) -> tuple[str, str | None, dict[str, object]]:
    """What is left of the text, why it is dropped, and its signals."""
    batch = Batch(docs(text))
    batch.apply(0, "lines", step)
    reasons = [column.to_pylist()[0] for _, column in batch.reasons]
    signals = {name.removeprefix("lines."): column.to_pylist()[0] for name, column in batch.signals.items()}
    return batch.docs["text"].to_pylist()[0], reasons[0] if reasons else None, signals


@pytest.mark.parametrize(
    ("line", "part", "counted_as"),
    [
        ("BREAKING NEWS TODAY", {"max_uppercase": None}, "uppercase"),
        ("ABCd efG", {"max_uppercase": 0.6}, "uppercase"),
        ("12/03/2014 - 17:30", {"numeric": False}, "numeric"),
        ("3 likes", {"counters": ()}, "counter"),
        ("1.2k views | 14 shares", {"counters": ()}, "counter"),
        ("Comments (5)", {"counters": ("like",)}, "counter"),
        ("Menu", {"one_word": False}, "one_word"),
    ],
)
def test_a_line_is_removed_by_this_rule_and_kept_when_it_is_off(line, part, counted_as):
    step = RefinedwebLines(max_words_removed=None, **part)
    text, _, signals = run(KEEP_ALL, f"{PROSE}\n{line}\n{PROSE}")
    assert (text, signals[f"lines_{counted_as}"]) == (f"{PROSE}\n{PROSE}", 1)
    text, _, signals = run(step, f"{PROSE}\n{line}\n{PROSE}")
    assert (text, signals[f"lines_{counted_as}"]) == (f"{PROSE}\n{line}\n{PROSE}", 0)


@pytest.mark.parametrize("line", ["ABcd", "3 of us like it", "10 points to remember", "1 2 3 Next", "Two words"])
def test_a_line_like_these_is_kept(line):
    step = RefinedwebLines(max_words_removed=None, one_word=False)
    assert run(step, line)[0] == line


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("Sign in to read the rest", "to read the rest"),
        ("SIGN IN | Our weekly letter", "Our weekly letter"),
        ("He left the house. Read more...", "He left the house."),
        ("A tale of two towns » Continue reading", "A tale of two towns"),
        ("Blue chair 3 items in cart now", "Blue chair now"),
        ("Add to cart", ""),
        ("Read more >>", ""),
        ("Signs in the street", "Signs in the street"),
        ("We sign in ink", "We sign in ink"),
        ("Much has been written here and there, and yet you should read more", None),  # 13 words
    ],
)
def test_phrases_are_cut_out_of_short_lines(line, left):
    text, _, signals = run(KEEP_ALL, f"{PROSE}\n{line}")
    left = line if left is None else left
    assert text == (f"{PROSE}\n{left}" if left else PROSE)
    assert signals["lines_cut"] == (left != line)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("MENU HERE\n\na river runs\n\nMENU HERE\n\nthe sea\n\nMENU HERE", "a river runs\n\n\nthe sea"),
        ("\na river runs\n\n", "\na river runs\n\n"),
        ("MENU HERE\n\n", ""),
    ],
)
def test_no_blank_lines_are_left_at_an_end_where_lines_were_removed(text, left):
    assert run(KEEP_ALL, text)[0] == left


@pytest.mark.parametrize(
    ("phrases", "line", "left"),
    [
        ({"at_start": ("Über uns",)}, "über uns | Unsere Post", "Unsere Post"),
        ({"at_start": ("Über uns",)}, "Überunsere Post heute", "Überunsere Post heute"),
        ({"at_end": ("читать далее",)}, "Река течёт к морю. Читать далее »", "Река течёт к морю."),
        ({"at_end": ("далее",)}, "И так неподалее", "И так неподалее"),
        ({"at_end": ("続きを読む",)}, "川は 海へ流れる。続きを読む", "川は 海へ流れる。"),
        ({"at_end": ("read more...",)}, "The river read more...", "The river"),
        ({"anywhere": ("в корзине",)}, "Стул 3 в корзине сейчас", "Стул сейчас"),
        ({"counters": ("просмотров",)}, "1 234 просмотров", "1 234 просмотров"),
        ({"counters": ("просмотров",)}, "1234 просмотров", ""),
    ],
)
def test_phrases_may_be_of_any_language(phrases, line, left):
    step = RefinedwebLines(max_words_removed=None, **{"at_end": (), "at_start": (), "anywhere": (), **phrases})
    assert run(step, f"{PROSE}\n{line}")[0] == (f"{PROSE}\n{left}" if left else PROSE)


@pytest.mark.parametrize(("words", "reason"), [(19, None), (18, "max_words_removed")])
def test_a_document_that_loses_more_than_a_twentieth_is_dropped_and_keeps_its_lines(words, reason):
    prose = " ".join(["word"] * words)
    text, dropped_for, signals = run(RefinedwebLines(), f"{prose}\nMenu")
    assert (text, dropped_for) == (prose if reason is None else f"{prose}\nMenu", reason)
    assert signals["words_removed_ratio"] == pytest.approx(1 / (words + 1))


def test_words_that_are_cut_count_as_removed():
    assert run(KEEP_ALL, "Sign in to read")[2]["words_removed_ratio"] == 0.5


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n", None])
def test_without_words_nothing_is_removed(text):
    left, reason, signals = run(RefinedwebLines(), text)
    assert (left, reason, signals["words_removed_ratio"]) == (text or "", "empty", 0.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"max_words_removed": 5}, "max_words_removed is a share from 0 to 1, got 5"),
        ({"phrase_words": -1}, "phrase_words must be at least 0"),
        ({"at_end": ("...",)}, 'at_end has "..."; a phrase has a letter or digit'),
        ({"anywhere": (" cart",)}, 'anywhere has " cart"; a phrase has a letter or digit, and no white space at its'),
    ],
)
def test_what_makes_no_sense_fails_when_the_step_is_made(wrong, message):
    with pytest.raises(RecipeError, match=re.escape(message)):
        RefinedwebLines(**wrong)


SEPARATORS = " \t\xa0|>»›•·–—…:()[]-"


def slow_lines(text, step):
    """(text, words removed, lines by rule), by the rules read aloud, a line at a time."""
    kept, lost = [], 0
    counts = dict.fromkeys(["uppercase", "numeric", "counter", "one_word", "cut"], 0)
    for line in text.split("\n"):
        chars = "".join(line.split())
        rule = None
        if sum(map(str.isupper, chars)) > 0.5 * len(chars):
            rule = "uppercase"
        elif any(map(str.isdecimal, line)) and not any(map(str.isalpha, line)):
            rule = "numeric"
        elif len(line.split()) <= 10 and only_counters(line.strip(), step.counters):
            rule = "counter"
        elif len(line.split()) == 1:
            rule = "one_word"
        if rule is None and 0 < len(line.split()) <= 10:
            left = without_phrases(line.strip(), step)
            if left is not None:
                counts["cut"] += 1
                lost += len(line.split()) - len(left.split())
                kept += [line.replace(line.strip(), left) if left else None]
                continue
        if rule is None:
            kept.append(line)
        else:
            kept.append(None)
            counts[rule] += 1
            lost += len(line.split())
    filled = [at for at, line in enumerate(kept) if line is not None and line.strip()]
    first, last = (filled[0], filled[-1]) if filled else (len(kept), -1)
    head, tail = kept[:first], kept[last + 1 :]
    # Blank lines at an end go if a line went there; those of a text without a word left are at both ends.
    left = [*([] if None in head else head), *kept[first : last + 1], *([] if None in tail or not filled else tail)]
    return "\n".join(line for line in left if line is not None), lost, counts


def only_counters(line, names):
    number, name = r"[0-9][0-9.,]*(?:\s?[kmb]\b)?", "|".join(sorted(names, key=len, reverse=True))
    separators = string.punctuation + SEPARATORS
    rest, between = line.lower().lstrip(separators), " "
    while rest and any(c in " \t\xa0|/·•" for c in between):
        counter = re.match(rf"{number}\+?\s*\b({name})\b|\b({name})\b[\s:(]*{number}\b", rest, re.ASCII)
        if counter is None:
            return False
        left = rest[counter.end() :]
        rest = left.lstrip(separators)
        between = left[: len(left) - len(rest)]
        if not rest:
            return True
    return False


def without_phrases(line, step):
    """What is left of the line, None if it holds no phrase."""
    before = line
    for phrase in sorted(step.at_start, key=len, reverse=True):
        begins = line.lstrip(SEPARATORS)
        if re.match(rf"{phrase}\b", begins, re.ASCII | re.IGNORECASE):
            line = " " + begins[len(phrase) :].lstrip(SEPARATORS + ".!,")
            break
    for phrase in sorted(step.at_end, key=len, reverse=True):
        ends = line.rstrip(string.punctuation + SEPARATORS)
        if re.search(rf"\b{phrase}\Z", ends, re.ASCII | re.IGNORECASE):
            line = ends[: -len(phrase)].rstrip(SEPARATORS) + " "
            break
    anywhere = "|".join(sorted(step.anywhere, key=len, reverse=True))
    edge = f"[{re.escape(SEPARATORS)}]*"
    line = re.sub(rf"{edge}(\b[0-9]+ )?\b({anywhere})\b{edge}", " ", line, flags=re.ASCII | re.IGNORECASE)
    if line == before:
        return None
    return line.strip() if any(map(str.isalnum, line)) else ""


PARTS = [
    "a river runs",
    "The sea.",
    "WORD",
    "Word",
    "x",
    "3",
    "12.5k",
    "likes",
    "Comments",
    "share",
    " ",
    " ",
    "\n",
    "\n",
]
PARTS += [
    "Sign in",
    "log in",
    "Read more",
    "read more...",
    "items in cart",
    "3 items in cart",
    " | ",
    " » ",
    "(",
    ")",
    "...",
]
pages = st.lists(st.sampled_from(PARTS), max_size=24).map("".join) | st.lists(st.sampled_from(PARTS), max_size=24).map(
    " ".join
)


@settings(max_examples=300)
@given(st.lists(pages, min_size=1, max_size=3))
@example(["Menu\nHome", "Menu\na b\nHome\nNews", "\nMenu\n", "a b\nMenu\n"])
def test_equals_the_rules_read_aloud(batch):
    expected = [slow_lines(text, KEEP_ALL) for text in batch]
    changed = KEEP_ALL.transform(docs(*batch))
    assert changed["text"].to_pylist() == [text for text, _, _ in expected]
    for name in expected[0][2]:
        assert changed[f"lines_{name}"].to_pylist() == [counts[name] for _, _, counts in expected]
    words = [len(text.split()) for text in batch]
    assert changed["words_removed_ratio"].to_pylist() == [
        lost / total if total else 0.0 for (_, lost, _), total in zip(expected, words)
    ]
