import os
import subprocess
import sys
import time

import pytest

from corpusmill.execute import warm_start as fork_server
from corpusmill.execute.warm_start import ENGINE_PRELOAD, STAGE_GUARD, start_for

SERVER = pytest.mark.skipif(fork_server.method() != "forkserver", reason="there is no fork server")

RECIPE = """
read:
  - jsonl: {paths: "*.jsonl"}
  - warc: {paths: "*.warc.gz"}
steps:
  - filter/gopher_quality
  - dedup/minhash: {threshold: 0.7}
"""


@pytest.fixture
def started(monkeypatch):
    found: list[str] = []
    monkeypatch.setattr(fork_server, "start", lambda preload, in_process: found.append(preload))
    return found


def test_what_a_recipe_names_is_imported_and_then_the_engine(tmp_path, started):
    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE)
    start_for(path, ["steps.minhash.bands=20"])
    steps = ["corpusmill.steps.dedup.minhash", "corpusmill.steps.filter.gopher_quality"]
    assert started == [[*steps, "corpusmill.read.jsonl", "corpusmill.read.warc", STAGE_GUARD, ENGINE_PRELOAD]]


@pytest.mark.parametrize(
    ("line", "setting"), [("run: {executor: serial}", ""), ("", "run.executor=serial"), ('"executor": "ray"', "")]
)
def test_a_recipe_that_runs_elsewhere_starts_no_server(tmp_path, started, line, setting):
    path = tmp_path / "recipe.yaml"
    path.write_text(f"{RECIPE}\n{line}\n")
    start_for(path, [setting])
    assert not started


def test_one_that_says_what_is_the_rule_does(tmp_path, started):
    path = tmp_path / "recipe.yaml"
    path.write_text(f"{RECIPE}\nrun: {{executor: processes}}\n")
    start_for(path, [])
    assert started


def test_a_recipe_that_cannot_be_read_is_left_to_who_reads_it(tmp_path, started):
    start_for(tmp_path / "none.yaml", [])
    start_for(tmp_path, [])
    (tmp_path / "latin.yaml").write_bytes(b"\xe9")
    start_for(tmp_path / "latin.yaml", [])
    assert not started


@SERVER
def test_a_folder_for_temporary_files_may_be_deep(tmp_path):
    deep = tmp_path / "of-a-job-with-a-long-name" / "and-a-longer-one-of-its-user"
    deep.mkdir(parents=True)
    code = (
        "from corpusmill.execute import warm_start as w; p = w.context().Process(target=print); p.start(); p.join();"
        "raise SystemExit(p.exitcode)"
    )
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"TMPDIR": str(deep)}, check=True)
    assert not list(deep.iterdir())


ONE = """
import os, sys, time
from corpusmill.execute import warm_start

def seen(pipe):
    server = open(f"/proc/{os.getppid()}/cmdline", "rb").read()
    pipe.send((server, "decimal" in sys.modules, sorted(map(int, os.listdir("/proc/self/fd")))))

if __name__ == "__main__":
    held = open(__file__)
    warm_start.start(["decimal", "no_such_module"], in_process=True)
    from multiprocessing import forkserver
    context = warm_start.context()
    mine, its = context.Pipe()
    worker = context.Process(target=seen, args=(its,))
    worker.start()
    server, loaded, files = mine.recv()
    worker.join()
    print(server == open("/proc/self/cmdline", "rb").read(), loaded, worker.exitcode, len(files) < 12)
    print(forkserver._forkserver._forkserver_pid, flush=True)
    sys.stdin.read()
"""


@SERVER
@pytest.mark.parametrize("killed", [False, True])
def test_the_server_of_a_process_with_one_worker_is_a_copy_of_it_and_ends_with_it(tmp_path, killed):
    script = tmp_path / "one.py"
    script.write_text(ONE)
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as driver:
        assert driver.stdin
        assert driver.stdout
        assert driver.stdout.readline() == "True True 0 True\n"
        server = int(driver.stdout.readline())
        os.kill(server, 0)
        if killed:
            driver.kill()
        driver.stdin.close()
        driver.wait(60)
        assert driver.stdout.read() == ""  # which ends when the copy has ended, too
    with pytest.raises(ProcessLookupError):
        for _ in range(600):
            os.kill(server, 0)
            time.sleep(0.1)


@SERVER
def test_a_process_with_threads_makes_no_copy(tmp_path):
    script = tmp_path / "threads.py"
    code = ONE.replace(
        "    held =", "    import threading\n    threading.Thread(target=time.sleep, args=(5,)).start()\n    held ="
    )
    script.write_text(code)
    done = subprocess.run([sys.executable, str(script)], input="", capture_output=True, text=True, check=True)
    assert done.stdout.startswith("False True 0")


@SERVER
def test_the_server_says_nothing_of_a_driver_that_ends_while_it_asks_for_a_worker(tmp_path):
    script = tmp_path / "left.py"
    script.write_text(
        "import os, socket\nfrom multiprocessing import forkserver\nfrom corpusmill.execute import warm_start\n"
        "if __name__ == '__main__':\n"
        "    warm_start.start([warm_start.ENGINE_PRELOAD])\n"
        "    with socket.socket(socket.AF_UNIX) as client:\n"
        "        client.connect(forkserver._forkserver._forkserver_address)\n"
        "    os.waitpid(forkserver._forkserver._forkserver_pid, 0)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_the_server_imports_nothing_that_others_add_to_numba():
    """It is half a second before the first unit; a function of a user's own still has it imported."""
    code = (
        "import sys, corpusmill.engine.lazy_preload\n"
        "assert 'awkward' not in sys.modules\n"
        "import numba\n"
        "numba.njit(lambda x: x + 1)(1)\n"
        "assert 'awkward' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
