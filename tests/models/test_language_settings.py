"""FineWeb2's settings by language and script, and groups of languages."""

import numpy as np
import pyarrow as pa
import pytest

from corpusmill.models.fineweb2 import NO_PAIR, SCRIPT_OF_CODE, settings
from corpusmill.models.language_groups import GROUPS, members
from corpusmill.text.scripts import SCRIPTS
from text_strategies import strings


def pair_of(label, text):
    own = settings()
    return own.names(own.find_pairs(pa.array([label], pa.string()), strings(text))).to_pylist()[0]


@pytest.mark.parametrize(
    ("label", "text", "pair"),
    [
        ("en", "the mill", None),
        ("fr", "le moulin", "fra_Latn"),
        ("fr", "", "fra_Latn"),
        ("de", None, "deu_Latn"),
        ("sr", "млин на реци", "srp_Cyrl"),
        ("xx-no-language", "text", None),
        (None, "text", None),
    ],
)
def test_the_pair_of_a_language_and_its_text(label, text, pair):
    assert pair_of(label, text) == pair


def test_a_language_of_several_scripts_has_that_of_most_letters():
    own = settings()
    several = {label: places for label, places in own.by_label.items() if len(places) > 1}
    assert several
    for label, places in several.items():
        for place in places:
            script = SCRIPT_OF_CODE.get(own.pairs[place].partition("_")[2])
            if script not in ("latin", "cyrillic", "arabic", "devanagari"):
                continue
            text = {"latin": "abcd", "cyrillic": "где", "arabic": "كتاب", "devanagari": "चक्की"}[script]
            assert pair_of(label, f"{text * 3} 12").endswith(own.pairs[place].partition("_")[2])
        assert pair_of(label, "123 !") in [own.pairs[place] for place in places]


def test_names_and_places_are_inverse():
    own = settings()
    places = np.array([0, NO_PAIR, len(own.pairs) - 1])
    names = own.names(places)
    assert names.to_pylist() == [own.pairs[0], None, own.pairs[-1]]
    assert own.places(names).tolist() == places.tolist()
    assert own.places(pa.array(["no_Pair"])).tolist() == [NO_PAIR]


def test_words_end_at_their_hyphen_where_stop_words_do():
    own = settings()
    maltese = own.pairs.index("mlt_Latn")
    assert own.hyphens[maltese] and not own.hyphens[own.pairs.index("fra_Latn")]
    pairs = np.array([own.pairs.index("fra_Latn"), maltese, NO_PAIR, maltese])
    rows, texts = own.apart(strings("a-b", "il-kelb - x-1", "a-b", "id-dar"), pairs)
    assert rows.tolist() == [1, 3] and texts.to_pylist() == ["il- kelb - x-1", "id- dar"]


def test_bounds_are_one_a_pair():
    own = settings()
    assert len(own.pairs) > 1800 and own.pairs == sorted(own.pairs)
    assert all(len(values) == len(own.pairs) for values in own.bounds.values())
    assert set(SCRIPT_OF_CODE.values()) <= set(SCRIPTS)


def test_members_of_groups_and_of_languages_alone():
    assert members(["norwegian"]) == {"no", "nn", "nb"}
    assert members(["en", "malay", "id"]) == {"en", "ms", "id", "min"}
    assert members([]) == set()
    assert all(len(group) > 1 and name not in group for name, group in GROUPS.items())
