"""What Linux, macOS and Windows differ in is in one module, and what is the same on all of them stays so."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import corpusmill
from corpusmill import system
from corpusmill.engine.plan.usable_folder import DEEPEST
from corpusmill.errors import RecipeError
from corpusmill.recipe.parts import check_name
from corpusmill.recipe.training_stage import TrainingStage
from corpusmill.storage import TEMPORARY, expand
from corpusmill.write.dolma import DolmaWriter

PACKAGE = Path(corpusmill.__file__).parent
OF_ONE_SYSTEM = {"fcntl", "msvcrt", "resource", "termios", "pwd", "grp"}
FORKS = "execute/warm_start.py"  # on Linux alone, which it asks for


def forbidden(path: Path) -> list[str]:
    """What in a module is another thing, or nothing, on another system."""
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name in OF_ONE_SYSTEM]
        elif isinstance(node, ast.Call) and not is_the_same_everywhere(node, path.match(FORKS)):
            found.append(ast.unparse(node))
    return found


def is_the_same_everywhere(call: ast.Call, forks: bool) -> bool:
    """Texts name their encoding, and those that are written their ends of lines; files are replaced by
    `system.replace`; nothing forks."""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    called, words = ast.unparse(call.func), {word.arg for word in call.keywords}
    if method == "read_text":
        return bool(call.args) or "encoding" in words
    if method == "write_text":
        return (len(call.args) > 1 or "encoding" in words) and "newline" in words
    if called == "open" or method == "open":
        mode = call.args[called == "open" :][:1]
        text = re.fullmatch(r"[rwax]\+?t?", str(getattr(mode[0], "value", ""))) if mode else called == "open"
        return not text or "encoding" in words
    if method in ("rename", "replace"):
        return called == "system.replace" or len(call.args) != 1 or bool(words)
    return called != "os.fork" or forks


# A Parquet file in a folder `source=web` has a column `source` to whoever does not say that it has none.
OF_FOLDERS = re.compile(
    r"\b(?:pq|parquet)\.read_table\((?!.*partitioning=None)|\bread_parquet\((?!.*hive_partitioning = false)"
)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_folders_of_files_make_no_columns(path):
    assert not OF_FOLDERS.findall(path.read_text("utf-8"))


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_what_systems_differ_in_is_in_one_module(path):
    assert path.stem == "system" or forbidden(path) == []


@pytest.mark.parametrize(
    "call",
    [
        *("open(a)", "open(a, 'w')", "a.open('w')", "a.read_text()", "a.write_text(b)", "a.write_text(b, 'utf-8')"),
        *("a.replace(b)", "os.rename(a)", "os.fork()", "a.rename(b)"),
    ],
)
def test_such_a_call_is_found(call):
    (expression,) = ast.parse(call).body
    assert not is_the_same_everywhere(expression.value, forks=False)


HOLDS = """
import sys
from corpusmill import system
file = open(sys.argv[1], "ab")
print(system.lock(file, shared=sys.argv[2] == "shared", wait=False), flush=True)
sys.stdin.read()
"""


def test_a_file_is_held_alone_or_with_others_until_its_holder_ends(tmp_path):
    path = tmp_path / "lock"

    def holder(how: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", HOLDS, str(path), how]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def can(shared: bool) -> bool:
        with path.open("ab") as file:
            return system.lock(file, shared=shared, wait=False)

    with holder("shared") as first, holder("shared") as second:
        assert first.stdout and second.stdout
        assert (first.stdout.readline(), second.stdout.readline()) == ("True\n", "True\n")
        assert can(shared=True) and not can(shared=False)
        first.kill()
        second.kill()
    with holder("alone") as alone:
        assert alone.stdout and alone.stdout.readline() == "True\n"
        assert not can(shared=True) and not can(shared=False)
        alone.kill()
    assert can(shared=False)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux has locks on ranges for each file that is open")
def test_ranges_of_bytes_hold_a_file_alone_or_with_others(tmp_path, monkeypatch):
    """As on Windows, where ranges are all there is; here they are those of Linux."""
    import fcntl
    import struct

    def try_range(descriptor: int, at: int, count: int, free: bool = False) -> bool:
        kind = fcntl.F_UNLCK if free else fcntl.F_WRLCK
        try:
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", kind, os.SEEK_SET, at, count, 0))
        except BlockingIOError:
            return False
        return True

    monkeypatch.setattr(system, "WINDOWS", True)
    monkeypatch.setattr(system, "try_range", try_range)
    (tmp_path / "lock").touch()
    with (tmp_path / "lock").open("r+b") as one, (tmp_path / "lock").open("r+b") as two:
        assert system.lock(one, shared=True, wait=False) and system.lock(two, shared=True, wait=False)
        with (tmp_path / "lock").open("r+b") as three:
            assert not system.lock(three, wait=False)
    with (tmp_path / "lock").open("r+b") as one, (tmp_path / "lock").open("r+b") as two:
        assert system.lock(one)
        assert not system.lock(two, shared=True, wait=False) and not system.lock(two, wait=False)
        system.unlock(one)
        assert system.lock(two)


def test_names_that_windows_refuses_are_refused_there(monkeypatch):
    names = "AUX", "lpt1.txt", "web:en", "web?", "web.", "web "
    assert all(system.refused_name(name, windows=True) for name in names)
    assert not any(system.refused_name(name, windows=False) for name in names)
    assert not any(system.refused_name(name, windows=True) for name in ("web-en", "aux-2", "consul", "a b", "été"))
    for name in ("corpusmill.recipe.parts", "corpusmill.recipe.training_stage", "corpusmill.write.dolma"):
        monkeypatch.setattr(f"{name}.refused_name", lambda name: system.refused_name(name, windows=True))
    with pytest.raises(RecipeError, match=r"'web:en' cannot be: Windows has no ':' in names"):
        check_name("web:en")
    with pytest.raises(RecipeError, match=r"'aux' cannot be: Windows keeps it for a device"):
        TrainingStage(name="aux", tokens=1000, batch=1)
    with pytest.raises(RecipeError, match='"nul" cannot be a folder'):
        DolmaWriter(keep=("nul",))


def test_names_that_differ_in_case_alone_are_one(tmp_path):
    """Of whatever a run gives a file: macOS and Windows do not tell them apart, and results are the same everywhere."""
    with pytest.raises(RecipeError, match="two folders of attributes have one name: Tags, tags"):
        DolmaWriter(keep=("tags", "Tags"))


def test_a_file_that_is_named_in_two_cases_is_read_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Data").mkdir()
    (tmp_path / "Data" / "a.jsonl").touch()
    if not (tmp_path / "data").exists():
        pytest.skip("this file system tells case")
    assert len(expand(["Data/a.jsonl", "data/A.jsonl", "DATA/*.jsonl"])) == 1
    assert len(expand(["Data", "data"])) == 1


def test_paths_below_the_folder_of_a_run_are_as_short_as_is_said(two_sources):
    longest = max(len(path.relative_to(two_sources).as_posix()) for path in two_sources.rglob("*"))
    assert longest + len(TEMPORARY) + len("0" * 32 + "-") <= DEEPEST
