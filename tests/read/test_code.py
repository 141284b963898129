"""Repositories in folders and archives."""

import io
import json
import os
import subprocess
import tarfile
import zipfile

import pytest
import zstandard
from reading import briefly, read_all

import corpusmill
import store_server as store_server_module
from corpusmill import storage
from corpusmill.errors import InputError, RecipeError
from corpusmill.read import files_at
from corpusmill.read.code import CodeReader
from corpusmill.recipe import Recipe

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NOTEBOOK = json.dumps({
    "cells": [
        {"cell_type": "markdown", "source": ["# Rivers\n", "of the world"]},
        {"cell_type": "code", "source": "%matplotlib inline\nprint(1)", "outputs": [{"text": "1"}]},
    ],
    "metadata": {"kernelspec": {"language": "python"}},
    "nbformat": 4,
})  # fmt: skip
FILES = {
    ".gitignore": b"*.log\nout/\n",
    "LICENSE": b"MIT License\n",
    "a.py": b"import b\nprint(b.x)\n",
    "b.py": b"# SPDX-License-Identifier: BSD-3-Clause\nx = 1\n",
    "blank.py": b"\n",
    "data.json": b"{}\n",
    "icon.png": b"\x89PNG\0\0",
    "note.ipynb": NOTEBOOK.encode(),
    "odd.zzz": b"who knows\n",
    "out/x.py": b"x = 2\n",
    "run.log": b"ran\n",
    "tests/test_a.py": b"import a\n",
}
READ = ["LICENSE", "a.py", "b.py", "note.ipynb", "tests/test_a.py"]


def make_folder(folder):
    for name, data in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def tar_bytes(top="repo/", pax=True):
    out = io.BytesIO()
    headers = {"comment": COMMIT} if pax else {}
    with tarfile.open(fileobj=out, mode="w", pax_headers=headers) as file:
        for name, data in reversed(FILES.items()):
            member = tarfile.TarInfo(top + name)
            member.size = len(data)
            file.addfile(member, io.BytesIO(data))
        link = tarfile.TarInfo(f"{top}link.py")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        file.addfile(link)
    return out.getvalue()


