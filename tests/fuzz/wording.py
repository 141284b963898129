"""Targets: what people write. Recipes, conditions of keep_where, queries of `corpusmill sql`."""

import contextlib
import io
import os
import re
from pathlib import Path
from random import Random
from typing import Any

from corpusmill.recipe.shipped import names, shipped
from fuzz.case import Files, Wrong
from fuzz.mutate import mutated, replaced

ROOT = Path(__file__).parents[2]
SECRET = "the-secret-of-another-file"


def listed(text: str) -> list[str]:
    """What stands in a text, two spaces or a line apart."""
    return re.split(r"\s{2,}|\n", text.strip())


VALUES = listed(r"""
no  1e999  -1  []  {}  null  ~  ""  *x  &x [*x]  !!python/object/apply:os.system [id]  0x  '  "\ud800"  ${HOME}
${  [[[[  |  <<: {a: 1}  %  @  jsonl  filter/basic  dedup/minhash  os:system  json:JSONDecoder  .nan  2024-01-01
0o7  - -
""")
VALUES += ["1" * 500, "a" * 3000, "? ", "\t"]


class Recipes:
    """A recipe is refused with a RecipeError, or written as YAML that reads back to the same recipe."""

    name = "recipe"
    values = VALUES

    def prepare(self, base: Path) -> None:
        self.seeds = [shipped(name).path.read_bytes() for name in names()]
        for variable in {variable for name in names() for variable in shipped(name).inputs}:
            os.environ.setdefault(variable, "x.gz")  # what a recipe reads is left to who uses it

    def plain(self) -> list[Files]:
        return [{"recipe.yaml": data} for data in self.seeds]

    def make(self, random: Random) -> Files:
        data = random.choice(self.seeds)
        for _ in range(random.choice((1, 1, 2, 4))):
            if random.random() < 0.6:
                pattern = random.choice(
                    (r"(?m)^\s*- ?(.*)$", r"(?m):( .*)$", r"(?m)^( *)", r"[{,] *(\w+):", r"([\w/.]+)")
                )
                data = replaced(random, data, pattern, self.values)
            else:
                data = mutated(random, data, self.seeds, [value.encode() for value in self.values])
        files = {"recipe.yaml": data}
        if random.random() < 0.3:
            key = random.choice(
                ("name", "seed", "run.workers", "steps.minhash.bands", "read.web.paths", "run", "a.b.c", "=")
            )
            files["set.txt"] = f"{key}={random.choice(self.values)}".encode()
        return files

    def check(self, folder: Path) -> str:
        given = folder / "set.txt"
        overrides = [given.read_text("utf-8", "surrogateescape")] if given.exists() else []
        here = Path.cwd()
        os.chdir(ROOT)  # the recipes name files of the repository
        try:
            return self._read(folder / "recipe.yaml", overrides)
        finally:
            os.chdir(here)

    def _read(self, path: Path, overrides: list[str]) -> str:
        from corpusmill.errors import AssetError, InputError, MissingExtraError, RecipeError
        from corpusmill.recipe import Recipe

        try:
            recipe = Recipe.load(path, overrides)
        except (RecipeError, InputError, AssetError, MissingExtraError) as error:
            if len(str(error)) > 100_000:
                raise Wrong(f"a message of {len(str(error))} characters") from error
            return "refused"
        text = recipe.dump()
        if Recipe.parse(text) != recipe:
            raise Wrong(f"reads back as another recipe:\n{text}")
        return "right"


# Expressions are made by a grammar. What depends on more than the document is marked by the function that makes it.
FORBIDDEN = listed(r"""
random()  now()  current_timestamp  current_date  get_current_time()  uuid()  gen_random_uuid()
current_setting('threads')  getenv('HOME')  version()  nextval('s')  txid_current()  today()  (select 1)
(select content from read_text('{secret}'))  exists (from '{secret}')  count(*)  sum(bytes)
row_number() over ()  current_user  current_database()  age(timestamp '2020-01-01')  setseed(0.5)
read_text('{secret}')  glob('{secret}')  pg_backend_pid()  current_query()  *  $1  ?  localtimestamp
""")
ATOMS = listed(r"""
bytes  url  date  position  basic.words  "basic.words"  basic.digit_ratio  id  source  file  1  0  -1  1e400
9223372036854775808  'a'  ''  null  true  '2020-01-01'  timestamptz '2020-01-01 01:00:00'  date '2020-01-01'
interval 1 day  [1, null]  {'a': 1}  '\x00'::blob  1.5  '[', 1  x'00'  e'\''
""")
TYPES = listed(r"""
int  bool  varchar  timestamptz  date  blob  hugeint  json  int[]  decimal(38,30)  bit  uuid  foo
""")
SHAPES = listed(r"""
({0} {op} {1})  not {0}  {0} between {1} and {2}  {0} in ({1}, {2})  {0} like {1}  {fn}({0})  {fn}({0}, {1})
case when {0} then {1} else {2} end  cast({0} as {type})  try_cast({0} as {type})  {0} is null
coalesce({0}, {1})  {fn}({0}, {1}, {2})  {0}[{1}]  {0}[{1}:{2}]  {0}::{type}  ({0})  - {0}
{0} is distinct from {1}  {fn}()
""")
OPERATORS = listed(r"""
=  <>  <  >=  +  -  *  /  //  %  ||  and  or  **  &  <<  ~  @>  ->  ->>
""")
# What one value can be made to hold much memory with: that is for the writer of a recipe to leave.
GROW = ("repeat", "range", "generate_series", "lpad", "rpad", "array_resize", "list_resize", "bar", "pow", "power")


