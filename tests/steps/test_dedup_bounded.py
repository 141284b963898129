"""What is held in memory at a time decides nothing."""

from random import Random

from corpusmill.steps import corpus
from corpusmill.steps.dedup import _compare, _decisions
from corpusmill.steps.dedup.minhash import Minhash
from dedup_runs import WORDS, dedup, named

STEP = Minhash(ngram=1, bands=12, rows=2, threshold=0.5)


def test_small_blocks_give_the_same_bytes(tmp_path, monkeypatch):
    random = Random(0)
    documents = named([" ".join(random.choices(WORDS, k=random.randint(1, 6))) for _ in range(60)])
    monkeypatch.setattr(corpus, "RECORDS", 1)  # a unit a partition, so that a pair is found by several
    found = []
    for name in ("large", "small"):
        run = dedup(tmp_path / name, documents, STEP, cuts=[20, 40], unit=600)
        (verdicts,) = run.folder.glob("stages/minhash-verdicts-*/verdicts/*.parquet")
        found.append((verdicts.read_bytes(), run.twins("minhash")))
        monkeypatch.setattr(_decisions, "PAIRS", 5)
        monkeypatch.setattr(_compare, "HASHES", 4)
        monkeypatch.setattr(corpus, "ROWS", 3)
    large, small = found
    assert small == large
    assert len(large[1]) > 20
