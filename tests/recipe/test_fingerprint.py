"""Fingerprints change with what is done, and with nothing else."""

import importlib
import sys
from dataclasses import replace

import pytest
from recipe_parts import Everything, KeepShort, Lines

from corpusmill.errors import RecipeError
from corpusmill.recipe import Recipe, RunSettings, Source, code_version, step_fingerprint
from corpusmill.recipe.fingerprint import digest

RECIPE = Recipe(
    name="one", seed=1, read=[Source(Lines(), ["a", "b"])], steps=[KeepShort(max_words=3), Everything(), Everything()]
)


@pytest.mark.parametrize(
    "same",
    [
        replace(RECIPE, name="two"),
        replace(RECIPE, run=RunSettings(workers=7, folder="elsewhere", unit_mb=1)),
        replace(RECIPE, steps=[KeepShort(max_words=3, share=0.5), Everything(number=0.5, maybe=1), Everything()]),
        Recipe.parse(RECIPE.dump()),
    ],
)
def test_is_the_same_for_the_same_work(same):
    assert same.fingerprint() == RECIPE.fingerprint()


@pytest.mark.parametrize(
    "other",
    [
        replace(RECIPE, seed=2),
        replace(RECIPE, read=[Source(Lines(), ["b", "a"])]),
        replace(RECIPE, read=[Source(Lines(), ["a", "b"], "other")]),
        replace(RECIPE, read=[Source(Lines(column="body"), ["a", "b"])]),
        replace(RECIPE, steps=[KeepShort(max_words=4), Everything(), Everything()]),
        replace(RECIPE, steps=[Everything(), KeepShort(max_words=3), Everything()]),
        replace(RECIPE, steps=[KeepShort(max_words=3), Everything()]),
        replace(RECIPE, steps=[KeepShort(max_words=3), Everything(count_or_share=10.0), Everything()]),
        replace(RECIPE, write=[Everything()]),
    ],
)
def test_changes_when_the_work_changes(other):
    assert other.fingerprint() != RECIPE.fingerprint()


def test_a_step_depends_on_what_comes_before_it():
    step = KeepShort(max_words=3)
    assert step_fingerprint(step, "a") == step_fingerprint(KeepShort(max_words=3), "a")
    assert step_fingerprint(step, "a") != step_fingerprint(step, "b")


def test_a_digest_is_sha256_of_compact_json():  # by sha256sum of {"b":[1,1.0,null,true],"a":"\\u00e9"}
    assert digest({"b": [1, 1.0, None, True], "a": "é"}) == (
        "51e74a297e143e6bde143567fa765d05b960d894ffe9f9671454b880ecefa2ad"
    )


def test_the_version_of_code_changes_with_the_file(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    versions = []
    for name, comment in (("made_step_a", ""), ("made_step_b", ""), ("made_step_c", "# changed\n")):
        (tmp_path / f"{name}.py").write_text(f"{comment}class Step:\n    pass\n")
        importlib.invalidate_caches()
        versions.append(code_version(importlib.import_module(name).Step))
        monkeypatch.delitem(sys.modules, name)
    assert versions[0] == versions[1] != versions[2]


def test_code_without_a_source_is_refused():
    with pytest.raises(
        RecipeError, match="has no source, so that a run could not tell when it changes; put it into a file"
    ):
        code_version(type("Made", (), {"__module__": "nowhere"}))
