"""Runs that ask no language model."""

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys
import corpusmill
from corpusmill.execute.serial import Serial

corpusmill.run("recipe.yaml", executor=Serial())
print(*sorted(name for name in sys.modules if name.startswith(("corpusmill.inference", "aiohttp", "asyncio"))))
"""


def test_a_run_that_asks_no_model_imports_nothing_for_it(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "The ferry leaves at seven."}\n' * 3, "utf-8")
    recipe = "read: {jsonl: in.jsonl}\nsteps: [clean/normalize, dedup/exact]\nwrite: jsonl\n"
    (tmp_path / "recipe.yaml").write_text(recipe, "utf-8")
    told = subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert told.stdout.splitlines()[-1].split() == []
