"""Machine code is kept where it can be written, is never stale, and leaves other users of numba alone."""

import os
import pickle
import shutil
import subprocess
import sys
from typing import NamedTuple

import numba
import numpy as np
import pytest

from corpusmill import about
from corpusmill.about import PACKAGE
from corpusmill.engine.drive.listener import Silent
from corpusmill.ops.kernels import warm_kernels
from corpusmill.text import compile, warming
from corpusmill.text.compile import fingerprint, inlined, kernel

USE_A_KERNEL = """
import tempfile
{before}
import numpy as np
from corpusmill.text.compile import cache_folder
from corpusmill.text.spans import longest
print(cache_folder(), longest(np.array([0, 7, 9])))
"""
FOUND = "7"
NOWHERE = "/dev/null/nowhere"


def run_with(before="", **environment):
    """(cache folder, what a kernel found) in a process whose home and cache roots are those given."""
    kept = {k: v for k, v in os.environ.items() if k not in ("CORPUSMILL_CACHE", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR")}
    command = [sys.executable, "-c", USE_A_KERNEL.format(before=before)]
    run = subprocess.run(command, env=kept | environment, capture_output=True, text=True, check=True, timeout=300)
    return run.stdout.split()


def test_the_first_root_that_can_be_written_is_used(tmp_path):
    chosen, xdg = tmp_path / "chosen", tmp_path / "xdg"
    output = run_with(CORPUSMILL_CACHE=str(chosen), XDG_CACHE_HOME=str(xdg))
    assert output == [str(chosen), FOUND]
    assert list(chosen.rglob("*.nbc")) and not xdg.exists()
    output = run_with(CORPUSMILL_CACHE=NOWHERE, XDG_CACHE_HOME=str(xdg))
    assert output == [str(xdg / "corpusmill"), FOUND]


def test_kernels_run_where_nothing_can_be_written(tmp_path):
    no_temp = f"tempfile.gettempdir = lambda: {NOWHERE!r}; tempfile.TemporaryFile = None"
    assert run_with(before=no_temp, HOME=NOWHERE) == ["None", FOUND]


@pytest.mark.skipif(os.name == "nt", reason="a limit of POSIX")
def test_kernels_run_where_code_finds_no_room(tmp_path):
    small = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))"
    said = "import atexit; from corpusmill.text import compile; atexit.register(lambda: print(*compile.not_kept()))"
    output = run_with(before=f"{small}; {said}", CORPUSMILL_CACHE=str(tmp_path / "full"))
    assert output[:2] == [str(tmp_path / "full"), FOUND]
    assert " ".join(output[2:]).startswith(f"{tmp_path / 'full'}: compiled code cannot be kept (File too large), so")
    assert not list((tmp_path / "full").rglob("*.nbc"))


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs owners of folders")
def test_a_temporary_folder_that_others_can_write_is_not_trusted(tmp_path):
    shared = tmp_path / f"corpusmill-cache-{os.getuid()}"
    temporary = f"tempfile.gettempdir = lambda: {str(tmp_path)!r}"
    assert run_with(before=temporary, HOME=NOWHERE)[0] == str(shared)
    shared.chmod(0o777)
    assert run_with(before=temporary, HOME=NOWHERE)[0] == "None"


def test_code_is_cached_by_the_sources_that_it_is_compiled_from(monkeypatch, tmp_path):
    """A change of a module makes new code of what imports it, through others too, and of nothing else."""
    package = tmp_path / "corpusmill"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(compile, "PACKAGE", package)
    monkeypatch.setattr(about, "PACKAGE", package)
    names = [f"corpusmill.text.{name}" for name in ("spans", "words", "stats", "sketch", "pii.find", "pii.addresses")]
    names.append("corpusmill.steps.personal_data")  # takes what it needs from the package `text.pii`

    def prints():
        for remembered in (fingerprint, about.closure, about.file_of, about.imports, compile.source_of):
            remembered.cache_clear()
        return [fingerprint(name) for name in names]

    def changed_by(path):
        before = prints()
        path.write_text(path.read_text("utf-8") + "# changed\n", "utf-8")
        return [a != b for a, b in zip(before, prints(), strict=True)]

    assert changed_by(package / "text" / "words.py") == [False, True, True, False, False, False, False]
    assert changed_by(package / "text" / "pii" / "numbering.py") == [False, False, False, False, True, False, True]
    monkeypatch.undo()
    prints()


