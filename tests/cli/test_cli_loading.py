"""Ctrl-C while the command loads libraries, and SIGTERM before a worker works."""

import os
import subprocess
import sys

from corpusmill.execute import termination


def test_it_ends_in_one_line(tmp_path):
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt\n", "utf-8")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    command = [sys.executable, "-c", "from corpusmill.cli import main; main()", "steps"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted: nothing was begun.\n")


def test_a_worker_that_is_asked_to_end_before_it_works_can_be_started_again(corpusmill, monkeypatch, tmp_path):
    """75 wherever the signal comes: what started it knows to start it again."""

    def asked(*_):
        raise termination.Terminated(143)

    monkeypatch.setattr("corpusmill.ops.worker.of_run", asked)
    code, _, err = corpusmill("work", tmp_path)
    assert code == 75
    assert "run the same command again to take part again" in err
