"""Commands that compute nothing take the time of what they import."""

import ast
import json
import subprocess
import sys

import pytest

from corpusmill.cli.app import VERB_MODULES

SHORT = """
read: {jsonl: docs.jsonl}
steps:
  - filter/language: {languages: [en]}
  - filter/gopher_quality
  - dedup/minhash
write: {jsonl: {}}
"""


@pytest.mark.parametrize("verb", ["check", "run"])
def test_what_computes_nothing_does_not_load_numba(tmp_path, verb):
    """A check, and a finished run that is run again."""
    (tmp_path / "docs.jsonl").write_text(json.dumps({"text": "The ferry leaves at eight."}) + "\n", "utf-8")
    (tmp_path / "short.yaml").write_text(SHORT, "utf-8")
    code = (
        "import sys\nfrom corpusmill.cli import main\ntry:\n    main()\n"
        "finally:\n    print('numba' in sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, verb, "short.yaml"]
    if verb == "run":
        subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr.split()[-1] == "False"


@pytest.mark.parametrize("words", [["new", "--list"], ["what-if", "-h"]])
def test_a_verb_loads_no_other(words):
    code = (
        "import sys\nfrom corpusmill.cli import main\ntry:\n    main()\n"
        "finally:\n    print([name for name in sys.modules if name.startswith('corpusmill.cli.')], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    verbs = {"corpusmill.cli." + verb.replace("-", "_") for verb in VERB_MODULES}
    loaded = verbs & set(ast.literal_eval(done.stderr.splitlines()[-1]))
    assert loaded == {"corpusmill.cli." + words[0].replace("-", "_")}
