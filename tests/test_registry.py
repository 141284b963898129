"""A class is found by the place of its file, and by nothing else."""

import doctest
import importlib
import sys

import pytest

from corpusmill import read, registry, steps, write
from corpusmill.errors import RecipeError

FILES = {
    "__init__.py": "",
    "plain.py": "class Plain: ...",
    "two_words.py": "class TwoWords: ...\nnumber = 1",
    "_helper.py": "class Helper: ...",
    "folder/__init__.py": "",
    "folder/inner_one.py": "class InnerOne: ...",
    "folder/shared.py": "class Shared: ...\nclass FolderShared: ...",
    "table.py": "class TableThing: ...",
    "_hidden/__init__.py": "",
    "_hidden/other.py": "class Other: ...",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    for name, code in FILES.items():
        path = tmp_path / "things" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    yield "things"
    for name in [name for name in sys.modules if name.partition(".")[0] == "things"]:
        del sys.modules[name]


def test_the_entries_are_the_files_without_the_helpers(package):
    assert registry.names(package) == ["plain", "table", "two_words"]


def test_nested_entries_are_the_files_in_folders_without_those_beside_them(package):
    assert registry.names(package, nested=True) == ["folder/inner_one", "folder/shared"]


@pytest.mark.parametrize(
    ("name", "nested", "cls"),
    [
        ("plain", False, "Plain"),
        ("two_words", False, "TwoWords"),
        ("folder/inner_one", True, "InnerOne"),
        ("folder/shared", True, "FolderShared"),
        ("table", False, "TableThing"),
        ("things._helper:Helper", False, "Helper"),
        ("things.plain:Plain", True, "Plain"),
    ],
)
def test_a_name_leads_to_its_class(package, name, nested, cls):
    assert registry.find(package, name, "thing", nested=nested).__name__ == cls


@pytest.mark.parametrize(
    ("name", "nested", "message"),
    [
        ("plane", False, 'there is no thing "plane"; did you mean "plain"? There are: plain, table, two_words.'),
        ("_helper", False, 'there is no thing "_helper". There are: plain, table, two_words.'),
        ("folder/inner_one", False, 'there is no thing "folder/inner_one". There are: plain, table, two_words.'),
        ("plain", True, 'there is no thing "plain". There are: folder/inner_one, folder/shared.'),
        ("_hidden/other", True, 'there is no thing "_hidden/other". There are: folder/inner_one, folder/shared.'),
        ("things:Nothing", False, 'cannot import the thing "things:Nothing": '),
        ("no_such_module:Thing", False, 'cannot import the thing "no_such_module:Thing": '),
        ("things.two_words:number", False, '"things.two_words:number" is not a class'),
    ],
)
def test_another_name_is_an_error_that_names_what_there_is(package, name, nested, message):
    with pytest.raises(RecipeError) as error:
        registry.find(package, name, "thing", nested=nested)
    assert str(error.value).startswith(message)


def test_a_hint_stands_in_for_a_long_list(package):
    with pytest.raises(RecipeError, match=r'^there is no thing "x"\. Look in things\.$'):
        registry.find(package, "x", "thing", hint="Look in things.")


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(registry).failed == 0


PACKAGES = [(steps, {"nested": True}), (read, {"suffix": "Reader"}), (write, {"suffix": "Writer"})]


@pytest.mark.parametrize(("package", "rule"), PACKAGES, ids=lambda value: getattr(value, "__name__", ""))
def test_every_class_is_imported_from_its_package_by_one_name(package, rule):
    names = registry.exported(package.__name__, **rule)
    assert sorted(names.values()) == package.names()
    assert {name: getattr(package, name) for name in names} == {
        name: package.find(entry) for name, entry in names.items()
    }
    assert set(names) < set(dir(package))
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'Nothing'"):
        _ = package.Nothing


def test_of_two_classes_of_one_name_each_has_its_folders_before_it():
    names = registry.exported("corpusmill.steps", nested=True)
    assert (names["FilterUrl"], names["DedupUrl"], names["GopherQuality"]) == (
        "filter/url",
        "dedup/url",
        "filter/gopher_quality",
    )
    with pytest.raises(AttributeError, match='did you mean "GopherQuality"'):
        _ = steps.GoferQuality  # type: ignore[attr-defined]


@pytest.mark.parametrize(("package", "rule"), PACKAGES, ids=lambda value: getattr(value, "__name__", ""))
def test_type_checkers_know_the_same_names(package, rule):
    exported = importlib.import_module(f"{package.__name__}._exported")
    names = registry.exported(package.__name__, **rule)
    assert sorted(exported.__all__) == sorted(names), "run docs/make_reference.py"
    assert all(getattr(exported, name) is getattr(package, name) for name in names)
