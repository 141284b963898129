import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from corpusmill.assets import leftovers
from corpusmill.execute.warm_start import method

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there are no such locks")
HOLDS = """
import sys, tempfile
from pathlib import Path
from corpusmill.assets import leftovers
folder = tempfile.mkdtemp(prefix="pymp-", dir=sys.argv[1])
held = leftovers.hold(Path(folder))
print(folder, flush=True)
sys.stdin.read()
"""


def holder(place):
    process = subprocess.Popen([sys.executable, "-c", HOLDS, place], stdin=-1, stdout=-1, text=True)
    assert process.stdout
    return process, Path(process.stdout.readline().strip())


def test_only_the_folders_of_killed_processes_are_removed(tmp_path):
    killed, left = holder(tmp_path)
    alive, used = holder(tmp_path)
    others = tmp_path / "pymp-of-others"
    others.mkdir()
    with killed, alive:
        killed.kill()
        killed.wait()
        leftovers.tidy(tmp_path, "pymp-*")
        assert not left.exists() and used.exists() and others.exists()
        alive.kill()


def test_what_is_held_is_not_held_again(tmp_path):
    held = leftovers.hold(tmp_path)
    assert held is not None and leftovers.hold(tmp_path) is None
    leftovers.tidy(tmp_path.parent, tmp_path.name)
    assert tmp_path.exists()
    os.close(held)
    leftovers.tidy(tmp_path.parent, tmp_path.name)
    assert not tmp_path.exists()


@pytest.mark.skipif(method() != "forkserver", reason="there is no fork server")
def test_a_killed_driver_leaves_a_folder_that_the_next_removes():
    """The socket folder of multiprocessing, with the fork server that a run starts."""
    code = (
        "import os, signal\nfrom corpusmill.execute import warm_start\n"
        "if __name__ == '__main__':\n    warm_start.start(['json'])\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # a short path: those of sockets are
        for _ in range(3):
            subprocess.run([sys.executable, "-c", code], env={**os.environ, "TMPDIR": folder}, check=False)
        assert len(list(Path(folder).glob("pymp-*"))) == 1
