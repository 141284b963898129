"""Targets: folders that we wrote, damaged since. Shards and the loader, and the records of a run."""

import json
import os
import shutil
from pathlib import Path
from random import Random
from typing import Any, Literal

import numpy as np

from fuzz.case import Files, Wrong, as_text
from fuzz.mutate import NUMBERS, mutated, replaced

END = 50_256  # of a document, in the tokenizer of the shards


def made_run(base: Path) -> Path:
    """A folder with the corpus, the recipe `made.yaml` and the finished run `run` of it, made once for all processes."""
    folder = base / "made"
    if not (folder / "done").exists():
        import corpusmill
        from corpusmill.execute.serial import Serial
        from made_run import RECIPE, write_corpus

        write_corpus(folder)
        # Paths that are relative, so that a run that was saved can be continued anywhere.
        (folder / "made.yaml").write_text(RECIPE.format(folder="."), "utf-8")
        here = Path.cwd()
        os.chdir(folder)
        try:
            corpusmill.run("made.yaml", folder="run", executor=Serial())
        finally:
            os.chdir(here)
        (folder / "done").touch()
    return folder


def files_of(folder: Path) -> Files:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


IN_INDEX = ["null", '"x"', "[]", "true", "-1", "1e3", '"../x"', '"{:0999999999d}"', '"\\ud800"', "[" * 3000]


class Folders:
    """Damaged shards are refused with a ShardError where they are used, or give the data that was written."""

    name = "shards"
    kinds: tuple[tuple[Literal["concat", "best_fit"], int], ...] = (("concat", 8), ("best_fit", 8), ("concat", 5))

    def prepare(self, base: Path) -> None:
        from corpusmill.models.tokenizer import load
        from corpusmill.shards.pack import UnitTokens
        from corpusmill.shards.plan import plan_shards
        from corpusmill.shards.writer import write_folder

        random = np.random.default_rng(1)
        self.seeds: list[Files] = []
        self.batches: dict[str, list[Any]] = {}
        for number, (method, row) in enumerate(self.kinds):
            lengths = random.integers(1, 30, 25)
            ids = random.integers(0, END, lengths.sum()).astype(np.uint16)
            ids[np.cumsum(lengths) - 1] = END
            folder = Path(f"shards-{number}").absolute()
            shutil.rmtree(folder, ignore_errors=True)
            plan = plan_shards([lengths], method, row, 64, "keep")
            write_folder(folder, plan, [UnitTokens(ids, lengths)], load("gpt2"))
            self.seeds.append(files_of(folder))
            self.batches[str(number)] = self._read(folder)
        self.seeds.append(files_of(made_run(base) / "run" / "output" / "shards"))
        self.batches["3"] = self._read(made_run(base) / "run" / "output" / "shards")

    def _read(self, folder: Path) -> list[Any]:
        """What a training loop reads."""
        from corpusmill import loader

        batches = loader.TokenLoader(folder, batch_size=3, seed=1, epochs=1, drop_last=False, verify=True)
        return [{name: column.tolist() for name, column in batch.items()} for batch in batches]

    def plain(self) -> list[Files]:
        return [{**seed, "kind.txt": str(number).encode()} for number, seed in enumerate(self.seeds)]

    def make(self, random: Random) -> Files:
        number = random.randrange(len(self.seeds))
        files = {**self.seeds[number], "kind.txt": str(number).encode()}
        name = random.choice([*self.seeds[number]])
        if random.random() < 0.3:
            name = "index.json"
        if name == "index.json" and random.random() < 0.6:
            values = [*NUMBERS, *IN_INDEX]
            files[name] = replaced(random, files[name], r'": ("[^"\n]*"|[\d.]+|null)', values)
        elif random.random() < 0.1:
            files[name] = files[random.choice([*files])]
        else:
            files[name] = mutated(random, files[name], [*files.values()])
        return files

    def check(self, folder: Path) -> str:
        from corpusmill.errors import ShardError
        from corpusmill.shards import open_shards
        from corpusmill.shards.documents import documents

        number = (folder / "kind.txt").read_text()
        (folder / "kind.txt").unlink()
        try:
            index = (folder / "index.json").read_bytes()
            # An index has no checksum of its own, so it may say something else of the same tokens.
            same = index == self.seeds[int(number)]["index.json"]
            refused = 0
            for look in (self._unasked, self._read, lambda f: open_shards(f).verify()):
                try:
                    found = look(folder)
                    if look == self._read and same and found != self.batches[number]:
                        raise Wrong("other data than was written")
                except ShardError:
                    refused += 1
            try:
                for _ in documents(open_shards(folder)):
                    pass
            except ShardError:
                refused += 1
            return "refused" if refused else "right"
        finally:
            (folder / "kind.txt").write_text(number)

    def _unasked(self, folder: Path) -> None:
        """As `_read`, without reading the tokens first; and who looks at single tokens."""
        from corpusmill import loader

        opened = loader.open(folder)
        for step in range(opened.steps(4)):
            opened.batch(step, 4)
        shards = opened.shards
        for token in range(0, len(shards), 7):
            if place := shards.document_at(token):
                shards.spans(0, token)
                if shards.has_tables:
                    shards.provenance(place.document)
        data = loader.TokenLoader(folder, batch_size=2, seed=1, fields=("tokens", "doc_ids"))
        data.trace(0)


