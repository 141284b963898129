"""Patterns of .gitignore decide as git does; git itself is asked where it is installed."""

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.formats.code.gitignore import Attributes, Ignored

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