WARM_ALL = """
from importlib import import_module
from types import ModuleType
from corpusmill.text import compile, warming
warming.warm()
assert warming.is_warm()
every = [
    (name, value)
    for name in warming.kernel_modules()
    for value in vars(import_module(name)).values()
    if isinstance(value, compile.Lazy) and value.__module__ == name
]
called = set()  # by other kernels, whose code holds theirs
for _, value in every:
    function = value._function
    modules = [module for module in function.__globals__.values() if isinstance(module, ModuleType)]
    for word in function.__code__.co_names:
        called |= {id(function.__globals__.get(word)), *(id(getattr(module, word, None)) for module in modules)}
for name, value in every:
    if value.makes_cached_code and id(value) not in called and not value.dispatcher.signatures:
        print(f"{name}.{value.__name__}")
"""


def test_warming_calls_every_kernel_that_python_calls():
    """In a process of its own: in this one, and in the cache, there is also what tests and runs have compiled."""
    run = subprocess.run([sys.executable, "-c", WARM_ALL], capture_output=True, text=True, check=True, timeout=900)
    assert run.stdout == ""


WARM_FOUR = """
import os, sys
from importlib import import_module
os.cpu_count = lambda: int(sys.argv[1])
from corpusmill.text import compile, warming
modules = [f"corpusmill.text.{name}" for name in ("folded_hash", "repeats", "replace", "word_counts")]
for name in modules:
    import_module(name)
warming.warm(modules)
assert warming.is_warm(modules)
values = [v for m in modules for v in vars(sys.modules[m]).values() if isinstance(v, compile.Lazy)]
compiled = [v.dispatcher for v in values if v.makes_cached_code and v.dispatcher.signatures]
print(sum(sum(f.stats.cache_misses.values()) for f in compiled))
"""


def test_two_processes_compile_what_one_would(tmp_path):
    made, compiled = [], []
    for processors in (1, 2):
        root = tmp_path / str(processors)
        command = [sys.executable, "-c", WARM_FOUR, str(processors)]
        environment = os.environ | {"CORPUSMILL_CACHE": str(root)}
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)
        compiled.append(int(run.stdout))
        made.append({path.relative_to(root) for path in root.rglob("*") if path.is_file()})
    assert made[0] == made[1] and len(made[0]) > 8
    assert compiled[1] < compiled[0]


def test_the_cache_folder_of_other_numba_functions_is_unchanged():
    before = numba.config.CACHE_DIR

    @kernel
    def twice(x: int) -> int:
        return 2 * x

    assert twice(21) == 42
    assert before == numba.config.CACHE_DIR


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs owners of folders")
@pytest.mark.parametrize("owner", [None, 12345])
def test_a_cache_that_others_can_write_to_is_refused_with_a_reason(tmp_path, owner):
    chosen, xdg = tmp_path / "chosen", tmp_path / "xdg"
    chosen.mkdir()
    if owner is None:
        chosen.chmod(0o775)
    elif os.getuid() == 0:
        os.chown(chosen, owner, -1)
    else:
        pytest.skip("only root can give folders away")
    script = "from corpusmill.text import compile\nprint(compile.cache_folder())\nprint(*compile.refused())"
    environment = {**os.environ, "CORPUSMILL_CACHE": str(chosen), "XDG_CACHE_HOME": str(xdg)}
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    used, why = run.stdout.splitlines()
    assert used == str(xdg / "corpusmill")
    assert why.startswith(f"{chosen}: compiled code is not kept here and not taken from here: ")
    assert ("the folder belongs to another user (12345)" if owner else f"chmod go-w {chosen}") in why


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs owners of folders")
def test_code_in_a_folder_that_others_can_enter_can_be_written_by_this_user_alone(tmp_path):
    tmp_path.chmod(0o755)
    script = USE_A_KERNEL.format(before="import os; os.umask(0)")
    environment = {**os.environ, "CORPUSMILL_CACHE": str(tmp_path)}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True, stdout=subprocess.DEVNULL)
    folders = list(tmp_path.iterdir())
    assert folders and all(folder.stat().st_mode & 0o777 == 0o700 for folder in folders)