class Conditions:
    """A condition is refused with a RecipeError, fails for a document with a DocumentError, or gives a bool for each,
    the same each time; what depends on more than the document is always refused."""

    name = "keep_where"

    def prepare(self, base: Path) -> None:
        import pyarrow as pa

        from corpusmill.steps.filter import keep_where

        self.where = keep_where
        pure, every = keep_where.functions(), keep_where.functions(every=True)
        # Mostly those that are allowed, or nearly all conditions would be refused for their functions.
        named = [name for name in [*sorted(pure) * 4, *sorted(every)] if name.isidentifier()]
        self.functions = [name for name in named if name not in GROW]
        rows = 3
        self.documents = {
            "id": pa.array(["a", "b", "c"]),
            "source": pa.array(["made"] * rows),
            "file": pa.array(["made.jsonl"] * rows),
            "position": pa.array([0, 1, 2]),
            "url": pa.array(["http://a.example", None, ""]),
            "date": pa.array(["2020-01-01T00:00:00Z", None, "2020"]),
            "bytes": pa.array([0, 1, 1 << 40]),
            "basic.words": pa.array([1, None, 7], pa.int32()),
            "basic.digit_ratio": pa.array([0.5, None, float("nan")]),
        }

    def plain(self) -> list[Files]:
        plain = ["bytes > 1 and basic.words <= 7", "coalesce(url, '') like 'http%'", "position in (0, 1)"]
        return [{"condition.txt": text.encode()} for text in plain]

    def made(self, random: Random, depth: int, forbidden: bool) -> str:
        """An expression; somewhere in it is what is forbidden, if that is asked for."""
        if depth <= 0:
            return random.choice(FORBIDDEN if forbidden else ATOMS).replace("{secret}", SECRET)
        which = random.randrange(3)
        shape = random.choice(SHAPES)
        while forbidden and "{0}" not in shape:
            shape = random.choice(SHAPES)
        last = max(int(digit) for digit in "0012" if f"{{{digit}}}" in shape or digit == "0")
        parts = [
            self.made(random, depth - random.choice((1, 2)), forbidden and i == which % (last + 1)) for i in range(3)
        ]
        function, kind, operator = random.choice(self.functions), random.choice(TYPES), random.choice(OPERATORS)
        return shape.format(*parts, fn=function, type=kind, op=operator)

    def make(self, random: Random) -> Files:
        forbidden = random.random() < 0.3
        text = self.made(random, random.choice((1, 1, 1, 2, 2, 3, 5)), forbidden)
        if random.random() < 0.5:
            text = f"({text}) is not null"
        if forbidden:
            return {"condition.txt": text.encode(), "forbidden.txt": b"must be refused"}
        data = text.encode()
        if random.random() < 0.4:
            words = [
                b") union select (1",
                b"--",
                b"/*",
                b"*/",
                b";",
                b"'",
                b'"',
                b"$$",
                b") from documents where (true",
                b"\\",
            ]
            words += [
                b") group by (1",
                b"1) as x, (2",
                b") over (",
                b" filter (where true)",
                b" order by 1",
                b"( ",
                b"x -> ",
            ]
            data = mutated(random, data, [], words)
        return {"condition.txt": data}

    def check(self, folder: Path) -> str:
        from corpusmill.errors import DocumentError, RecipeError

        condition = (folder / "condition.txt").read_bytes().decode("utf-8", "surrogateescape")
        try:
            step = self.where.KeepWhere(condition=condition)
            first = self._reasons(step)
        except (RecipeError, DocumentError) as error:
            if isinstance(error, DocumentError) and (folder / "forbidden.txt").exists():
                raise Wrong("what is forbidden was computed") from error
            return "refused"
        if (folder / "forbidden.txt").exists():
            raise Wrong(f"what is forbidden was allowed: {condition}")
        if first != self._reasons(step):
            raise Wrong("it decides otherwise the second time")
        return "right"

    def _reasons(self, step: Any) -> list[Any]:
        import pyarrow as pa

        batch = pa.record_batch({"id": self.documents["id"]})
        reasons: list[Any] = step.reasons(batch, self.documents).to_pylist()
        assert len(reasons) == 3
        return reasons


