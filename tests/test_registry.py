"""A class is found by the place of its file, and by nothing else."""

import importlib
import re
import sys

import pytest

from corpusmill import read, steps, write
from corpusmill.assets.registry import Registry, imported
from corpusmill.errors import RecipeError

FILES = {
    "__init__.py": "",
    "plain.py": "class Plain: ...",
    "two_words.py": "class TwoWords: ...\nnumber = 1",
    "_helper.py": "class Helper: ...",
    "folder/__init__.py": "",
    "folder/inner_one.py": "class InnerOne: ...",
    "folder/shared.py": "class Shared: ...\nclass FolderShared: ...",
    "further/__init__.py": "",
    "further/shared.py": "class FurtherShared: ...",
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
    assert Registry(package, "thing").names() == ["plain", "two_words"]


def test_nested_entries_are_the_files_in_folders_without_those_beside_them(package):
    assert Registry(package, "thing", nested=True).names() == ["folder/inner_one", "folder/shared", "further/shared"]


@pytest.mark.parametrize(
    ("name", "nested", "cls"),
    [
        ("plain", False, "Plain"),
        ("two_words", False, "TwoWords"),
        ("folder/inner_one", True, "InnerOne"),
        ("folder/shared", True, "FolderShared"),
        ("further/shared", True, "FurtherShared"),
        ("things._helper:Helper", False, "Helper"),
        ("things.plain:Plain", True, "Plain"),
    ],
)
def test_a_name_leads_to_its_class(package, name, nested, cls):
    assert Registry(package, "thing", nested=nested).find(name).__name__ == cls


@pytest.mark.parametrize(
    ("name", "nested", "message"),
    [
        ("plane", False, 'there is no thing "plane"; did you mean "plain"? There are: plain, two_words.'),
        ("_helper", False, 'there is no thing "_helper". There are: plain, two_words.'),
        (
            "own.Thing",
            False,
            'there is no thing "own.Thing". There are: plain, two_words. One of your own is written mod',
        ),
        ("folder/inner_one", False, 'there is no thing "folder/inner_one". There are: plain, two_words.'),
        ("plain", True, 'there is no thing "plain". There are: folder/inner_one, folder/shared, further/shared.'),
        (
            "_hidden/other",
            True,
            'there is no thing "_hidden/other". There are: folder/inner_one, folder/shared, further/shared.',
        ),
        ("things:Nothing", False, 'cannot import the thing "things:Nothing": things has no "Nothing"'),
        (
            "things.plain:Plan",
            False,
            'cannot import the thing "things.plain:Plan": things.plain has no "Plan"; did you',
        ),
        (
            "no_such_module:Thing",
            False,
            'cannot import the thing "no_such_module:Thing": No module named \'no_such_mod',
        ),
        ("own/things.py:Thing", False, 'cannot import the thing "own/things.py:Thing": name the module as Python im'),
        ("things.two_words:number", False, '"things.two_words:number" is not a class'),
    ],
)
def test_another_name_is_an_error_that_names_what_there_is(package, name, nested, message):
    with pytest.raises(RecipeError) as error:
        Registry(package, "thing", nested=nested).find(name)
    assert str(error.value).startswith(message)


def test_an_absent_module_is_an_error_that_says_where_modules_are_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecipeError, match=f"found in the working directory, {re.escape(str(tmp_path))}, and where"):
        imported("step", "no_such_module:Step")
    (tmp_path / "half_a_module.py").write_text("import no_such_package")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(RecipeError, match=r'step "half_a_module:Step": No module named .no_such_package.$'):
        imported("step", "half_a_module:Step")


def test_the_kind_may_be_a_part_of_every_class_name(package):
    registry = Registry(package, "thing", "Words")
    assert registry.classes == {"PlainWords": "plain", "TwoWordsWords": "two_words"}
    with pytest.raises(AttributeError, match="has no attribute 'PlainWord'; did you mean \"PlainWords\""):
        registry.importer()("PlainWord")


def test_a_hint_stands_in_for_a_long_list(package):
    with pytest.raises(RecipeError, match=r'^there is no thing "x"\. Look in things\.$'):
        Registry(package, "thing", hint="Look in things.").find("x")


PACKAGES = [steps, read, write]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_class_is_imported_from_its_package_by_one_name(package):
    names = package.REGISTRY.classes
    assert sorted(names.values()) == package.names()
    assert {name: getattr(package, name) for name in names} == {
        name: package.find(entry) for name, entry in names.items()
    }
    assert set(names) < set(dir(package))
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'Nothing'"):
        _ = package.Nothing


def test_of_two_classes_of_one_name_each_has_its_folders_before_it():
    names = steps.REGISTRY.classes
    assert (names["FilterUrl"], names["DedupUrl"], names["GopherQuality"]) == (
        "filter/url",
        "dedup/url",
        "filter/gopher_quality",
    )
    with pytest.raises(AttributeError, match='did you mean "GopherQuality"'):
        _ = steps.GoferQuality  # type: ignore[attr-defined]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_type_checkers_know_the_same_names(package):
    exported = importlib.import_module(f"{package.__name__}._exported")
    names = package.REGISTRY.classes
    assert sorted(exported.__all__) == sorted(names), "run docs/make_reference.py"
    assert all(getattr(exported, name) is getattr(package, name) for name in names)
