"""corpusmill index: a run leaves what later runs compare with."""

import json

from made_run import NEAR, made_corpus, made_run


def test_a_run_leaves_an_index_and_a_later_one_drops_what_is_in_it(corpusmill, tmp_path):
    status, out, _ = corpusmill("index", made_run(), tmp_path / "index", "--dedup", "minhash")
    assert status == 0 and "index of 36 documents for minhash" in out
    setting = ("--set", f"steps.minhash.against={tmp_path / 'index'}")
    status, out, err = corpusmill("run", made_corpus(), "--folder", tmp_path / "run", "--json", *setting)
    assert status == 0, err
    steps = {row["step"]: row for row in json.loads(out)["steps"]}
    assert steps["minhash"]["documents_out"] == 0  # the same documents again
    assert steps["minhash"]["reasons"] == {"against": 36 + NEAR}


def test_index_prints_json(corpusmill, tmp_path):
    status, out, _ = corpusmill("index", made_run(), tmp_path / "index", "--dedup", "exact", "--json")
    record = json.loads(out)
    files = [path for path in (tmp_path / "index").rglob("*") if path.is_file()]
    assert status == 0 and (record["step"], record["documents"]) == ("exact", 36)
    assert record["bytes"] == sum(path.stat().st_size for path in files) and record["index"] == str(tmp_path / "index")


def test_a_mistake_is_answered(corpusmill, tmp_path):
    status, out, err = corpusmill("index", made_run(), tmp_path / "index")
    assert (status, out) == (2, "") and "choose it with --dedup" in err and "exact, minhash" in err
    status, out, err = corpusmill("index", tmp_path, tmp_path / "index", "--dedup", "exact")
    assert (status, out) == (2, "") and "not a run folder" in err
    status, out, err = corpusmill("check", made_corpus(), "--set", f"steps.exact.against={tmp_path}")
    assert (status, out) == (2, "") and "neither the folder of a run nor an index" in err
    status, out, err = corpusmill("check", made_corpus(), "--set", "steps.minhash.keep=fineweb.nothing")
    assert (status, out) == (2, "") and 'minhash needs "fineweb.nothing"' in err