TABLES = listed(r"""
read_csv('input/secret.csv')  read_text('input/secret.csv')  read_blob('input/secret.csv')  'input/secret.csv'
glob('input/*')  sniff_csv('input/secret.csv')  range(9)  duckdb_settings()  information_schema.tables  '/etc/passwd'
read_parquet('input/*')  read_json('input/secret.csv')  parquet_metadata('input/secret.csv')  pragma_table_info('texts')
""")
ENDS = [
    "",
    " where {0} = {1}",
    " limit 3",
    " order by all",
    " group by all",
    " using sample 2",
    " window w as (order by {0})",
]
STATEMENTS = listed(r"""
copy ({select}) to 'input/stolen.csv'
copy documents from 'input/secret.csv'
export database 'input/stolen'
import database 'input'
attach 'input/stolen.db' as s
install httpfs  load httpfs  checkpoint  vacuum  show tables  from documents  call range(3)  pragma database_list
set threads = 1  set enable_external_access = true  reset allowed_paths  create table x as {select}
{select}; {select}
with x as ({select}) from x
with recursive x as (select 1 union all select 1 from x limit 3) from x
select * from ({select}) union all by name {select}
explain analyze {select}
describe {table}  summarize {table}  update {table} set id = 1  pivot {table} on source using count(*)
select columns('.*') from {table}
select {table} from {table}
select * exclude (id) from {table}
select unnest([1, null, 3])
select {{'a': 'input/secret.csv', 'b': interval 3 months}}, map {{'k': [1.5]}}, '1 day'::interval, 'infinity'::date
select -1::uhugeint, 170141183460469231731687303715884105727, 'nan'::float, '290000-01-01'::timestamp, '24:00'::time
select '1992-01-01 00:00:00.123456789'::timestamp_ns, '5877642-06-25 (BC)'::date, b'0101'::bit, '\x00\xff'::blob, uuid()
""")


class Queries:
    """A query is refused with an InputError, or answered, and what it answers can be printed; it reads no file but those
    of the run, and writes none."""

    name = "sql"

    def prepare(self, base: Path) -> None:
        from corpusmill.report.tables import RunTables
        from corpusmill.report.views import Views
        from fuzz.folders import made_run

        self.run = made_run(base) / "run"
        self.tables = RunTables(self.run)
        views = Views(self.tables)
        self.names = [*views.columns]
        self.columns = [f'"{column}"' for columns in views.columns.values() for column in columns]
        self.functions = sorted(
            {row[0] for row in views.database.execute("select function_name from duckdb_functions()").fetchall()}
        )
        self.functions = [name for name in self.functions if name.isidentifier() and name not in GROW]

    def plain(self) -> list[Files]:
        plain = [
            "select count(*) from documents",
            "select * from dead",
            "select step, count(*) from verdicts group by all",
        ]
        return [{"query.txt": text.encode()} for text in plain]

    def value(self, random: Random) -> str:
        column = random.choice([*self.columns, *ATOMS])
        return random.choice(
            (column, f"{random.choice(self.functions)}({column})", f"{column}::{random.choice(TYPES)}")
        )

    def make(self, random: Random) -> Files:
        table = random.choice([*self.names, random.choice(TABLES)])
        select = f"select {self.value(random)}, {self.value(random)} as x from {table}"
        select += random.choice(ENDS).format(self.value(random), self.value(random))
        if random.random() < 0.4:
            select = random.choice(STATEMENTS).format(select=select, table=random.choice(self.names))
        data = mutated(random, select.encode()) if random.random() < 0.25 else select.encode()
        return {"query.txt": data, "secret.csv": f"a,b\n{SECRET},1\n".encode()}

    def check(self, folder: Path) -> str:
        from corpusmill.cli.common import print_json
        from corpusmill.cli.sql import print_rows
        from corpusmill.errors import InputError
        from corpusmill.report.views import sql

        query = (folder / "query.txt").read_bytes().decode("utf-8", "surrogateescape")
        before = sorted(path.name for path in folder.iterdir())
        try:
            answer = sql(self.tables, query)
        except InputError:
            return "refused"
        finally:
            if sorted(path.name for path in folder.iterdir()) != before:
                raise Wrong(f"a file was written: {query}")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            print_json({"columns": answer.columns, "rows": answer.rows})
            print_rows(answer)
        if SECRET in printed.getvalue():
            raise Wrong(f"a file was read: {query}")
        return "right"


def targets() -> list[Any]:
    return [Recipes(), Conditions(), Queries()]
