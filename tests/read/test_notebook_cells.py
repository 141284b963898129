"""Notebooks as scripts and as Markdown, of every version and language, and those that are none."""

import json

import pytest
from reading import briefly, read_all, save

from corpusmill.read.code import CodeReader


def book(*cells: tuple[str, object], language: str = "python", **more: object) -> bytes:
    return json.dumps({
        "cells": [{"cell_type": kind, "source": source} for kind, source in cells],
        "metadata": {"kernelspec": {"language": language}},
        **more,
    }).encode()  # fmt: skip


def read(tmp_path, data: bytes, notebooks: str = "script"):
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "a.ipynb").write_bytes(data)
    reader = CodeReader(notebooks=notebooks, kinds=("programming", "markup", "prose", "data"))  # type: ignore[arg-type]
    return read_all(reader, *reader.find_files([str(folder)]))


@pytest.mark.parametrize(
    ("cells", "script", "markdown"),
    [
        ([("code", "x = 1")], "x = 1\n", "```python\nx = 1\n```\n"),
        ([("code", ["x = 1\n", "y = 2"])], "x = 1\ny = 2\n", "```python\nx = 1\ny = 2\n```\n"),
        ([("markdown", "# A\n\nb")], "# # A\n#\n# b\n", "# A\n\nb\n"),
        ([("raw", "a"), ("code", "x")], "# a\n\nx\n", "a\n\n```python\nx\n```\n"),
        ([("code", "%time f()\n!ls\nx = 1")], "# %time f()\n# !ls\nx = 1\n", "```python\n%time f()\n!ls\nx = 1\n```\n"),
        ([("code", "%%bash\nls\n\ncd")], "# %%bash\n# ls\n#\n# cd\n", "```python\n%%bash\nls\n\ncd\n```\n"),
        ([("code", "'''\n```\n'''")], "'''\n```\n'''\n", "````python\n'''\n```\n'''\n````\n"),
        ([("code", ""), ("markdown", " \n"), ("code", "x")], "x\n", "```python\nx\n```\n"),
        ([("code", "ü—𝔸")], "ü—𝔸\n", "```python\nü—𝔸\n```\n"),
    ],
)
def test_cells(tmp_path, cells, script, markdown):
    (tmp_path / "s").mkdir()
    (tmp_path / "m").mkdir()
    rows, dead, _ = read(tmp_path / "s", book(*cells))
    assert [row["text"] for row in rows] == [script] and dead == []
    rows, dead, _ = read(tmp_path / "m", book(*cells), "markdown")
    assert [row["text"] for row in rows] == [markdown] and dead == []


@pytest.mark.parametrize(
    ("language", "comment"), [("python", "#"), ("R", "#"), ("julia", "#"), ("scala", "//"), ("javascript", "//"), ("haskell", "--")]
)  # fmt: skip
def test_prose_is_in_comments_of_the_kernels_language(tmp_path, language, comment):
    rows, _, _ = read(tmp_path, book(("markdown", "Prose"), ("code", "x"), language=language))
    assert rows[0]["text"] == f"{comment} Prose\n\nx\n"


def test_notebooks_of_version_3_have_worksheets(tmp_path):
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": "x = 1"}]}], "metadata": {}, "nbformat": 3}
    rows, dead, _ = read(tmp_path, b"\xef\xbb\xbf" + json.dumps(old).encode())
    assert rows[0]["text"] == "x = 1\n" and dead == []
    assert json.loads(rows[0]["metadata"])["language"] == "Python"


def test_outputs_are_not_read(tmp_path):
    data = json.dumps({"cells": [{"cell_type": "code", "source": "x", "outputs": [{"text": "SECRET"}]}]}).encode()
    assert read(tmp_path, data)[0][0]["text"] == "x\n"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{", "a.ipynb: the notebook is not JSON"),
        (b"[]", "a.ipynb: the notebook is not a JSON object"),
        (b"{}", "a.ipynb: the notebook has no list of cells"),
        (b'{"cells": 7}', "a.ipynb: the notebook has no list of cells"),
        (b'{"cells": ["x"]}', "a.ipynb: the notebook has no list of cells"),
        (b'{"worksheets": [7]}', "a.ipynb: the notebook has no list of cells"),
    ],
)
def test_what_is_no_notebook_says_why(tmp_path, data, reason):
    rows, dead, _ = read(tmp_path, data)
    assert rows == [] and briefly(dead) == [(0, "bad_notebook", False)]
    assert dead[0]["reason"].startswith(reason)


@pytest.mark.parametrize(
    "metadata", [7, {"kernelspec": 7}, {"kernelspec": {"language": ""}}, {"language_info": {"name": 7}}]
)
def test_metadata_that_say_nothing_mean_python(tmp_path, metadata):
    data = json.dumps({"cells": [{"cell_type": "markdown", "source": "a"}], "metadata": metadata}).encode()
    rows, _, _ = read(tmp_path, data)
    assert rows[0]["text"] == "# a\n" and json.loads(rows[0]["metadata"])["language"] == "Python"


def test_as_json_a_notebook_is_left_as_it_is(tmp_path):
    data = book(("code", "x"))
    rows, dead, _ = read(tmp_path, data, "json")
    assert [row["text"].encode() for row in rows] == [data] and dead == []
    assert save(tmp_path, "x", data).size == len(data)
