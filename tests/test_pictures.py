"""The pictures of the documentation are what the code draws now."""

import importlib.util
from pathlib import Path
from xml.etree import ElementTree

DOCS = Path(__file__).parents[1] / "docs"


def test_every_picture_is_as_it_is_drawn_now():
    spec = importlib.util.spec_from_file_location("make_pictures", DOCS / "make_pictures.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    drawn = module.pictures()
    for name, content in drawn.items():
        ElementTree.fromstring(content)
        stored = (DOCS / "pictures" / name).read_text("utf-8")
        assert stored == content, f"{name} is old: run python docs/make_pictures.py"
    assert {path.name for path in (DOCS / "pictures").iterdir()} == set(drawn)
