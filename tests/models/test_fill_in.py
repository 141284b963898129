"""Fill in the middle: what is cut comes back byte for byte, whatever the cuts, the room and the order."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.errors import AssetError, RecipeError
from corpusmill.models.arranged import arrange
from corpusmill.models.fill_in import Fim, restore, sentinel_ids
from corpusmill.models.tokenizer import load
from corpusmill.schema import document_id
from corpusmill.steps.tokenize.bpe import Bpe
from made_tokenizers import write_bpe

SENTINELS = ("<fim_prefix>", "<fim_suffix>", "<fim_middle>")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("fim") / "t.json"
    # Qwen's sentinels are not special in its file: that they are added is enough.
    write_bpe(path, ("<|endoftext|>", "<s>"), SENTINELS)
    return load(path, "tokenizers", bos="<s>", controls=SENTINELS)


def documents(texts, urls=None):
    ids = [document_id("made", str(i)) for i in range(len(texts))]
    columns = {"id": ids, "url": urls or [None] * len(texts), "text": pa.array(texts, pa.large_string())}
    return pa.RecordBatch.from_pydict({**columns, "url": pa.array(columns["url"], pa.string())})


ANY = st.text(st.characters(codec="utf-8"), max_size=40)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(ANY | st.sampled_from(["<fim_middle>", "a\n--\nb\n--\n", "--\n--\n"]), max_size=6),
    st.floats(0, 1),
    st.floats(0, 1),
    st.sampled_from([None, 32, 40, 64]),
    st.sampled_from([None, "--\n"]),
    st.integers(0, 5),
)
def test_every_document_comes_back_byte_for_byte(tokenizer, texts, rate, spm, room, separator, seed):
    fim = Fim(rate=rate, spm=spm, separator=separator, seed=seed)
    ids, lengths, breaks = arrange(tokenizer, documents(texts), fim, None, room, None)
    marks = sentinel_ids(tokenizer, fim)
    edges = np.append(0, np.cumsum(lengths)).tolist()
    assert edges[-1] == len(ids)
    for text, a, b in zip(texts, edges, edges[1:]):
        some = ids[a:b]
        assert (int(some[0]), int(some[-1])) == (tokenizer.bos_id, tokenizer.eos_id)
        assert restore(tokenizer, some, fim).encode() == text.encode()
        counts = [int((some == mark).sum()) for mark in marks]
        assert counts[0] == counts[1] == counts[2]
        inner = [int(at) for at in breaks if a < at < b]
        assert all(int(ids[at]) == marks.prefix for at in inner)
        assert len(inner) == max(counts[0] - 1, 0)
        if room and counts[0]:
            assert np.diff([a, *inner, b]).max() <= room


def test_the_shares_are_those_that_were_asked_for_and_a_document_is_drawn_by_its_id(tokenizer):
    docs = documents([f"document {i} is a text" for i in range(2000)])
    fim = Fim(rate=0.3, spm=0.25)
    ids, lengths, _ = arrange(tokenizer, docs, fim, None, None, None)
    marks = sentinel_ids(tokenizer, fim)
    starts = np.cumsum(lengths) - lengths + 1
    filled = ids[starts] == marks.prefix
    assert 540 <= filled.sum() <= 660
    # SPM begins with the suffix; a PSM with an empty prefix looks the same.
    assert 0.2 <= (ids[starts[filled] + 1] == marks.suffix).mean() <= 0.37
    again, sizes, _ = arrange(tokenizer, docs.slice(700, 5), fim, None, None, None)
    at = int(lengths[:700].sum())
    assert again.tolist() == ids[at : at + int(sizes.sum())].tolist()


def test_a_tokenizer_without_sentinels_and_wrong_parameters_are_refused():
    with pytest.raises(AssetError, match=r"has none of the usual ones .*fim: \{sentinels:"):
        sentinel_ids(load("gpt2"), Fim())
    with pytest.raises(AssetError, match="there is no token <a>, <b>, <c>"):
        sentinel_ids(load("gpt2"), Fim(sentinels=("<a>", "<b>", "<c>")))
    with pytest.raises(RecipeError, match="rate is a share from 0 to 1, got 2"):
        Bpe(fim=Fim(rate=2))


def test_half_of_a_text_is_no_document(tokenizer):
    marks = sentinel_ids(tokenizer, Fim())
    with pytest.raises(ValueError, match="half of a text"):
        restore(tokenizer, np.array([marks.prefix, 5, marks.suffix, 6]), Fim())