ODD = json.loads(
    """[0, 1, -1, 2, 8, 64, 2.5, true, null, "x", "1", [], [1], [[1, 2]], [[0, 1180591620717411303424]], {}, 2147483648,
    4611686018427387904, 9223372036854775808, 1000000000000000000000000000000, -1000000000000000000000000000000, 1e300,
    "tokens", ["tokens"], ["targets", "cu_seqlens"], ["nothing"], [null], 1000000000]"""
)


class Arguments:
    """What a training loop gives the loader is used, or refused with a ShardError."""

    name = "loader"
    names = (
        "seq_len",
        "batch_size",
        "seed",
        "rank",
        "world",
        "shuffle",
        "epochs",
        "skip",
        "fields",
        "prefetch",
        "verify",
    )

    def prepare(self, base: Path) -> None:
        self.shards = str(made_run(base) / "run" / "output" / "shards")

    def plain(self) -> list[Files]:
        return [{"given.json": as_text({"settings": {"batch_size": 2, "rank": 1, "world": 2}, "state": {}, "step": 3})}]

    def make(self, random: Random) -> Files:
        settings = {name: random.choice(ODD) for name in random.sample(self.names, random.choice((0, 1, 1, 2, 3)))}
        state = {
            name: random.choice(ODD) for name in random.sample(("samples", "seed", "data"), random.choice((0, 1, 1, 2)))
        }
        given = {"settings": settings, "state": state, "step": random.choice(ODD)}
        if random.random() < 0.1:
            given["path"] = random.choice([ODD, {"x": "y"}, 7, None, {self.shards: random.choice(ODD)}])
        return {"given.json": as_text(given)}

    def check(self, folder: Path) -> str:
        from itertools import islice

        from corpusmill import loader
        from corpusmill.errors import ShardError

        given = json.loads((folder / "given.json").read_text())
        try:
            made = loader.TokenLoader(given.get("path", self.shards), **given["settings"])
        except ShardError:
            return "refused"
        refused = 0
        for use in (
            lambda: made.load_state_dict({**made.state_dict(), **given["state"]}),
            lambda: made.at(given["step"]),
            lambda: made.trace(given["step"]),
            lambda: [*islice(made, 3)],
            lambda: loader.open(self.shards).batch(given["step"], given["settings"].get("batch_size", 2)),
        ):
            try:
                use()
            except ShardError:
                refused += 1
        state = made.state_dict()
        if type(state["samples"]) is not int or state["samples"] < 0 or json.loads(json.dumps(state)) != state:
            raise Wrong(f"a state that cannot be: {state}")
        return "refused" if refused else "right"


