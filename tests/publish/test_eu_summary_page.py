"""The summary of training content in the guide is what the demo's run says now."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_guide_shows_the_summary_of_the_demo(tmp_path):
    spec = importlib.util.spec_from_file_location("make_eu_summary", ROOT / "docs" / "make_eu_summary.py")
    assert spec and spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.page(tmp_path / "demo") == script.PAGE.read_text("utf-8"), "run docs/make_eu_summary.py"
