"""A run removes and replaces what its own records name, and nothing else, whatever is in the folder that it is given."""

import getpass
import json
import os
from pathlib import Path

import fsspec
import pytest

import corpusmill as package
from corpusmill import storage
from corpusmill.errors import InputError, RefusedFolder, StorageError
from corpusmill.execute.serial import Serial
from corpusmill.export import export
from corpusmill.ops.forget import find, forget
from corpusmill.ops.worker import prepare, work
from corpusmill.publish import card, push
from corpusmill.recipe import Recipe
from corpusmill.store import owned
from corpusmill.store.locks import only_driver
from corpusmill.store.node_cache import NodeCache
from corpusmill.store.output import OutputFolder, is_card_file
from corpusmill.store.restart import refuse_strangers, remove_all
from corpusmill.store.run_folder import RunFolder

ROWS = [
    {"text": f"document {number} says a few words of its own", "url": f"https://a.org/{number}"} for number in range(4)
]
MINE = "mine, and nobody else's"
PLANTED = (
    ["notes.txt", ".git/HEAD"],
    ["output/mine.txt", "output/jsonl/mine.jsonl", "output/jsonl/.hidden", "output/other/00000.jsonl"],
    ["stages/mine.txt", "stages/mine/a.txt", "inputs/mine.jsonl"],
    ["find/mine.txt", "hub/mine.parquet", "forget/mine.txt"],
)
UNFINISHED = [".writing-mine", "stages/.writing-mine.txt"]  # begin like our own, and are passed over


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    Path("r.yaml").write_text(
        "read: {jsonl: in.jsonl}\nwrite: [jsonl, parquet]\nrun: {folder: kept, executor: serial}\n"
    )
    return tmp_path / "kept"


@pytest.fixture
def made(folder):
    package.run(Recipe.load("r.yaml"), executor=Serial())
    return folder


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else b"/"
        for path in sorted(folder.rglob("*"))
    }


