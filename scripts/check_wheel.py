"""Install a platform wheel in a new environment, with an empty home, and run the demo: no kernel may be compiled.

python scripts/check_wheel.py FOLDER_OF_WHEELS CONSTRAINTS
"""

import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

# Read by every process of that environment as it starts.
LISTEN = """
import os
from numba.core import event

class Compilations(event.Listener):
    def on_start(self, event):
        with open(os.environ["COMPILATIONS"], "a") as file:
            dispatcher = event.data["dispatcher"]
            print(dispatcher.py_func.__module__, dispatcher.py_func.__qualname__, event.data["args"], file=file)
    def on_end(self, event):
        pass

event.register("numba:compile", Compilations())
"""


def main(wheels: Path, constraints: Path) -> int:
    (wheel,) = wheels.glob("corpusmill-*-cp*.whl")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        venv.create(root / "env", with_pip=True)
        python = root / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        install = [str(python), "-m", "pip", "install", "--quiet", "-c", str(constraints), f"{wheel}[fast]"]
        subprocess.run(install, check=True)
        where = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
        site = Path(subprocess.run(where, check=True, capture_output=True, text=True).stdout.strip())
        (site / "sitecustomize.py").write_text(LISTEN)
        compilations, home = root / "compilations", root / "home"
        compilations.touch()
        home.mkdir()
        unset = ("CORPUSMILL_CACHE", "XDG_CACHE_HOME", "PYTHONPATH", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")
        environment = {name: value for name, value in os.environ.items() if name not in unset}
        environment |= {"HOME": str(home), "USERPROFILE": str(home), "COMPILATIONS": str(compilations)}
        started = time.monotonic()
        subprocess.run([str(python), "-m", "corpusmill.cli", "demo"], cwd=root, env=environment, check=True)
        compiled = compilations.read_text().splitlines()
        seconds = time.monotonic() - started
    size = wheel.stat().st_size / 1e6
    print(f"{wheel.name}: {size:.1f} MB; demo {seconds:.0f} s; {len(compiled)} kernels compiled", *compiled, sep="\n")
    return int(bool(compiled))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
