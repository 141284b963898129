"""A real file is read once, whatever it is called; and what is there and not read is said."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill import read, storage
from corpusmill.engine.plan.inputs import find_source
from corpusmill.read import CodeReader, DolmaReader, JsonlReader
from corpusmill.recipe.parts import Source
from corpusmill.storage import PassedOver, expand, has_ending

JSONL = JsonlReader.suffixes
NO_FOLDERS = ("code",)  # whose inputs are repositories


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """in/a.jsonl, in/sub/b.jsonl, beside/c.jsonl; paths are relative to the folder above."""
    for name in ("in/a.jsonl", "in/sub/b.jsonl", "beside/c.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('{"text": "a ferry"}')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def link(folder, name, target):
    (folder / name).symlink_to(target)


def read_from(patterns):
    """Paths that are read, and what is said of the others."""
    passed_over = PassedOver()
    files = expand(patterns, JSONL, passed_over)
    return [file.path for file in files], str(passed_over)


@pytest.mark.parametrize("pattern", ["in", "in/", "in/**/*.jsonl", "./in", "i*/**", "**/*.jsonl"])
@pytest.mark.parametrize("target", [".", "..", "../in", "sub/..", "../beside/../in"])
def test_a_link_to_a_folder_above_is_not_followed(folder, pattern, target):
    link(folder, "in/loop", target)
    paths, said = read_from([pattern])
    beside = ["beside/c.jsonl"] if pattern == "**/*.jsonl" else []
    assert [os.path.normpath(path) for path in paths] == [*beside, "in/a.jsonl", "in/sub/b.jsonl"]
    assert said == f"1 not read: link to a folder above 1 ({'./' * pattern.startswith('./')}in/loop)"


@pytest.mark.parametrize("pattern", ["in", "in/**/*.jsonl"])
def test_links_to_other_folders_are_followed(folder, pattern):
    link(folder, "in/more", "../beside")
    assert read_from([pattern]) == (["in/a.jsonl", "in/more/c.jsonl", "in/sub/b.jsonl"], "")


@pytest.mark.parametrize("pattern", ["in", "in/**", "in/*/**"])
def test_folders_that_link_to_each_other_are_read_once(folder, pattern):
    for at in range(6):
        (folder / f"in/{at}").mkdir()
        (folder / f"in/{at}/d.jsonl").write_text("{}")
        for other in range(6):
            link(folder, f"in/{at}/to{other}", f"../{other}")
    paths, said = read_from([pattern])
    assert [path for path in paths if path.endswith("d.jsonl")] == [f"in/{at}/d.jsonl" for at in range(6)]
    assert "link to a folder above 6 (in/0/to0)" in said and "link to a folder that is read 30 (in/0/to1)" in said


@pytest.mark.parametrize("pattern", ["in", "in/**", "in/*/*.jsonl"])
def test_a_folder_is_read_by_its_name_and_not_by_links_to_it(folder, pattern):
    link(folder, "in/aaa", "sub")
    paths, said = read_from([pattern])
    assert [path for path in paths if path.endswith("b.jsonl")] == ["in/sub/b.jsonl"]
    assert "(in/aaa" in said


def test_a_file_of_many_spellings_is_one(folder):
    link(folder, "linked", "in")
    link(folder, "in/z.jsonl", "a.jsonl")
    os.link("in/a.jsonl", "in/hard.jsonl")
    spellings = ["in/z.jsonl", "./in/a.jsonl", "in/../in/a.jsonl", "linked/a.jsonl", str(folder / "in/a.jsonl")]
    spellings += [f"file://{folder}/in/a.jsonl", "in//a.jsonl", "in/a.jsonl", "in/hard.jsonl", "in/[a].jsonl"]
    paths, said = read_from(spellings)
    assert paths == ["in/a.jsonl"]
    assert said == f"7 not read: other name of a file that is read 7 ({min({*spellings} - {'in/a.jsonl'})})"
    assert read_from(spellings[::-1])[0] == paths


def test_files_of_the_same_content_are_two(folder):
    (folder / "in/copy.jsonl").write_bytes((folder / "in/a.jsonl").read_bytes())
    assert read_from("in/*.jsonl") == (["in/a.jsonl", "in/copy.jsonl"], "")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans()), max_size=8))
def test_whatever_the_links_each_real_file_below_is_read_once(tmp_path_factory, links):
    top = tmp_path_factory.mktemp("links")
    folders = [top / "in", top / "in/x", top / "in/x/y", top / "beside"]
    for place in folders:
        place.mkdir()
        (place / "f.jsonl").write_text("{}")
    for number, (at, to, is_file) in enumerate(links):
        (folders[at] / f"link{number}").symlink_to(folders[to] / "f.jsonl" if is_file else folders[to])
    for pattern in (str(top / "in"), f"{top}/in/**"):
        files = expand(pattern)
        assert len(files) == len({os.path.realpath(file.path) for file in files})
        assert {str(place / "f.jsonl") for place in folders[:3]} <= {file.path for file in files}


NAMES = ("a{}", "a{}-00000-of-00002", "a-00000-of-00002{}", "a.00001-of-1024{}", "A{}")


@pytest.mark.parametrize("name", [name for name in read.names() if name not in NO_FOLDERS])
def test_every_reader_takes_the_usual_spellings_of_its_endings(name):
    for suffix in read.find(name).suffixes:
        stem, _, packed = suffix.rpartition(".")
        long = {"gz": "gzip", "zst": "zstd", "bz2": "bzip2"}.get(packed)
        spellings = [
            suffix,
            suffix.upper(),
            suffix.title(),
            *([f"{stem}.{long}", f"{stem}.{long}".upper()] if long else []),
        ]
        for spelling in spellings:
            for pattern in NAMES:
                assert has_ending(f"x/{pattern.format(spelling)}", (suffix,)), (pattern, spelling)
        assert not has_ending(f"x/a{suffix}.tmp", (suffix,))
        assert not has_ending(f"x{suffix}/a", (suffix,))


def test_what_a_folder_has_besides_is_counted_by_kind(folder):
    taken = (
        "k.JSONL",
        "b.jsonlines",
        "c.jl",
        "d.ndjson",
        "e.jsonl.zstd",
        "f.jsonl.gzip",
        "g.JSON.GZ",
        "h.jsonl-0-of-2",
    )
    left = ("part-00000", "train-00000-of-00002", "x.html.gz", "y.html", "z.html", "i.jsonl.Z", "_SUCCESS", ".x.jsonl")
    for name in (*taken, *left):
        (folder / "in" / name).write_text("{}")
    link(folder, "in/gone.jsonl", "nothing")
    paths, said = read_from("in")
    assert paths == sorted([*(f"in/{name}" for name in taken), "in/a.jsonl", "in/sub/b.jsonl"])
    assert said == (
        "9 not read: .html 2 (in/y.html), no ending 2 (in/part-00000), .html.gz 1 (in/x.html.gz), .jsonl.z 1 "
        "(in/i.jsonl.Z), hidden 2 (in/.x.jsonl), link to nothing 1 (in/gone.jsonl)"
    )
    assert "folder, which a pattern that ends in /** reads 1 (in/sub)" in read_from("in/*")[1]


def test_a_remote_folder_says_so_too():
    for name in ("a.JSONL", "b.md", ".c.jsonl"):
        storage.write_atomic(f"memory://besides/{name}", b"{}")
    paths, said = read_from("memory://besides")
    assert len(paths) == 1
    assert said.startswith("2 not read: .md 1 (memory://") and "hidden 1 (" in said


def test_what_a_source_excludes_is_not_counted(folder):
    for name in ("in/raw.html", "in/notes.md"):
        (folder / name).write_text("x")
    source = find_source(Source(JsonlReader(), ("in",), exclude=("in/raw*", "in/sub")))
    assert [file.name for file in source.files] == ["a.jsonl"]
    assert source.passed_over == "1 not read: .md 1 (in/notes.md)"


HOMES = {
    "code": "boats/",
    "dolma": "documents/",
    "redpajama": "documents/",
}  # where a reader's files are, below a folder


@pytest.mark.parametrize("name", [name for name in read.names() if name != "commoncrawl"])  # which reads lists
def test_every_reader_says_what_it_passes_over(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    home, reader = HOMES.get(name, ""), read.find(name)()
    ending = ".py" if name == "code" else reader.suffixes[0]
    (tmp_path / f"in/{home}sub").mkdir(parents=True)
    for file in (f"a{ending}", f"sub/b{ending}", "notes.odd", ".hidden.odd"):
        (tmp_path / f"in/{home}{file}").write_text("")
    link(tmp_path, f"in/{home}z{ending}", f"a{ending}")
    link(tmp_path, f"in/{home}gone{ending}", "nothing")
    link(tmp_path, f"in/{home}sub/up", "..")
    source = find_source(Source(reader, ("in",)))
    if name == "code":  # all that is in a repository is of it, but links
        assert [file.name for file in source.files] == ["boats"]
        assert source.passed_over == "3 not read: link in a repository 3 (in/boats/gone.py)"
        return
    assert [file.name for file in source.files] == [f"{home}a{ending}", f"{home}sub/b{ending}"]
    said = {f".odd 1 (in/{home}notes.odd)", f"hidden 1 (in/{home}.hidden.odd)"}
    said |= {f"link to nothing 1 (in/{home}gone{ending})", f"link to a folder above 1 (in/{home}sub/up)"}
    said |= {f"other name of a file that is read 1 (in/{home}z{ending})"}
    assert source.passed_over.startswith("5 not read: ")
    assert set(source.passed_over.removeprefix("5 not read: ").split(", ")) == said


def test_a_layout_reads_signals_and_says_which_it_does_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file in ("documents/a.json.gz", "attributes/pii/a.json.gz", "attributes/lang/a.json.gz", "old.json.gz"):
        (tmp_path / "in" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / file).write_text("")
    assert find_source(Source(DolmaReader(), ("in",))).passed_over == (
        "1 not read: in no folder called documents 1 (in/old.json.gz)"
    )
    assert find_source(Source(DolmaReader(attributes=("pii",)), ("in",))).passed_over == (
        "2 not read: in no folder called documents 2 (in/attributes/lang/a.json.gz)"
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes on Windows")
def test_repositories_in_archives_say_what_is_beside_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "beside").mkdir()
    for file in ("in/a.zip", "in/.DS_Store", "beside/b.py"):
        (tmp_path / file).write_text("")
    for file, target in (("in/c.zip", "a.zip"), ("in/more", "../beside"), ("in/gone", "nothing")):
        link(tmp_path, file, target)
    os.mkfifo(tmp_path / "in/pipe")
    source = find_source(Source(CodeReader(), ("in",)))
    assert [file.name for file in source.files] == ["a.zip"]
    assert set(source.passed_over.removeprefix("5 not read: ").split(", ")) == {
        "hidden 1 (in/.DS_Store)",
        "link in a repository 1 (in/more)",
        "link to nothing 1 (in/gone)",
        "no regular file 1 (in/pipe)",
        "other name of a file that is read 1 (in/c.zip)",
    }


def test_a_data_set_says_which_files_are_of_another_split_or_no_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file in ("boats/train-0.jsonl", "boats/test-0.jsonl", "boats/README.md", "boats/.gitattributes"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("")
    source = find_source(Source(JsonlReader(), ("boats",), split="test"))
    assert [file.name for file in source.files] == ["boats/test-0.jsonl"]
    assert source.passed_over == (
        "3 not read: .md 1 (boats/README.md), hidden 1 (boats/.gitattributes), of another subset or split 1 "
        "(boats/train-0.jsonl)"
    )
