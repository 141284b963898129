"""Words are those of spaCy's rules, cut further by a definition that a regular expression says in another way."""

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.steps.measures import MEASURES
from corpusmill.text.script_stats import listed_words, make_lists, stats_over
from corpusmill.text.script_words import script_words
from corpusmill.text.sentences import sentence_counts
from corpusmill.text.spacy_words import spacy_words

SINGLE = "\u3001-\u3007\u3008-\u301f\u3041-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
SINGLE += "\uff01-\uff0f\uff1a-\uff1f\uff61-\uff64"
KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
THAI = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e5c-\u0e5f\u0e81-\u0eba\u0ec0-\u0ece\u0edc-\u0edf"
KHMER, BURMESE = "\u1780-\u17d3\u17dd", "\u1000-\u103f\u1050-\u109f"
TIBETAN, SHAD = "\u0f00\u0f0b\u0f0c\u0f18-\u0f39\u0f3e-\u0fbc", "\u0f01-\u0f0a\u0f0d-\u0f17\u0f3a-\u0f3d\u0fbd-\u0fff"
SINGLE += SHAD
RUNS = re.compile(
    f"[{SINGLE}]|[{KATAKANA}]+|[{THAI}]+|[{KHMER}]+|[{BURMESE}]+|[{TIBETAN}]+"
    f"|[^{SINGLE}{KATAKANA}{THAI}{KHMER}{BURMESE}{TIBETAN}]+"
)
LEAD = "\u0e40-\u0e44\u0ec0-\u0ec4"
SIGN = "\u0e30-\u0e3a\u0e45\u0e47-\u0e4e\u0eb0-\u0eba\u0ec5\u0ec7-\u0ece"
SYLLABLE = re.compile(
    f"(?=[{LEAD}])|(?<![{LEAD}])(?=[\u0e01-\u0e2e\u0e81-\u0eae][{SIGN}])"
    "|(?<!\u17d2)(?=[\u1780-\u17b3][\u17b6-\u17d3\u17dd])"
    "|(?<!\u1039)(?=[\u1000-\u102a\u103f](?!\u1037?[\u1039\u103a]))"
    "|(?<=[\u0f0b\u0f0c])(?=[\u0f00\u0f18-\u0f39\u0f3e-\u0fbc])"
)


def strings(*texts):
    return pa.array(texts, pa.large_string())


def cut_by(finder, text):
    data = text.encode()
    return [data[start:end].decode() for _, start, end in finder(strings(text)).tolist()]


def slow_words(text):
    runs = [run for word in cut_by(spacy_words, text) for run in RUNS.findall(word)]
    return [piece for run in runs for piece in SYLLABLE.split(run) if piece]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't go (yet).", ["Do", "n't", "go", "(", "yet", ")", "."]),
        ("中文，中文abc。", ["中", "文", "，", "中", "文", "abc", "。"]),
        ("日本語のテキスト", ["日", "本", "語", "の", "テキスト"]),
        ("และการมีเป็น", ["และ", "การ", "มี", "เป็น"]),
        ("ພາສາລາວເປັນ", ["ພາ", "ສາ", "ລາວ", "ເປັນ"]),
        ("ភាសាខ្មែរនិងបាន", ["ភា", "សា", "ខ្មែរ", "និង", "បាន"]),
        ("မြန်မာသည် နှင့်", ["မြန်", "မာ", "သည်", "နှင့်"]),
        ("བོད་སྐད་ཀྱི་ཡི་གེ། །དང་", ["བོད་", "སྐད་", "ཀྱི་", "ཡི་", "གེ", "།", "།", "དང་"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("", []),
    ],
)
def test_scripts_without_spaces_are_cut_into_characters_or_syllables(text, words):
    assert cut_by(script_words, text) == words == slow_words(text)


PIECES = [*"การเป็นและที่ ພາສາເປັນ ភាសាខ្មែរ មိန်္ć中文日のアー။།ད་。！？ ab,.\n", "ཀྱི་", "༌", "က္က", "င့်", "င်", "́", "⿰", "𠀀"]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_words_agree_with_the_definition(text):
    assert cut_by(script_words, text) == slow_words(text)


@given(st.lists(st.text("ab ,.é\n'", max_size=30), max_size=4))
def test_other_scripts_have_the_statistics_of_spacy_s_words(texts):
    assert (stats_over(strings(*texts), "script") == stats_over(strings(*texts), "spacy")).all()


def test_a_repeated_sentence_is_repeated_words_in_a_script_without_spaces():
    texts = strings("今天天气很好我们去公园。" * 20)
    docs = pa.record_batch({"text": texts})
    by_script, by_space = (MEASURES[name](docs)["duplicate_10_gram_char_ratio"][0].as_py() for name in FAMILIES)
    assert by_space == 0 and by_script > 0.8


FAMILIES = ("stats_by_script", "stats")

LISTS = [["a", "la", "和", "서", "에서", "가"], [], ["a", *map(str, range(63))]]


def found_in(text):
    """Words, and what the Korean ones end with."""
    words = set(slow_words(text))
    return words | {word[-n:] for word in words for n in (1, 2) if re.fullmatch("[가-힣]+", word[-n:])}


@given(st.lists(st.tuples(st.text("a la和7가에서힣\n", max_size=20), st.integers(-1, 2)), max_size=5))
def test_listed_words_are_counted_once_each_by_the_list_of_the_document(given_texts):
    texts, numbers = [text for text, _ in given_texts], [number for _, number in given_texts]
    slow = [-1 if n < 0 else len(found_in(text) & set(LISTS[n])) for text, n in given_texts]
    assert listed_words(strings(*texts), np.array(numbers, np.int64), make_lists(LISTS)).tolist() == slow


@pytest.mark.parametrize(
    ("text", "sentences"),
    [("今天很好。明天呢？好！", 3), ("これは本です。それも本です。", 2), ("စာဖြစ်သည်။စာမဟုတ်။", 2), ("នេះជាសៀវភៅ។នោះ។", 2)],
)
def test_sentences_end_at_the_full_stops_of_their_script(text, sentences):
    assert sentence_counts(strings(text)).tolist() == [sentences]
