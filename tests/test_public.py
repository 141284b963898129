"""What `import corpusmill` gives: every public name, at the price of none."""

import subprocess
import sys

import pytest

import corpusmill

HEAVY = "numpy", "pyarrow", "numba", "yaml", "typer"
HEAVY_FOR_HELP = "numpy", "pyarrow", "numba", "duckdb", "yaml", "http.client", "tokenizers"
MODULES_FOR_HELP = 320  # with those of Python and typer


@pytest.mark.parametrize("name", corpusmill.__all__)
def test_every_public_name_is_there(name):
    assert getattr(corpusmill, name) is not None


def test_a_module_lists_what_is_public_and_refuses_the_rest():
    assert dir(corpusmill) == sorted(corpusmill.__all__)
    with pytest.raises(AttributeError, match="module 'corpusmill' has no attribute 'rnu'"):
        _ = corpusmill.rnu  # type: ignore[attr-defined]


def test_importing_the_package_loads_nothing_heavy():
    code = f"import corpusmill, sys; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("verb", [(), ("run",), ("check",), ("trace",), ("plan",)])
def test_help_loads_nothing_heavy(verb):
    """Help is text, and is there at once: the command imports what a verb needs when it is used."""
    code = (
        "import sys; from corpusmill.cli import main\n"
        f"sys.argv = ['corpusmill', *{verb}, '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {HEAVY_FOR_HELP} if name in sys.modules], len(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy, _, count = done.stderr.splitlines()[-1].rpartition(" ")
    assert heavy == "[]" and int(count) <= MODULES_FOR_HELP


def test_check_tells_what_a_recipe_would_do(tmp_path):
    (tmp_path / "docs.jsonl").write_text('{"text": "The river runs."}\n')
    recipe = tmp_path / "small.yaml"
    recipe.write_text(f"read: {{jsonl: {tmp_path}/docs.jsonl}}\nsteps: [dedup/exact]\nwrite: [parquet]\n")
    checked = corpusmill.check(recipe, overrides=["name=other"])
    assert checked.recipe.name == "other"
    assert repr(checked) == "<Checked other: 1 file, 28 bytes, 6 stages>"
    assert "pass-1</td>" in checked._repr_html_()
    assert checked.sources == {"jsonl": (1, 28)}
    assert checked.passes == {"pass-1": (), "pass-2": ("exact",)}
    assert checked.stages == ("pass-1", "exact-group", "exact-names", "exact-verdicts", "pass-2", "parquet")
    with pytest.raises(corpusmill.errors.RecipeError, match='no step "exakt"'):
        corpusmill.check(recipe, overrides=["steps.exakt.mark=true"])


def test_a_source_shows_its_documents_without_a_run(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "One."}\nno json\n{"text": "Two."}\n')
    source = corpusmill.Source(corpusmill.read.find("jsonl")(), str(tmp_path), "mine")
    rows = [row for batch in source.batches() for row in batch.to_pylist()]
    assert [(row["source"], row["text"]) for row in rows] == [("mine", "One."), ("mine", "Two.")]
    with pytest.raises(corpusmill.errors.InputError):
        next(corpusmill.Source(corpusmill.read.find("jsonl")(), str(tmp_path / "none")).batches())


def test_a_run_is_taken_for_its_folder(two_sources):
    done = corpusmill.run(two_sources.parent / "two.yaml", folder=two_sources)
    audited = corpusmill.audit(done)
    assert audited == corpusmill.audit(two_sources)
    assert repr(audited).startswith(f"<Audit {two_sources}: {len(audited.checks)} checks, ")
    assert audited._repr_html_().count("<tr>") == len(audited.checks) + 1
