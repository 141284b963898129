"""From rows and tokens of shards to documents: each answer beside the slow one, token by token."""

import numpy as np
import pytest

from corpusmill.errors import ShardError
from corpusmill.loader import TokenLoader
from corpusmill.ops import tracing
from corpusmill.shards import open_shards
from corpusmill.shards.layout import PADDING
from made_run import made_run


@pytest.fixture(scope="module")
def shards():
    return open_shards(made_run() / "output" / "shards")


def documents_of(shards) -> np.ndarray:
    """The document of each token, from the spans of all."""
    spans = shards.spans(0, len(shards))
    documents = np.full(len(shards), PADDING)
    stops = [*spans.start.tolist()[1:], len(shards)]
    for start, stop, document in zip(spans.start.tolist(), stops, spans.document.tolist()):
        documents[start:stop] = document
    return documents


def test_every_row_is_the_documents_of_its_tokens(shards):
    documents, length = documents_of(shards), shards.index.sequence_length
    for row in range(len(shards) // length):
        traced = np.full(length, PADDING)
        for piece in tracing.of_row(shards, row):
            assert piece.at == row * length + piece.start and piece.row == row
            traced[piece.start : piece.start + piece.length] = piece.document
        assert traced.tolist() == documents[row * length : (row + 1) * length].tolist()


def test_a_row_may_have_another_length(shards):
    documents = documents_of(shards)
    pieces = tracing.of_row(shards, 2, seq_len=10)
    assert [piece.document for piece in pieces] == list(dict.fromkeys(documents[20:30].tolist()))
    assert sum(piece.length for piece in pieces) == 10 and all(piece.at == 20 + piece.start for piece in pieces)


def test_every_token_leads_to_its_document_and_its_place_in_it(shards):
    documents = documents_of(shards)
    for token in range(0, len(shards), 7):
        if documents[token] == PADDING:
            continue
        piece = tracing.of_token(shards, 0, token)
        first = int(np.flatnonzero(documents == documents[token])[0])
        assert (piece.document, piece.at, piece.length) == (documents[token], token, 1)
        assert piece.offset == token - first, "documents of concat follow each other"
        assert piece.about["id"] == tracing.origins(shards, [piece.document])[piece.document]["id"]


@pytest.mark.parametrize("context", [0, 1, 20, 10_000])
def test_the_text_around_a_token_is_of_its_document(shards, context):
    documents = documents_of(shards)
    for token in range(0, len(shards), 41):
        if documents[token] == PADDING:
            continue
        piece = tracing.of_token(shards, 0, token)
        begin, stop = tracing.around(shards, piece, context)
        slow_begin = slow_stop = token
        while slow_begin > max(token - context, 0) and documents[slow_begin - 1] == documents[token]:
            slow_begin -= 1
        slow_stop += 1
        while slow_stop < min(token + 1 + context, len(shards)) and documents[slow_stop] == documents[token]:
            slow_stop += 1
        assert (begin, stop) == (slow_begin, slow_stop)


def test_the_text_of_all_tokens_of_a_document_is_its_text(shards):
    import corpusmill

    texts = {document.id: document.text for document in corpusmill.open(made_run()).documents()}
    documents = documents_of(shards)
    about = tracing.origins(shards, range(3))
    for document in range(3):
        (tokens,) = np.nonzero(documents == document)
        shown = tracing.text(shards, int(tokens[0]), int(tokens[-1]))  # without its end, which is a token
        assert shown == texts[about[document]["id"]]


@pytest.mark.parametrize("step", [0, 1, 3])
def test_a_step_has_the_documents_that_the_loader_says(step):
    loader = TokenLoader(made_run() / "output" / "shards", batch_size=4, seed=3)
    batch = loader.at(step)
    traced = np.full(batch["doc_ids"].shape, PADDING)
    for piece in tracing.of_step(loader, step):
        traced[piece.row, piece.start : piece.start + piece.length] = piece.document
        assert piece.sample is not None and piece.epoch is not None
    assert traced.tolist() == batch["doc_ids"].tolist()
    some = tracing.of_step(loader, step, range(1, 3))
    assert some == [piece for piece in tracing.of_step(loader, step) if piece.row in (1, 2)]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda shards: tracing.of_row(shards, 10**6), "there is no row 1000000; the shards have rows 0 to"),
        (lambda shards: tracing.of_row(shards, 10**6, shard=0), "there is no row 1000000 of shard 0; it has rows 0 to"),
        (lambda shards: tracing.of_row(shards, 0, shard=5), "there is no shard 5; the folder has shards 0 to 0"),
        (lambda shards: tracing.of_token(shards, 5, 0), "there is no token 0 of shard 5; the folder has shards 0 to 0"),
        (lambda shards: tracing.of_token(shards, 0, 10**9), "there is no token 1000000000 of shard 0; the folder has"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(shards, ask, message):
    with pytest.raises(ShardError, match=message):
        ask(shards)