def plant(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(MINE)


@pytest.mark.parametrize("command", [["run"], ["run", "--restart"], ["check"], ["work"], ["work", "--prepare"]])
@pytest.mark.parametrize(
    "there",
    [
        {"output/mine.txt": MINE, "notes.txt": MINE},
        {"run.json": '{"framework": "another"}', ".git/HEAD": MINE, "src/code.py": MINE, "tiny.yaml": MINE},
        {"run.json": "[1]", "stages.json": "[]", "stages/pass-1-01234567/docs/a.parquet": MINE},
        {"inputs/mine.jsonl": MINE},
        {".corpusmill/config": MINE},
        {".corpusmill": MINE},
    ],
    ids=lambda there: "+".join(there)[:40],
)
def test_a_folder_that_is_no_runs_is_refused_with_what_it_holds(corpusmill, folder, there, command):
    for name, content in there.items():
        plant(folder, name)
        (folder / name).write_text(content)
    before = tree(folder)
    status, _, err = corpusmill(command[0], "r.yaml", *command[1:])
    assert status == 2 and "is not a run's" in err
    assert all(name.partition("/")[0] in err for name in there)
    assert tree(folder) == before


@pytest.mark.parametrize("names", PLANTED, ids=lambda names: names[0])
def test_what_others_put_into_a_runs_folder_outlives_everything(corpusmill, made, names):
    for name in (*names, *UNFINISHED):
        plant(made, name)

    def told(*command: str) -> None:
        status, out, err = corpusmill(*command)
        assert status == 0 or any(name.partition("/")[0] in err for name in names), (command, out, err)
        assert all((made / name).read_text() == MINE for name in (*names, *UNFINISHED)), command

    told("run", "r.yaml")
    told("push", "kept", "--card")
    told("push", "kept", "hf://datasets/me/mine", "--dry-run")
    Path("urls.txt").write_text(ROWS[0]["url"])
    told("forget", "kept", "--urls", "urls.txt", "--remove")
    Path("r.yaml").write_text(Path("r.yaml").read_text().replace("[jsonl, parquet]", "[parquet]"))
    told("run", "r.yaml")
    told("work", "r.yaml", "--prepare")
    Path("urls.txt").write_text(ROWS[1]["url"])
    told("run", "r.yaml")
    told("forget", "kept", "--urls", "urls.txt", "--purge", "--remove")
    told("run", "r.yaml", "--restart")
    with pytest.raises(RefusedFolder) as refused:
        remove_all(RunFolder("kept"))
    shown = str(refused.value)
    assert all(name in shown or name.partition("/")[0] in shown for name in names)


def test_a_page_that_was_edited_is_somebodys_own(corpusmill, made):
    assert corpusmill("push", "kept", "--card")[0] == 0
    assert is_card_file(RunFolder("kept"), "croissant.json")
    (made / "croissant.json").write_text("{}")
    status, _, err = corpusmill("push", "kept", "--card")
    assert status == 0 and "croissant.json is not as this run has written it" in err
    with pytest.raises(RefusedFolder, match=r"croissant\.json"):
        remove_all(RunFolder("kept"))
    assert (made / "croissant.json").read_text() == "{}"


def test_a_start_from_nothing_leaves_nothing_of_the_run(made):
    card("kept")
    push("kept", "hf://datasets/me/mine", dry_run=True)
    list(find("kept", urls=[ROWS[0]["url"]]).documents)
    remove_all(RunFolder("kept"))
    assert {path.name for path in made.iterdir()} == {".corpusmill", ".lock"}
    package.run(Recipe.load("r.yaml"), executor=Serial())
    assert len(list(package.open("kept").documents())) == len(ROWS)


def test_what_was_asked_of_a_run_is_its_own(corpusmill, made):
    """The index of `find` and the rest of what verbs leave: nothing of it is taken for somebody's file."""
    for words in (("find", "kept", "few words"), ("report", "kept"), ("push", "kept", "--card"), ("stats", "kept")):
        assert corpusmill(*words)[0] == 0, words
    assert (made / "find" / "stages.json").exists()
    refuse_strangers(RunFolder("kept"))
    assert corpusmill("forget", "kept", "--domain", "a.org", "--purge")[0] == 0
    package.run(Recipe.load("r.yaml"), executor=Serial())
    assert corpusmill("find", "kept", "few words")[0] == 0
    remove_all(RunFolder("kept"))
    assert not (made / "find").exists()


def test_a_run_at_work_is_not_removed(made):
    before = tree(made)
    with only_driver(RunFolder("kept")), pytest.raises(RefusedFolder, match="at work"):
        remove_all(RunFolder("kept"))
    assert tree(made).keys() >= before.keys() - {".lock"}


def test_what_is_published_is_named_before_it_is_there(made):
    """As a process that is killed while it publishes leaves it: some files are there, all of them are named."""
    names = {name for name in owned.written_files("kept") if name.startswith("output/")}
    assert names == {f"output/{path}" for path in tree(made / "output") if "." in path}
    for name in sorted(names)[::2]:
        (made / name).unlink()
    (made / "finished.json").unlink(missing_ok=True)
    (made / "report.html").unlink()
    package.run(Recipe.load("r.yaml"), executor=Serial())
    assert {f"output/{path}" for path in tree(made / "output") if "." in path} == names


def test_workers_that_publish_side_by_side_remove_what_the_recipe_no_longer_writes(made):
    Path("r.yaml").write_text(Path("r.yaml").read_text().replace("[jsonl, parquet]", "[parquet]"))
    recipe = Recipe.load("r.yaml")
    prepare(recipe)
    work(recipe, processes=1, progress=False)
    assert sorted(os.listdir(made / "output")) == ["parquet"]  # noqa: PTH208
    assert all(name.startswith("output/parquet/") for name in owned.written_files("kept"))
    plant(made, "output/parquet/mine.txt")
    (made / "finished.json").unlink()
    with pytest.raises(RefusedFolder, match=r"output/parquet/mine\.txt"):
        work(recipe, processes=1, progress=False)
    assert (made / "output/parquet/mine.txt").read_text() == MINE


def test_a_run_of_an_earlier_version_says_what_to_do(corpusmill, made):
    (made / ".corpusmill").unlink()
    (made / "written.json").unlink()
    before = tree(made)
    status, _, err = corpusmill("run", "r.yaml")
    assert status == 2 and "If an earlier version of corpusmill wrote them, remove" in err
    assert tree(made) == before
    os.rename(made / "output", made.parent / "output")  # noqa: PTH104
    assert corpusmill("run", "r.yaml")[0] == 0
    assert owned.is_marked("kept") and owned.written_files("kept")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"files": {"output/jsonl/mine.txt": null}}', "null"])
