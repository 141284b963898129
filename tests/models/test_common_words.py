"""How many common words of which languages a text has: the kernel against the definition, and what is made of it."""

import re
from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.models.common_words import MAX_TIMES, MAX_WORDS_READ, NO_GROUP, count_words, hashed, make_common_words
from corpusmill.models.language import Identifier
from corpusmill.text.buffers import view

words = st.text(alphabet="abBéÉ", min_size=1, max_size=3)


def common(lists: list[list[str]], groups: list[int]):
    entries = [(word, place) for place, listed in enumerate(lists) for word in listed]
    single, hashes = hashed([word for word, _ in entries])
    assert len(single) == len(entries) == len(hashes)
    found = sorted({(int(h), entries[i][1]) for i, h in zip(single, hashes, strict=True)})
    return make_common_words(
        np.array([h for h, _ in found], np.uint64),
        np.array([place for _, place in found], np.int16),
        np.array(groups, np.int16),
    )


def slow_counts(text: str, group: int, lists: list[list[str]], groups: list[int]) -> tuple[int, int, int]:
    """The definition: in each list each word counts as often as it is written, at most MOST times."""
    written = [word.lower() for word in re.findall(r"[^\W_]+", text)]
    counts = Counter(written)
    of_list = [sum(min(counts[word], MAX_TIMES) for word in {word.lower() for word in listed}) for listed in lists]
    own = max((n for n, g in zip(of_list, groups, strict=True) if g == group), default=0)
    others = max((n for n, g in zip(of_list, groups, strict=True) if g == NO_GROUP), default=0)
    return len(written), own, others


@settings(max_examples=200, deadline=None)
@given(
    texts=st.lists(
        st.lists(st.one_of(words, st.sampled_from([" ", ", ", "-", ". ", "'", "\n", " «"]))).map("".join), min_size=1
    ),
    lists=st.lists(st.lists(words, max_size=5), min_size=1, max_size=6),
    data=st.data(),
)
def test_common_words_are_counted_as_the_definition_says(texts, lists, data):
    groups = sorted(data.draw(st.lists(st.integers(NO_GROUP, 1), min_size=len(lists), max_size=len(lists))))
    groups[-1] = max(groups[-1], 0)  # a model has a language with a list
    said = data.draw(st.lists(st.integers(0, groups[-1]), min_size=len(texts), max_size=len(texts)))
    text = view(pa.array(["a b", *texts], pa.large_string()))
    rows = np.arange(1, len(texts) + 1)
    counts = count_words(text.data, text.offsets, rows, np.array(said, np.int16), common(lists, groups))
    wanted = [slow_counts(text, group, lists, groups) for text, group in zip(texts, said, strict=True)]
    assert list(zip(*(column.tolist() for column in counts), strict=True)) == wanted


def test_the_first_words_of_a_long_text_are_looked_at():
    text = view(pa.array(["b " * MAX_WORDS_READ + "a " * 9], pa.large_string()))
    counts = count_words(text.data, text.offsets, np.zeros(1, np.int64), np.zeros(1, np.int16), common([["a"]], [0]))
    assert (counts.words.tolist(), counts.own.tolist()) == ([MAX_WORDS_READ], [0])


def test_an_entry_of_several_words_is_left_out():
    single, hashes = hashed(["a", "b c", "", "...", "d"])
    assert single.tolist() == [0, 4] and len(hashes) == 2


SOMALI = "Dowladda ayaa maanta sheegtay in ay dib u furi doonto iskuulada dalka kadib markii la xiray muddo bil ah. "
MENU = (
    "Home About us Contact Privacy policy All rights reserved. Subscribe to our newsletter and be the first to know "
    "about the news of the week. Share this on Facebook. "
)
# The Declaration of Human Rights in Gã and Rarotongan, which lid.wide does not name.
GA = (
    "Akɛni maji ni yɔɔ Jeŋmaji Ekomefeemɔ Ku lɛ mli lɛ ewo shi akɛ amɛkɛ ku lɛ baafee ekome bɔ ni afee ni hiɛ asɔ, ni "
    "asaŋ gbɔmɔ adesa hegbɛi kɛ heyeli ahe shi hewɔ lɛ, Akɛni shishinumɔ ni aaana yɛ hegbɛi kɛ heyeli nɛɛ ahe baafee "
    "nɔ oti ni abaadamɔ nɔ koni shiwoo nɛɛ aye omanye hewɔ lɛ, Belɛ, Agbɛnɛ Kpee Wulu lɛ miiha ale"
)
RAROTONGAN = (
    "E, i te mea oki e, e mea puapinga rava atu kia paruru ia te tikaanga tangata e te mana o te ture kia kore tetai "
    "tangata kia akakeu ia ki tetai mataara ei ravenga openga kia akatupu i te orureau i te tamaki atu i te takinokino "
    "anga e te akatuika’a anga, E, i te mea oki e, e mea puapinga rava atu kia akamatutu ia te tupuanga o te pirianga"
)


def test_common_words_find_languages_that_the_model_lacks_and_its_own_beside_english():
    texts = [SOMALI * 2, MENU * 2 + SOMALI * 2, MENU * 2, GA, RAROTONGAN]
    columns = Identifier().columns(pa.array(texts, pa.large_string()))
    assert columns["label"].to_pylist() == ["so", "so", "en", "unknown", "unknown"]
    assert columns["runner_up"].to_pylist()[3:] == ["ee", "mi"]
