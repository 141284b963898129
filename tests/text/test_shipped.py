"""Kernels that came compiled with the package are loaded wherever it is; where they do not fit, it is said why."""

import json
import os
import platform
import subprocess
import sys

import pytest

from corpusmill.text import shipped
from corpusmill.text.compile import fingerprint

MODULE = "corpusmill.text.spans"
MAKE = f"""
import sys
from pathlib import Path
from corpusmill.text import compile, shipped
shipped.is_native = True
shipped.collect()
import numpy as np
from corpusmill.text.spans import longest
longest(np.array([0, 7, 9]))
shipped.write(Path(sys.argv[1]), {{"{MODULE}": compile.fingerprint("{MODULE}")}}, "x86-64-v3")
"""
USE = f"""
import sys
from pathlib import Path
from corpusmill.text import shipped
shipped.COMPILED = Path(sys.argv[1])
from numba.core import event
compiled = []

class Compilations(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].py_func.__qualname__)
    def on_end(self, event):
        pass

event.register("numba:compile", Compilations())
import numpy as np
from corpusmill.text import compile, warming
from corpusmill.text.spans import longest
warm = warming.is_warm(["{MODULE}"])
print(warm, longest(np.array([0, 7, 9])), longest(np.array([0, 7, 9], np.int32)), compiled.count("longest"))
print(compile.cache_folder() and [path.suffix for path in compile.cache_folder().rglob("*.nbc")])
"""


def run(script, folder, **environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA")}
    command = [sys.executable, "-c", script, str(folder)]
    done = subprocess.run(command, env=kept | environment, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    root = tmp_path_factory.mktemp("shipped")
    processor = {} if not is_x86() else {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ""}
    run(MAKE, root / "compiled", CORPUSMILL_CACHE=str(root / "cache"), **processor)
    if not is_x86():
        about = root / "compiled" / shipped.ABOUT
        about.write_text(json.dumps(json.loads(about.read_text()) | {"processor": "generic"}))
    return root / "compiled"


def is_x86():
    return platform.machine() in ("x86_64", "AMD64")


def test_what_came_compiled_is_not_compiled_again(compiled, tmp_path):
    line, kept = run(USE, compiled, CORPUSMILL_CACHE=str(tmp_path / "cache"))
    # Of other types than it came for, the kernel is compiled once, and that is kept in the cache.
    assert line == "True 7 7 1"
    assert kept == "['.nbc']"


def test_nothing_need_be_writable(compiled):
    nowhere = {"CORPUSMILL_CACHE": "/dev/null/nowhere", "HOME": "/dev/null/nowhere"}
    script = "import tempfile; tempfile.gettempdir = lambda: '/dev/null/nowhere'\n" + USE
    environment = {"XDG_CACHE_HOME": "/dev/null/nowhere", **nowhere}
    assert run(script, compiled, **environment) == ["True 7 7 1", "None"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"numba": "0.1"}, "numba 0.1, not "),
        ({"python": "cpython-27"}, "python cpython-27, not "),
        ({"triple": "sparc-sun-solaris"}, "sparc-sun-solaris"),
    ],
)
def test_code_for_another_machine_is_passed_over_and_it_is_said_why(monkeypatch, tmp_path, compiled, change, why):
    about = json.loads((compiled / shipped.ABOUT).read_text())
    (tmp_path / shipped.ABOUT).write_text(json.dumps(about | change))
    assert why in misfit_of(monkeypatch, tmp_path)
    assert not shipped.is_there(MODULE, fingerprint(MODULE))


@pytest.mark.parametrize(
    ("triple", "same"), [("arm64-apple-darwin23.5.0", "arm64-apple-darwin24.0"), ("x86_64-unknown-linux-gnu",) * 2]
)
def test_the_version_of_the_system_does_not_matter(triple, same):
    assert shipped._system(triple) == shipped._system(same) != shipped._system("aarch64-unknown-linux-gnu")


def test_a_processor_that_lacks_instructions_compiles_for_itself(monkeypatch, compiled):
    about = json.loads((compiled / shipped.ABOUT).read_text())
    monkeypatch.setitem(shipped.NEEDED, about["processor"], ("avx", "time-travel"))
    assert "processors with time-travel, which this one lacks" in misfit_of(monkeypatch, compiled)


def test_a_package_without_compiled_kernels_says_nothing(monkeypatch, tmp_path):
    assert misfit_of(monkeypatch, tmp_path) == ""


def misfit_of(monkeypatch, folder):
    monkeypatch.setattr(shipped, "COMPILED", folder)
    monkeypatch.setattr(shipped, "misfit", shipped.misfit.__wrapped__)
    return shipped.misfit()


def test_native_code_is_preferred_and_asked_for(compiled, monkeypatch):
    monkeypatch.setattr(shipped, "COMPILED", compiled)
    monkeypatch.setattr(shipped, "misfit", shipped.misfit.__wrapped__)
    assert shipped.is_there(MODULE, fingerprint(MODULE))
    monkeypatch.setattr(shipped, "is_native", True)
    assert not shipped.is_there(MODULE, fingerprint(MODULE))
