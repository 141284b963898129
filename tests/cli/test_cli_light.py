"""Commands that compute nothing take the time of what they import."""

import ast
import json
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpusmill import assets
from corpusmill.cli.app import VERB_MODULES
from corpusmill.recipe import shipped

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


# What a check and a run that is finished do without: machine code of kernels, the libraries of tokenizers, masked arrays
# and data sets of the libraries that they do need.
NEEDLESS = "numba", "llvmlite", "tokenizers", "gigatoken", "awkward", "sentencepiece", "numpy.ma", "pyarrow.dataset"
NEEDLESS_OF_OURS = "report.page", "report.figures.sampled", "inspect", "loader", "train", "export", "ops.checks"
MODULES_OF_OURS = 417  # of a run of web-en that is run again: its steps are half of them

CHECK = """
import json, os, sys
import corpusmill
from corpusmill.models import token_engines
from corpusmill.text import shipped
shipped.is_native = True  # no kernel came with the package
made = []
def count(name):
    make = getattr(token_engines, name)
    def counted(*arguments):
        made.append(str(arguments))
        return make(*arguments)
    setattr(token_engines, name, counted)
for name in ("make", "reference"):
    count(name)
needed = {}
for name, path, variables in json.loads(sys.argv[1]):
    os.environ |= variables
    corpusmill.check(path)
    needed[name] = ["numba" in sys.modules, len(made) - len(set(made))]
print(json.dumps(needed))
"""


def record(kind: str, about: str, content: str) -> str:
    """A record of a WARC file."""
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: https://a.example/\r\n{about}"
    return f"{head}Content-Length: {len(content)}\r\n\r\n{content}\r\n\r\n"


@pytest.fixture
def sources(tmp_path) -> dict[str, str]:
    """reader -> an input of a document or two."""
    page = "<html><body><p>The ferry leaves at eight, and it is never late in summer.</p></body></html>"
    response = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{page}"
    contents = {
        "warc": record("response", "Content-Type: application/http; msgtype=response\r\n", response),
        "wet": record("conversion", "Content-Type: text/plain\r\n", "The ferry leaves at eight."),
        "jsonl": json.dumps({"text": "The ferry leaves at eight."}) + "\n",
        "text": "The ferry leaves at eight.\n",
    }
    for reader, content in contents.items():
        (tmp_path / f"input.{reader}").write_text(content, "utf-8")
    pq.write_table(pa.table({"text": ["The ferry leaves at eight."]}), tmp_path / "input.parquet")
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository" / "a.py").write_text("print(1)\n", "utf-8")
    return {reader: str(tmp_path / f"input.{reader}") for reader in (*contents, "parquet")} | {
        "code": str(tmp_path / "repository")
    }


def test_no_recipe_that_ships_needs_numba_to_be_checked(tmp_path, sources):
    """Where no kernel is compiled yet, too; and no engine of a tokenizer is made twice."""
    recipes = [
        (made.name, str(made.path), {variable: sources[reader] for variable, reader in made.inputs.items()})
        for made in map(shipped.shipped, shipped.names())
    ]
    recipes = [(name, path, variables) for name, path, variables in recipes if name != "demo"]  # has its own documents
    assert "web-en" in [name for name, _, _ in recipes]
    environment = os.environ | {"CORPUSMILL_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-c", CHECK, json.dumps(recipes)]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {name: [False, 0] for name, _, _ in recipes}


def test_a_finished_run_that_is_run_again_imports_what_it_needs(tmp_path):
    code = (
        "import sys\nfrom corpusmill.cli import main\ntry:\n    main()\n"
        "finally:\n    print(sorted(sys.modules), file=sys.stderr)"
    )
    recipe = str(shipped.shipped("web-en").path)
    command = [sys.executable, "-c", code, "run", recipe, "--folder", "run", "--limit", "40"]
    environment = os.environ | {"INPUT": str(assets.demo_path("demo://pages.warc.gz"))}
    subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True)
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert "nothing to do" in done.stdout
    modules = set(ast.literal_eval(done.stderr.splitlines()[-1]))
    assert not modules & {*NEEDLESS, *(f"corpusmill.{name}" for name in NEEDLESS_OF_OURS)}
    assert len([name for name in modules if name.startswith("corpusmill")]) <= MODULES_OF_OURS


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
