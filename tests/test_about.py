"""Which sources of the package import which."""

import shutil

import pytest

from corpusmill import about
from corpusmill.about import PACKAGE, closure, file_of, imports

SOURCE = '''"""A module."""
import json, sys
from typing import TYPE_CHECKING

from corpusmill import assets
from corpusmill.text import (
    compile,
    spans as other,
)
if TYPE_CHECKING:
    from corpusmill.report import page
    import pandas

def late() -> None:
    import orjson
    from corpusmill.errors import AssetError
    from numpy.typing import NDArray
'''


def test_imports_of_a_source(tmp_path):
    (tmp_path / "made.py").write_text(SOURCE)
    ours, others = imports(tmp_path / "made.py")
    assert {"corpusmill.assets", "corpusmill.text", "corpusmill.text.compile", "corpusmill.errors"} <= set(ours)
    assert {"corpusmill.text.spans", "corpusmill.errors.AssetError"} <= set(ours)
    assert not any("report" in name for name in ours)
    assert set(others) == {"json", "typing", "orjson", "numpy"}


@pytest.mark.parametrize(
    ("module", "path"),
    [
        ("corpusmill.about", "about.py"), ("corpusmill.text", "text/__init__.py"), ("corpusmill.text.pii.find", "text/pii/find.py"),
        ("corpusmill", None), ("corpusmill.text.spans.below", None), ("numpy", None), ("corpusmill.missing", None), ("", None),
    ],
)  # fmt: skip
def test_files_of_modules(module, path):
    assert file_of(module) == (PACKAGE / path if path else None)


def test_a_closure_has_the_module_and_what_it_reaches():
    reached = closure("corpusmill.text.words")
    assert {"corpusmill.text.words", "corpusmill.text.spans", "corpusmill.text.unicode", "corpusmill.about"} <= reached
    assert "corpusmill.text.stats" not in reached
    assert closure("corpusmill.about") == {"corpusmill.about"}
    assert closure("numpy") == frozenset()
    assert all(closure(name) <= reached for name in reached)


def test_circles_end(tmp_path, monkeypatch):
    package = tmp_path / "corpusmill"
    package.mkdir()
    (package / "a.py").write_text("from corpusmill.b import x\n")
    (package / "b.py").write_text("from corpusmill.a import y\n")
    monkeypatch.setattr(about, "PACKAGE", package)
    for cached in (file_of, imports, closure):
        cached.cache_clear()
    try:
        assert closure("corpusmill.a") == closure("corpusmill.b") == {"corpusmill.a", "corpusmill.b"}
    finally:
        for cached in (file_of, imports, closure):
            cached.cache_clear()
        shutil.rmtree(package)
