"""Patterns of .gitignore decide as git does; git itself is asked where it is installed."""

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.formats.code.gitignore import Attributes, Ignored, pattern
from growth import assert_linear

LINES = [
    "*.log", "!keep.log", "/build", "build/", "docs/*.txt", "docs/**/x", "**/cache", "a/**", "foo/**/bar", "#note", "\\#note",
    "\\!odd", "name\\ ", "trail  ", "[ab].c", "[!a].c", "?.h", "*", "!*/", "!*.py", "a/b/", "te*st", "[[:digit:]]x", "x[",
]  # fmt: skip
PATHS = [
    "a.log", "keep.log", "sub/keep.log", "build", "sub/build/x.py", "docs/a.txt", "docs/deep/a.txt", "docs/x", "docs/d/e/x",
    "q/cache/z", "cache", "a/b/c", "a/x", "foo/bar", "foo/1/2/bar", "#note", "!odd", "name ", "trail", "a.c", "b.c", "c.c",
    "q.h", "qq.h", "m.py", "te/st", "teXst", "1x", "x[", "a/keep.log/deep.py",
]  # fmt: skip


@pytest.mark.parametrize(("lines", "path", "ignored"), [
    (["*.log"], "sub/a.log", True),
    (["*.log", "!keep.log"], "keep.log", False),
    (["/build"], "sub/build", False),
    (["build/"], "build", False),  # a file, and the pattern is for folders
    (["build/"], "sub/build/x", True),
    (["out", "!out/a"], "out/a", True),  # nothing in a folder that is ignored comes back
    (["docs/**/x"], "docs/x", True),
    (["a/**"], "a", False),
])  # fmt: skip
def test_whether_a_path_is_ignored(lines, path, ignored):
    assert Ignored({"": "\n".join(lines)}).is_ignored(path) is ignored


def test_the_nearest_file_decides():
    held = Ignored({"": "*.txt\n", "sub": "!a.txt\n"})
    assert [held.is_ignored(path) for path in ("a.txt", "sub/a.txt", "sub/b.txt")] == [True, False, True]


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    folder = tmp_path_factory.mktemp("git")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@settings(max_examples=25, deadline=None)
@given(lines=st.lists(st.sampled_from(LINES), max_size=5), inner=st.lists(st.sampled_from(LINES), max_size=2))
def test_agrees_with_git(work, lines, inner):
    (work / ".gitignore").write_text("\n".join(lines) + "\n", "utf-8")
    (work / "docs").mkdir(exist_ok=True)
    (work / "docs" / ".gitignore").write_text("\n".join(inner) + "\n", "utf-8")
    asked = subprocess.run(
        ["git", "-c", "core.excludesFile=", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=work, input="\0".join(PATHS).encode(), capture_output=True, check=False,
    )  # fmt: skip
    expected = set(asked.stdout.decode().split("\0")) - {""}
    held = Ignored({"": "\n".join(lines), "docs": "\n".join(inner)})
    assert {path for path in PATHS if held.is_ignored(path)} == expected


def test_attributes_have_values_and_the_last_one_counts():
    said = Attributes(
        {"": "*.js linguist-generated\n*.x linguist-language=Java text\n", "lib": "a.js -linguist-generated\n"}
    )
    assert said.of_path("src/b.js") == {"linguist-generated": "true"}
    assert said.of_path("lib/a.js") == {"linguist-generated": "false"}
    assert said.of_path("b.x") == {"linguist-language": "Java"}


def slow_match(glob, path):
    """wildmatch as gitignore(5) defines it, of stars and letters: every way is tried."""
    if not glob:
        return not path
    if glob == "**":
        return path != ""
    if glob.startswith("**/"):
        return any(slow_match(glob[3:], path[at:]) for at in range(len(path)) if at == 0 or path[at - 1] == "/")
    if glob[0] == "/":
        return path[:1] == "/" and slow_at_folder(glob[1:], path[1:])
    if glob[0] == "*":
        rest = glob.lstrip("*")
        ends = next((at for at, char in enumerate(path) if char == "/"), len(path))
        return any(slow_inside(rest, path[at:]) for at in range(ends + 1))
    return path[:1] not in ("", "/") and glob[0] in ("?", path[0]) and slow_inside(glob[1:], path[1:])


slow_at_folder = slow_match  # where "**" is folders


def slow_inside(glob, path):
    return slow_match(glob, path) if not glob.startswith("*") else slow_match(f"*{glob.lstrip('*')}", path)


@settings(max_examples=400, deadline=None)
@given(
    glob=st.lists(st.sampled_from(["a", "b", "*", "*a", "?", "/", "/**/", "**/", "ab"]), min_size=1, max_size=9).map("".join),
    path=st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=5).map("/".join),
)  # fmt: skip
def test_agrees_with_the_definition(glob, path):
    glob = f"/{glob.strip('/')}" if glob.strip("/") else "/a"  # anchored, and no folder's
    if "//" in glob or "***" in glob:
        return
    assert pattern(glob).fits(path, False) == slow_match(glob[1:], path)


@pytest.mark.parametrize(("line", "make"), [
    ("*a*a*a*a*a*a*a*a*a*ab", lambda size: "a" * size),
    ("*[ab]*?*[ab]*?*[ab]*c", lambda size: "a" * size),
    ("**/a/" * 20 + "x", lambda size: "a/" * (size // 2) + "y"),
    ("**/" * 20 + "*/x", lambda size: "a/" * (size // 2) + "y"),
    ("**/*a*a*a*b/*a*a*a*b/**/x", lambda size: ("a" * 60 + "b/") * (size // 60) + "y"),
])  # fmt: skip
def test_hostile_patterns_take_linear_time(line, make):
    assert_linear(lambda path: [pattern(line).fits(path, False) for _ in range(20)], make, 4000)


def test_a_path_of_two_thousand_folders_is_judged_folder_by_folder():
    rules = Ignored({"": "x\n!y\n", "a/" * 1000 + "a": "y\n"})
    assert rules.is_ignored("a/" * 2000 + "y")
    assert not rules.is_ignored("a/" * 900 + "y")
    assert rules.is_ignored("a/" * 2000 + "y")


@pytest.mark.parametrize("line", ["a", "[", "[a", "[[:", "*a", "**/", "a ", "\\", "\\ ", "? "])
def test_hostile_lines_take_linear_time(line):
    assert_linear(lambda text: Ignored({"": text}).is_ignored("y"), lambda size: line * (size // len(line)), 1 << 18)
    assert_linear(lambda text: Attributes({"": text}).of_path("y"), lambda size: f"{line} a\n" * (size // 8), 1 << 14)


def test_a_line_that_is_longer_than_any_path_is_none():
    assert pattern("a" * 4096) is not None
    assert pattern("a" * 4097) is None
