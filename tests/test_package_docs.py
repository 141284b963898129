"""The docstring of a package lists its modules."""

import importlib
import pkgutil
import re

import pytest

PACKAGES = [
    "engine.drive",
    "execute",
    "formats",
    "formats.code",
    "formats.rights",
    "loader",
    "models",
    "recipe",
    "shards",
    "text",
    "text.pii",
]
PACKAGES += ["tokens", "train"]


@pytest.mark.parametrize("name", PACKAGES)
def test_the_list_of_modules_is_complete(name):
    package = importlib.import_module(f"corpusmill.{name}")
    assert package.__doc__
    entries = re.findall(r"^    (\w+)  ", package.__doc__, re.MULTILINE)
    named = {*entries, *re.findall(r"`(\w+)`", package.__doc__)}
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    assert modules - named == set(), "not described"
    if name != "text.pii":  # lists kinds of personal data, too
        assert set(entries) - modules == set(), "described, and not there"
        assert len(entries) == len(set(entries))