def test_a_damaged_list_makes_nothing_the_runs_own(made, content):
    (made / "written.json").write_text(content)
    plant(made, "output/jsonl/mine.txt")
    with pytest.raises(RefusedFolder, match=r"mine\.txt"):
        OutputFolder(RunFolder("kept")).remove()


def test_in_a_store_it_is_the_same(folder):
    fs = fsspec.filesystem("memory")
    fs.pipe_file("/owned/taken/output/mine.txt", MINE.encode())
    recipe = Recipe.load("r.yaml")
    with pytest.raises(RefusedFolder, match="output"):
        package.run(recipe, folder="memory://owned/taken", executor=Serial())
    package.run(recipe, folder="memory://owned/run", executor=Serial())
    fs.pipe_file("/owned/run/output/jsonl/mine.txt", MINE.encode())
    for attempt in (
        lambda: package.run(recipe, folder="memory://owned/run", executor=Serial()),
        lambda: remove_all(RunFolder("memory://owned/run")),
    ):
        with pytest.raises(RefusedFolder, match=r"mine\.txt"):
            attempt()
    assert (
        fs.cat_file("/owned/taken/output/mine.txt") == fs.cat_file("/owned/run/output/jsonl/mine.txt") == MINE.encode()
    )
    fs.rm_file("/owned/run/output/jsonl/mine.txt")
    remove_all(RunFolder("memory://owned/run"))
    assert storage.list_dir("memory://owned/run") == [".corpusmill"]


def test_a_manifest_is_never_replaced(made):
    run = RunFolder("kept")
    names = [Path(run.add_manifest(content)).name for content in (b"first", b"second")]
    (made / "forget" / names[0]).unlink()  # archived
    third = Path(run.add_manifest(b"third"))
    assert third.name == "0003.json" and (made / "forget" / names[1]).read_bytes() == b"second"
    done = forget("kept", find("kept", urls=[ROWS[0]["url"]]))
    assert Path(done.path).name == "0004.json"
    remove_all(RunFolder("kept"))
    assert sorted(path.name for path in (made / "forget").iterdir()) == ["0002.json", "0003.json", "0004.json"]


def test_a_record_that_is_put_away_replaces_none_that_was(made):
    stage = RunFolder("kept").stage(RunFolder("kept").stage_folders()[0])
    base = made / stage.name
    commit = next((base / "commits").iterdir())
    content = commit.read_bytes()
    for number in range(3):
        commit.write_bytes(b"%d" % number)
        stage.put_away(str(commit))
    (base / "damaged" / f"{commit.name}.1").unlink()
    commit.write_bytes(content)
    stage.put_away(str(commit))
    left = {path.name: path.read_bytes() for path in (base / "damaged").iterdir()}
    assert left == {commit.name: b"0", f"{commit.name}.2": b"2", f"{commit.name}.3": content}


def test_files_that_are_no_attempts_are_no_orphans(made):
    folder = RunFolder("kept").stage(RunFolder("kept").stage_folders()[0])
    plant(made / folder.name, "docs/my-notes.txt")
    plant(made / folder.name, "docs/0123456789abcdef-deadbeef.parquet")
    folder.remove_orphans(folder.collect(()))
    assert (made / folder.name / "docs/my-notes.txt").exists()
    assert not (made / folder.name / "docs/0123456789abcdef-deadbeef.parquet").exists()


def test_an_export_is_made_beside_nobodys_files(made):
    plant(made.parent, ".lines.part/mine.txt")
    with pytest.raises(InputError, match="not an export's"):
        export("kept", "jsonl", "lines")
    assert (made.parent / ".lines.part/mine.txt").read_text() == MINE
    (made.parent / ".lines.part/.corpusmill-export").touch()  # of one that was killed
    export("kept", "jsonl", "lines")
    assert not (made.parent / ".lines.part").exists()