class Records:
    """A run whose records or files between stages were damaged is refused with an error that is meant for users, or goes
    on to the bytes that it gave before."""

    name = "records"

    def prepare(self, base: Path) -> None:
        folder = made_run(base)
        self.seed = {name: data for name, data in files_of(folder).items() if name != "done"}
        self.output = {name: data for name, data in self.seed.items() if name.startswith("run/output/")}
        shutil.rmtree("warm", ignore_errors=True)
        shutil.copytree(folder, "warm")
        shutil.rmtree("warm/run/stages")
        self.check(Path("warm").absolute())  # what is compiled or loaded once is not part of a case

    def plain(self) -> list[Files]:
        return [self.seed]

    def make(self, random: Random) -> Files:
        files = dict(self.seed)
        run = [name for name in files if name.startswith("run/") and name not in ("run/report.html",)]
        books = [
            name
            for name in run
            if "/commits/" in name or "/plans/" in name or "/results/" in name or name.count("/") == 1
        ]
        # Without the results of stages their commits are read, and without the commits of some they are done again.
        stages = sorted({name.split("/")[2] for name in run if name.startswith("run/stages/")})
        for stage in stages[random.randrange(len(stages)) :] if random.random() < 0.8 else []:
            for name in [name for name in files if name.startswith(f"run/stages/{stage}/results/")]:
                del files[name]
        for _ in range(random.choice((1, 1, 2))):
            name = random.choice([name for name in (books if random.random() < 0.7 else run) if name in files])
            if random.random() < 0.15:
                del files[name]
            elif name.endswith(".json") and random.random() < 0.5:
                values = [*NUMBERS, "null", '"x"', "[]", "{}", "true", "[" * 3000, '"../../x"', '"\\ud800"']
                files[name] = replaced(random, files[name], r'[:\[,] ?("[^"\n]*"|[\d.]+|null|\[\]|\{\})', values)
            else:
                files[name] = mutated(random, files[name], [files[random.choice([n for n in run if n in files])]])
        return files

    def check(self, folder: Path) -> str:
        import corpusmill
        from corpusmill.errors import CorpusmillError
        from corpusmill.execute.serial import Serial

        here = Path.cwd()
        os.chdir(folder)
        try:
            corpusmill.run("made.yaml", folder="run", executor=Serial())
        except CorpusmillError:
            return "refused"
        finally:
            os.chdir(here)
        found = {f"run/output/{name}": data for name, data in files_of(folder / "run" / "output").items()}
        if found != self.output:
            differ = sorted(
                name for name in found.keys() | self.output.keys() if found.get(name) != self.output.get(name)
            )
            raise Wrong(f"other bytes in {differ}")
        return "right"


OWN_NAMES = (
    "output",
    "stages",
    "inputs",
    "find",
    "hub",
    "forget",
    "notes",
    ".git",
    "files",
    "0123456789abcdef",
    "jsonl",
)
ENDINGS = ("", ".json", ".jsonl", ".txt", ".part", ".md")


class Foreign:
    """Files of others in a run's folder, beside it and in the cache of a machine are as they were, whatever is done."""

    name = "deleted"

    def prepare(self, base: Path) -> None:
        folder = made_run(base)
        self.seed = {name: data for name, data in files_of(folder).items() if name != "done"}

    def plain(self) -> list[Files]:
        return [{**self.seed, "do.json": as_text({"do": ["run", "cache"], "foreign": []})}]

    def make(self, random: Random) -> Files:
        files, foreign = dict(self.seed), []
        for _ in range(random.choice((1, 1, 2, 5))):
            parts = random.choices(OWN_NAMES, k=random.choice((0, 1, 1, 2, 3)))
            top = random.choice(("run", "run", "run", "cache", "."))
            name = "/".join([top, *parts, f"{random.choice(OWN_NAMES)}{random.choice(ENDINGS)}"])
            if name not in files and not any(
                each.startswith(f"{name}/") or name.startswith(f"{each}/") for each in files
            ):
                files[name] = b"of others"
                foreign.append(name)
        do = random.choices(("run", "restart", "export", "cache"), k=random.choice((1, 1, 2, 3)))
        return {**files, "do.json": as_text({"do": do, "foreign": foreign})}

    def check(self, folder: Path) -> str:
        from corpusmill.errors import CorpusmillError

        given = json.loads((folder / "do.json").read_text())
        refused, here = 0, Path.cwd()
        os.chdir(folder)
        try:
            for action in given["do"]:
                try:
                    self._do(action)
                except CorpusmillError:
                    refused += 1
        finally:
            os.chdir(here)
        for name in given["foreign"]:
            if not (folder / name).is_file() or (folder / name).read_bytes() != b"of others":
                raise Wrong(f"{given['do']}: {name} was removed or replaced")
        return "refused" if refused else "right"

    def _do(self, action: str) -> None:
        import fsspec

        import corpusmill
        from corpusmill.execute.serial import Serial
        from corpusmill.export import export
        from corpusmill.store.node_cache import NodeCache
        from corpusmill.store.restart import remove_all
        from corpusmill.store.run_folder import RunFolder

        if action == "run":
            corpusmill.run("made.yaml", folder="run", executor=Serial(), progress=False)
        elif action == "restart":
            remove_all(RunFolder("run"))
            corpusmill.run("made.yaml", folder="run", executor=Serial(), progress=False)
        elif action == "export":
            export("run", "megatron", "output")
        else:
            fsspec.filesystem("memory").pipe_file("/fuzz/run/a.bin", bytes(100))
            cache = NodeCache("memory://fuzz/run", Path("cache").absolute(), limit=0)
            cache.fetch("memory://fuzz/run/a.bin")
            cache.forget("memory://fuzz/run/a.bin")


def targets() -> list[Any]:
    return [Folders(), Arguments(), Records(), Foreign()]