INTERRUPTED = """
import os, time
from corpusmill.text import compile, warming
os.cpu_count = lambda: 2
modules = [f"corpusmill.text.{name}" for name in ("folded_hash", "repeats", "replace", "word_counts")]
finished = set()
try:
    with warming._half_of(modules, finished.update) as (elsewhere, look):
        while not finished:
            time.sleep(0.1)
            look()
        raise KeyboardInterrupt
except KeyboardInterrupt:
    print(finished < set(modules), any(compile.cache_folder().glob("*/*/*.nbi")), *compile.cache_folder().glob("half-*"))
"""


def test_what_the_other_process_has_compiled_is_kept_if_this_one_is_interrupted(tmp_path):
    environment = {**os.environ, "CORPUSMILL_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", INTERRUPTED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "True True\n"


def test_the_kernels_of_the_report_are_compiled_with_those_of_the_recipe(monkeypatch):
    asked = []
    monkeypatch.setattr(warming, "is_warm", lambda modules: False)
    monkeypatch.setattr(warming, "warm", lambda modules, *_: asked.extend(modules))
    warm_kernels(Silent())
    assert {"corpusmill.text.pii.find", "corpusmill.models.language", "corpusmill.text.lexicon"} <= set(asked)


def test_no_documents_need_no_numba():
    code = """
import sys
import pyarrow as pa
from corpusmill.text.fold import fold
from corpusmill.text.stats import document_stats
none = pa.array([], pa.large_string())
print(len(document_stats(none)), len(fold(none)), "numba" in sys.modules)
"""
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["0", "0", "False"]


@pytest.mark.parametrize("recipe", ["web-en", "fineweb2", "pretraining-at-scale"])
def test_steps_take_no_documents_after_other_kernels_were_made(recipe):
    """`check` puts no documents through all steps where it has found something wrong, and they blamed intrinsics."""
    code = f"""
from importlib.resources import files
import corpusmill
from corpusmill.text import lowlevel
made = [value.dispatcher for value in vars(lowlevel).values() if hasattr(value, "dispatcher")]
try:
    corpusmill.check(str(files("corpusmill") / "recipes" / "{recipe}.yaml"))
except corpusmill.errors.CorpusmillError as error:
    print(len(made) > 5, *(problem.message for problem in error.problems if "no documents" in problem.message))
"""
    environment = {**os.environ, "INPUT": NOWHERE}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_a_kernel_is_pickled_by_its_name():
    from corpusmill.text.spans import longest

    assert pickle.loads(pickle.dumps(longest)) is longest


class Pair(NamedTuple):
    first: np.ndarray
    second: tuple[np.ndarray, int]


@kernel
def sum_of_pair(pair, out):
    out[0] = pair.first.sum() + pair.second[0][pair.second[1]]


def test_what_is_read_only_takes_the_code_of_what_is_not():
    """Also in tuples; and it stays read-only, and alive while a kernel reads it."""
    out, expected = np.zeros(1, np.int64), []
    for write in (True, False):
        arrays = [np.arange(5), np.arange(5) * 10]
        for array in arrays:
            array.setflags(write=write)
        sum_of_pair(Pair(arrays[0], (arrays[1], 2)), out)
        expected.append((int(out[0]), [array.flags.writeable for array in arrays]))
    assert expected == [(30, [True, True]), (30, [False, False])]
    assert isinstance(sum_of_pair, compile.Lazy)
    assert len(sum_of_pair.dispatcher.signatures) == 1


@inlined
def doubled(number):
    return number * 2


def test_a_helper_can_be_called_from_python_too():
    assert doubled(21) == 42


OLDER = """
import pickle, sys
from pathlib import Path
import numba, numpy as np
from corpusmill.text import warming
for path in Path(sys.argv[1]).rglob("*.nbi"):
    path.write_bytes(pickle.dumps(numba.__version__) + b"ccorpusmill.text.overlap\\nGone\\n.")
warming.warm(["corpusmill.text.folded_hash"])
print(warming.is_warm(["corpusmill.text.folded_hash"]))
"""


def test_code_of_a_version_with_other_types_is_compiled_again(tmp_path):
    environment = {**os.environ, "CORPUSMILL_CACHE": str(tmp_path)}
    warm = "from corpusmill.text import warming; warming.warm(['corpusmill.text.folded_hash'])"
    subprocess.run([sys.executable, "-c", warm], env=environment, check=True)
    assert list(tmp_path.rglob("*.nbi"))
    for path in tmp_path.rglob("*.warm*"):  # where it is noted that nothing is left to compile
        path.unlink()
    command = [sys.executable, "-c", OLDER, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True\n"
