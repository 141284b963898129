"""annotate/quality: what it says of documents, and of models that cannot be used."""

import pytest

from conftest import docs
from corpusmill.errors import AssetError, RecipeError
from corpusmill.models.quality import Scorer
from corpusmill.steps import Annotate, Filter
from corpusmill.steps.annotate.quality import Quality

PROSE = "The pattern is made of many smaller patterns laid on top of each other, and each has a known period. " * 5


def test_scores_each_document_and_drops_none():
    columns = Quality().signals(docs(PROSE, "Add to cart\nBuy now", None))
    assert list(columns) == ["score"]
    assert (
        columns["score"].to_pylist() == Scorer().scores(docs(PROSE, "Add to cart\nBuy now", None)["text"]).to_pylist()
    )
    assert columns["score"][2].as_py() is None
    assert isinstance(Quality(), Annotate) and not isinstance(Quality(), Filter)


def test_a_model_that_cannot_be_used_is_reported_when_the_step_is_made(tmp_path):
    (tmp_path / "broken.quality").write_bytes(b"CMARRAY1 and no more")
    with pytest.raises(AssetError, match="damaged"):
        Quality(model=str(tmp_path / "broken.quality"))
    with pytest.raises(RecipeError, match="label that means good"):
        Quality(model="lid.176.ftz")


def test_the_model_is_part_of_the_fingerprint_of_a_run():
    assert Quality().assets == ("quality-en",)
    assert Quality(model="lid.176.ftz", good="en").assets == ("lid.176.ftz",)
