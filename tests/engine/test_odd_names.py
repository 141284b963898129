"""Files whose names are not UTF-8, from the recipe to the report."""

import json
import os
import sys
from pathlib import Path

import pytest

import corpusmill
from corpusmill.errors import RecipeError
from corpusmill.execute.serial import Serial
from corpusmill.recipe.parts import RunSettings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")

RECIPE = """
name: odd
read:
  - jsonl: {{paths: {folder}/in, source: made}}
steps:
  - dedup/exact
write: [jsonl]
run: {{executor: serial, error_budget: 9}}
"""


def test_a_run_over_files_whose_names_are_not_utf8(tmp_path):
    (tmp_path / "in").mkdir()
    for byte, text in ((b"\xe9", "one"), (b"\xff", "two")):
        path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/in/caf" + byte + b".jsonl"))
        path.write_text(json.dumps({"text": text}) + "\nbad\n")
    (tmp_path / "odd.yaml").write_text(RECIPE.format(folder=tmp_path))
    for _ in range(2):  # the second time everything is there: plans and commits are read again
        run = corpusmill.run(tmp_path / "odd.yaml", folder=tmp_path / "run", executor=Serial())
    names = [f"{tmp_path}/in/caf\\x{byte}.jsonl" for byte in ("e9", "ff")]
    record = json.loads((run.folder / "run.json").read_bytes())
    assert [file["path"] for file in record["inputs"]["made"]] == names
    page = (run.folder / "report.html").read_text("utf-8")
    assert "caf\\xe9.jsonl" in page


def test_a_run_is_not_written_into_such_a_folder():
    with pytest.raises(RecipeError, match=r"folder: runs/caf\\xe9 is not UTF-8"):
        RunSettings(folder="runs/caf\udce9")