@pytest.fixture
def remote():
    fs = fsspec.filesystem("memory")
    for number in range(3):
        fs.pipe_file(f"/owned-cache/run/{number}.bin", bytes(100))
    return [f"memory://owned-cache/run/{number}.bin" for number in range(3)]


@pytest.mark.skipif(os.name == "nt", reason="links want a right on Windows")
def test_the_cache_of_a_machine_removes_what_it_has_fetched_alone(tmp_path, remote):
    plant(tmp_path, "photos/0123456789abcdef/1.jpg", "photos/0123456789abcdef/.corpusmill-cache")
    root = tmp_path / "cache"
    plant(
        root, "files/mine.txt", "files/photos/1.jpg", "files/fedcba9876543210/1.jpg", "blocks/boot/fedcba9876543210/1"
    )
    (root / "files" / "0123456789abcdef").symlink_to(tmp_path / "photos" / "0123456789abcdef")
    (root / "files" / "fedcba9876543210" / ".corpusmill-cache").symlink_to(tmp_path / "photos")
    before = tree(tmp_path)
    cache = NodeCache("memory://owned-cache/run", root, limit=150)
    paths = [cache.fetch(name) for name in remote]
    assert [path.exists() for path in paths] == [False, False, True]
    after = tree(tmp_path)
    assert {name: after.get(name) for name in before} == before
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "files").symlink_to(tmp_path / "photos")
    NodeCache("memory://owned-cache/run", linked, limit=0)._make_room(linked)
    assert (tmp_path / "photos/0123456789abcdef/1.jpg").exists()


def test_a_folder_that_the_cache_has_not_made_is_refused_and_left_alone(tmp_path, remote):
    cache = NodeCache("memory://owned-cache/run", tmp_path, limit=150)
    top = cache.fetch(remote[0]).parent
    (top / ".corpusmill-cache").unlink()
    plant(top, "mine.txt")
    for use in (cache.fetch, cache.forget, cache.blocks):
        with pytest.raises(StorageError, match="the cache has not made this, and leaves it alone"):
            use(remote[1])
    assert (top / "mine.txt").read_text() == MINE
    assert (top / "0.bin").exists()


@pytest.mark.skipif(os.name == "nt", reason="folders have no owner and mode there")
@pytest.mark.parametrize("chosen", [True, False])
def test_a_cache_that_others_could_have_filled_is_refused(tmp_path, monkeypatch, chosen):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    root = tmp_path / f"corpusmill-{getpass.getuser()}"
    if chosen:
        monkeypatch.setenv("CORPUSMILL_NODE_CACHE", str(root))
    else:
        monkeypatch.delenv("CORPUSMILL_NODE_CACHE", raising=False)
    NodeCache.at("memory://owned-cache/run")
    assert root.stat().st_mode & 0o777 == 0o700
    for mode in (0o777, 0o770, 0o702):
        root.chmod(mode)
        with pytest.raises(StorageError, match=rf"others can write to it \(mode {mode:o}\).*chmod go-w"):
            NodeCache.at("memory://owned-cache/run")
    root.chmod(0o755)
    NodeCache.at("memory://owned-cache/run")
    monkeypatch.setattr(os, "getuid", lambda: 65534)
    with pytest.raises(StorageError, match="is a link, or another user's"):
        NodeCache.at("memory://owned-cache/run")


def test_a_link_in_the_temporary_folder_is_no_cache(tmp_path, monkeypatch):
    monkeypatch.delenv("CORPUSMILL_NODE_CACHE", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "photos").mkdir()
    (tmp_path / f"corpusmill-{getpass.getuser()}").symlink_to(tmp_path / "photos")
    with pytest.raises(StorageError, match="is a link, or another user's"):
        NodeCache.at("memory://owned-cache/run")


@pytest.mark.parametrize("size", ["many", "-1", "nan", "inf", ""])
def test_the_size_of_the_cache_is_a_number(tmp_path, monkeypatch, size):
    monkeypatch.setenv("CORPUSMILL_NODE_CACHE", str(tmp_path))
    monkeypatch.setenv("CORPUSMILL_NODE_CACHE_GB", size)
    with pytest.raises(InputError, match="CORPUSMILL_NODE_CACHE_GB must be a number of gigabytes"):
        NodeCache.at("memory://owned-cache/run")
