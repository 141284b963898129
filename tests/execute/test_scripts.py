"""A script that calls `run` at its top level, as people write scripts."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
STEP = '''
import pyarrow as pa
from dataclasses import dataclass, replace
from typing import ClassVar
import corpusmill
from corpusmill.recipe import Recipe

@dataclass(frozen=True, kw_only=True)
class Every:
    """Drops nothing."""
    needs: ClassVar[tuple[str, ...]] = ()

    def reasons(self, docs, signals):
        return pa.nulls(len(docs), pa.string())

recipe = Recipe.load("recipe.yaml")
recipe = replace(recipe, steps=(Every(), *recipe.steps))
'''


def script(folder, text):
    (folder / "docs.jsonl").write_text('{"text": "The river runs to the sea."}\n', "utf-8")
    (folder / "recipe.yaml").write_text("read: {jsonl: docs.jsonl}\nwrite: [jsonl]\n", "utf-8")
    (folder / "script.py").write_text(text, "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(
        [sys.executable, "script.py"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_it_needs_no_guard(tmp_path):
    done = script(
        tmp_path,
        'import corpusmill\nprint(corpusmill.run("recipe.yaml", workers=2, progress=False).waterfall.documents_out)',
    )
    assert (done.stdout, done.stderr, done.returncode) == ("1\n", "", 0)


def test_steps_of_the_script_itself_need_one(tmp_path):
    done = script(
        tmp_path,
        f'{STEP}if __name__ == "__main__":\n    corpusmill.run(recipe, workers=2, progress=False)\n    print("done")',
    )
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)


def test_without_it_an_error_says_so(tmp_path):
    done = script(tmp_path, f"{STEP}corpusmill.run(recipe, workers=2)")
    assert done.returncode == 1 and "RunError: A step of this recipe is defined in the script" in done.stderr
    assert done.stderr.count("Traceback") == 1


CELL = """
import linecache, sys, types

cell, name = open("cell.py").read(), "<ipython-input-1>"
linecache.cache[name] = len(cell), None, cell.splitlines(True), name  # as IPython has the source of its cells
sys.modules["__main__"] = types.ModuleType("__main__")
exec(compile(cell, name, "exec"), vars(sys.modules["__main__"]))
"""
IN_NOTEBOOK = """
import corpusmill

def is_long(document):
    return len(document.text) > 5

made = dict(read=[{"text": "short"}, {"text": "The river runs."}], steps=[corpusmill.as_filter(is_long)])
here = corpusmill.run(corpusmill.Recipe(**made, run=corpusmill.RunSettings(executor="serial")))
print(here.waterfall.documents_out)
there = corpusmill.run(corpusmill.Recipe(**made, name="other"), workers=2)
print(there.waterfall.documents_out)
"""


def test_a_function_of_a_notebook_runs_in_its_process(tmp_path):
    (tmp_path / "cell.py").write_text(IN_NOTEBOOK, "utf-8")
    done = script(tmp_path, CELL)
    assert (done.stdout, done.returncode) == ("1\n1\n", 0)
    assert "a cell that begins with %%writefile my_steps.py" in done.stderr