def make_zip(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.comment = COMMIT.encode()
        for name, data in FILES.items():
            file.writestr(f"repo-main/{name}", data)
    return path


def documents(path, target=1 << 40, **settings):
    reader = CodeReader(**settings)
    rows, dead, counts = read_all(reader, *files_at(reader, [str(path)]), target=target)
    return [{**row, **json.loads(row["metadata"])} for row in rows], dead, counts


def test_every_source_file_is_a_document_and_what_is_left_out_is_counted(tmp_path):
    rows, dead, counts = documents(make_folder(tmp_path / "repo"))
    assert [row["path"] for row in rows] == READ and not dead
    assert counts.skipped == {"ignored": 2, "binary": 1, "blank": 1, "other_language": 2, "unknown_language": 1}
    by_path = {row["path"]: row for row in rows}
    assert by_path["a.py"]["text"] == "import b\nprint(b.x)\n"
    assert [by_path[path]["licence"] for path in ("a.py", "b.py")] == [None, "BSD-3-Clause"]
    assert {row["repository_licence"] for row in rows} == {"MIT"} and {row["repository"] for row in rows} == {"repo"}
    assert [row["path"] for row in rows if row["is_test"]] == ["tests/test_a.py"]
    assert by_path["note.ipynb"]["language"] == "Python"
    assert by_path["note.ipynb"]["text"] == "# # Rivers\n# of the world\n\n# %matplotlib inline\nprint(1)\n"


@pytest.mark.parametrize("name", ["repo.tar", "repo.tar.zst", "repo.zip"])
def test_an_archive_gives_the_same_documents_as_its_folder(tmp_path, name):
    path = tmp_path / name
    if name.endswith(".zip"):
        make_zip(path)
    else:
        path.write_bytes(zstandard.compress(tar_bytes()) if name.endswith("zst") else tar_bytes())
    rows, dead, _ = documents(path)
    expected, _, _ = documents(make_folder(tmp_path / "other" / "repo"))
    assert not dead
    assert [(row["path"], row["text"], row["licence"], row["position"]) for row in rows] == [
        (row["path"], row["text"], row["licence"], row["position"]) for row in expected
    ]
    assert {row["commit"] for row in rows} == {COMMIT} and {row["repository"] for row in rows} == {"repo"}


@pytest.mark.parametrize("target", [1, 40, 200])
def test_pieces_give_what_the_whole_gives(tmp_path, target):
    (tmp_path / "repo.tar").write_bytes(tar_bytes())
    (tmp_path / "repo.tar.zst").write_bytes(zstandard.compress(tar_bytes()))
    assert len(CodeReader().split(files_at(CodeReader(), [str(tmp_path / "repo.tar.zst")]), target)) == 1
    for place in (make_folder(tmp_path / "repo"), make_zip(tmp_path / "repo.zip"), tmp_path / "repo.tar"):
        whole, _, counts = documents(place)
        cut, _, counts_of_cut = documents(place, target=target)
        assert cut == whole and counts_of_cut.skipped == counts.skipped
        assert target > 100 or len(CodeReader().split(files_at(CodeReader(), [str(place)]), target)) > 1


@pytest.mark.parametrize("name", ["repo.tar", "repo.zip"])
def test_one_archive_is_shared_by_workers_and_gives_the_same_bytes(tmp_path, name):
    files = {f"src/f{n}.py": f"x = {n}\n".encode() * 9000 for n in range(300)} | {"LICENSE": FILES["LICENSE"]}
    with zipfile.ZipFile(tmp_path / "repo.zip", "w") as packed, tarfile.open(tmp_path / "repo.tar", "w") as plain:
        for path, data in files.items():
            packed.writestr(f"repo/{path}", data)
            info = tarfile.TarInfo(f"repo/{path}")
            info.size = len(data)
            plain.addfile(info, io.BytesIO(data))
    made = []
    for workers in (1, 2):
        folder = tmp_path / str(workers)
        recipe = (
            f"name: made\nread: {{code: {tmp_path / name}}}\nsteps: [clean/urls]\n"
            f"write: {{jsonl: {{mb_per_file: 4}}}}\nrun: {{folder: {folder}, workers: {workers}, unit_mb: 4}}"
        )
        run = corpusmill.run(Recipe.parse(recipe))
        assert run.units["pass-1"].units > 3
        made.append({path.name: path.read_bytes() for path in (folder / "output/jsonl").iterdir()})
    assert made[0] == made[1]


def test_archives_in_an_object_store_are_read_by_the_positions_of_their_files(tmp_path, store_server, monkeypatch):
    for variable, value in store_server_module.environment(store_server.endpoint).items():
        monkeypatch.setenv(variable, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    store_server.reset()
    (tmp_path / "repo.tar").write_bytes(tar_bytes())
    for path in (make_zip(tmp_path / "repo.zip"), tmp_path / "repo.tar"):
        place = f"s3://bucket/code/{path.name}"
        storage.write_atomic(place, path.read_bytes())
        here, _, _ = documents(path)
        for target in (1 << 40, 40):
            there, dead, _ = documents(place, target=target)
            assert not dead and [(row["path"], row["text"], row["position"], row["commit"]) for row in there] == [
                (row["path"], row["text"], row["position"], row["commit"]) for row in here
            ]


def test_a_repository_is_one_document_in_the_order_of_paths_or_of_dependency(tmp_path):
    folder = make_folder(tmp_path / "repo")
    (row,), _, _ = documents(folder, document="repository", languages=["python"], notebooks="json")
    assert [each["path"] for each in row["files"]] == ["a.py", "b.py", "tests/test_a.py"]
    (row,), _, counts = documents(
        folder, document="repository", order="dependency", languages=["python"], notebooks="json"
    )
    assert [each["path"] for each in row["files"]] == ["b.py", "a.py", "tests/test_a.py"]
    assert row["text"].startswith("# file: b.py\n# SPDX-License-Identifier: BSD-3-Clause\nx = 1\n# file: a.py\n")
    assert [row["text"][each["start"] : each["end"]] for each in row["files"]] == [
        FILES["b.py"].decode(), FILES["a.py"].decode(), FILES["tests/test_a.py"].decode()
    ]  # fmt: skip
    assert counts.skipped["other_language"] and counts.records == 1 + sum(counts.skipped.values())


def test_a_long_repository_is_cut_between_files(tmp_path):
    rows, _, _ = documents(
        make_folder(tmp_path / "repo"), document="repository", max_document_mb=1e-6, languages=["python"]
    )
    assert [[each["path"] for each in row["files"]] for row in rows] == [[path] for path in READ[1:]]
    assert [row["part"] for row in rows] == [0, 1, 2, 3]


def test_notebooks_as_markdown_and_bad_ones_as_dead_letters(tmp_path):
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "a.ipynb").write_text(NOTEBOOK, "utf-8")
    (folder / "b.ipynb").write_text("{", "utf-8")
    (row,), dead, _ = documents(folder, notebooks="markdown")
    assert row["text"] == "# Rivers\nof the world\n\n```python\n%matplotlib inline\nprint(1)\n```\n"
    assert row["language"] == "Markdown" and briefly(dead) == [(1, "bad_notebook", False)]


def test_folders_of_repositories_and_archives_are_found(tmp_path):
    make_folder(tmp_path / "in" / "one" / "x")
    make_folder(tmp_path / "in" / "one" / "y")
    make_zip(tmp_path / "in" / "z.zip")
    assert [file.name for file in files_at(CodeReader(), [str(tmp_path / "in")])] == ["one/x", "one/y", "z.zip"]
    assert [file.name for file in files_at(CodeReader(), [str(tmp_path / "in/one/*")])] == ["x", "y"]


def test_a_folder_has_another_fingerprint_when_a_file_in_it_changes(tmp_path):
    folder = make_folder(tmp_path / "repo")
    (before,) = files_at(CodeReader(), [str(folder)])
    (folder / "b.py").write_text("x = 22\n", "utf-8")
    (after,) = files_at(CodeReader(), [str(folder)])
    assert before.fingerprint != after.fingerprint and before.is_folder


def test_the_commit_and_the_origin_of_a_clone(tmp_path):
    folder = make_folder(tmp_path / "repo")
    git = folder / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    (git / "refs" / "heads" / "main").write_text(f"{COMMIT}\n", "utf-8")
    (git / "config").write_text('[remote "origin"]\n\turl = git@host.example:who/what.git\n', "utf-8")
    rows, _, _ = documents(folder)
    assert {(row["repository"], row["commit"]) for row in rows} == {("host.example/who/what", COMMIT)}


def test_damage_costs_what_it_hits(tmp_path):
    packed = zstandard.compress(tar_bytes())
    (tmp_path / "cut.tar.zst").write_bytes(packed[: len(packed) - 20])
    (tmp_path / "no.tar").write_bytes(b"this is no archive at all" * 100)
    (tmp_path / "none.zip").write_bytes(b"")
    _, dead, _ = documents(tmp_path / "cut.tar.zst")
    assert len(dead) == 1 and dead[0]["kind"] == "truncated"
    assert briefly(documents(tmp_path / "no.tar")[1]) == [(0, "damaged", False)]
    assert briefly(documents(tmp_path / "none.zip")[1]) == [(0, "empty_file", True)]
    (tmp_path / "big.tar.zst").write_bytes(packed)
    assert briefly(documents(tmp_path / "big.tar.zst", max_repository_mb=0.001)[1]) == [(0, "too_large", True)]


def test_attributes_and_patterns_of_the_recipe_count(tmp_path):
    folder = make_folder(tmp_path / "repo")
    (folder / ".gitattributes").write_text("a.py linguist-generated\n", "utf-8")
    rows, _, _ = documents(folder, ignore=["tests/"])
    assert [row["path"] for row in rows] == READ[:-1]
    assert [row["path"] for row in rows if row["is_generated"]] == ["a.py"]


@pytest.mark.parametrize(("settings", "said"), [
    ({"languages": ["pyton"]}, '"pyton" is no language of GitHub Linguist'),
    ({"order": "dependency"}, "order: dependency is of a repository as one document: add document: repository"),
    ({"kinds": ["code"]}, "kinds must be one of programming, markup, prose, data"),
    ({"before_file": "{name}"}, "before_file may have {path} and {repository} in it"),
    ({"max_mb": 0}, "need max_mb > 0, got 0"),
])  # fmt: skip
def test_wrong_settings_are_said(settings, said):
    with pytest.raises(RecipeError) as error:
        CodeReader(**settings)
    assert said in str(error.value)


def test_a_path_that_is_no_repository_is_said(tmp_path):
    (tmp_path / "a.txt").write_text("x", "utf-8")
    (tmp_path / "empty").mkdir()
    for path, said in (("a.txt", "neither a folder nor an archive"), ("empty", "no file"), ("gone", "no such file")):
        with pytest.raises(InputError, match=said):
            files_at(CodeReader(), [str(tmp_path / path)])


def test_git_archive_is_read(tmp_path):
    made = tmp_path / "repo"
    make_folder(made)
    asked = ["git", "-C", str(made), "-c", "user.name=a", "-c", "user.email=a@made.example"]
    try:
        subprocess.run([*asked, "init", "-q"], check=True)
    except FileNotFoundError:
        pytest.skip("git is not installed")
    subprocess.run([*asked, "add", "-A"], check=True)
    subprocess.run([*asked, "commit", "-qm", "x"], check=True)
    out = tmp_path / "x.tar.gz"
    subprocess.run([*asked, "archive", "--format=tar.gz", "--prefix=repo-1/", "-o", str(out), "HEAD"], check=True)
    commits = {row["commit"] for place in (made, out) for row in documents(place)[0]}
    assert len(commits) == 1 and None not in commits


def test_a_path_that_is_longer_than_any_is_a_dead_letter(tmp_path):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as file:
        for name in ("a.py", "b/" * 3000 + "c.py", "b/" * 3000 + ".gitignore"):
            member = tarfile.TarInfo(name)
            member.size = 6
            file.addfile(member, io.BytesIO(b"x = 1\n"))
    (tmp_path / "r.tar").write_bytes(out.getvalue())
    rows, dead, _ = documents(tmp_path / "r.tar")
    assert [json.loads(row["metadata"])["path"] for row in rows] == ["a.py"]
    assert briefly(dead) == [(1, "too_large", True), (2, "too_large", True)]
    assert dead[1]["reason"].endswith("…: its path has 6004 characters, and at most 4096 are read")


@pytest.mark.skipif(os.name == "nt", reason="there are no pipes on Windows")
def test_a_pipe_is_no_archive_and_no_file(tmp_path):
    folder = make_folder(tmp_path / "repo")
    os.mkfifo(folder / "pipe.py")
    assert "pipe.py" not in {json.loads(row["metadata"])["path"] for row in documents(folder)[0]}
    os.mkfifo(tmp_path / "pipe.tar")
    with pytest.raises(InputError, match="neither a folder nor an archive"):
        files_at(CodeReader(), [str(tmp_path / "pipe.tar")])


@pytest.mark.skipif(os.name == "nt", reason="there are no pipes on Windows")
@pytest.mark.parametrize(
    "head", ["ref: ../../secret", "ref: refs/heads/secret", "ref: refs/heads/pipe", "ref: refs/../../secret"]
)
def test_the_commit_of_a_clone_is_a_commit(tmp_path, head):
    folder = make_folder(tmp_path / "repo")
    (tmp_path / "secret").write_text("a password")
    (folder / ".git" / "refs" / "heads").mkdir(parents=True)
    (folder / ".git" / "refs" / "heads" / "secret").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / ".git" / "refs" / "heads" / "pipe")
    os.mkfifo(folder / ".git" / "packed-refs")
    (folder / ".git" / "HEAD").write_text(head)
    assert json.loads(documents(folder)[0][0]["metadata"])["commit"] is None
