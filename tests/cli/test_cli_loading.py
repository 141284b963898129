"""Ctrl-C while the command loads libraries."""

import os
import subprocess
import sys


def test_it_ends_in_one_line(tmp_path):
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt\n", "utf-8")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    command = [sys.executable, "-c", "from corpusmill.cli import main; main()", "steps"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted: nothing was begun.\n")
