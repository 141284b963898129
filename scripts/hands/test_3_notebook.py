"""A notebook, executed by Jupyter in an environment that has only the wheel and what notebooks have."""

import json
import subprocess
from pathlib import Path

from notebook_cells import cells, notebook_of

LONGEST = 2000  # characters of a plain answer that a person would read


def test_a_notebook_shows_progress_and_short_answers(notebook: Path, home: dict[str, str], desk: Path):
    given = desk / "first.ipynb"
    given.write_text(json.dumps(notebook_of(cells())), "utf-8")
    nbconvert = str(notebook / "jupyter-nbconvert")
    command = [nbconvert, "--to", "notebook", "--execute", str(given), "--output", "done.ipynb"]
    subprocess.run(command, cwd=desk, env=home | {"PATH": f"{notebook}:{home['PATH']}"}, check=True)
    done = json.loads((desk / "done.ipynb").read_text("utf-8"))
    shown = [cell["outputs"] for cell in done["cells"] if cell["cell_type"] == "code"]
    for outputs in shown:
        for output in outputs:
            plain = "".join(output.get("text", "") or output.get("data", {}).get("text/plain", ""))
            assert len(plain) < LONGEST, plain
    tables = [o for outputs in shown for o in outputs if "text/html" in o.get("data", {})]
    assert len(tables) >= 3
    assert any("MB/s" in json.dumps(outputs) or "documents" in json.dumps(outputs) for outputs in shown[1:2])
