"""What a notebook shows of a run."""

import pytest

from corpusmill.errors import InputError
from corpusmill.report.notebook import histogram, section, table
from made_run import made_run


def test_a_section_of_the_report_is_a_frame_without_scripts():
    shown = section(made_run(), "dropped", 300)._repr_html_()
    assert shown.startswith('<iframe sandbox style="width:100%;height:300px')
    assert shown.count("<") == 2 and "gopher_quality" in shown
    assert "default-src &amp;#x27;none&amp;#x27;" in shown


def test_a_section_that_is_not_there_is_named():
    with pytest.raises(InputError, match=r'no section "flows"; did you mean "flow"\? The sections are: flow, sources'):
        section(made_run(), "flows")
    with pytest.raises(InputError, match='nothing under "mix"'):
        section(made_run(), "mix")


def test_values_are_counted_and_shown():
    shown = histogram({"kept": [1, 2, 200], "dropped": [5]}, label="Lengths", unit="words")._repr_html_()
    assert "1 kept, 0 dropped" in shown and "0 kept, 1 dropped" in shown
    with pytest.raises(InputError, match="there are no values"):
        histogram({"kept": []}, label="Lengths", unit="words")
    with pytest.raises(InputError, match="not other"):
        histogram({"other": [1]}, label="Lengths", unit="words")


def test_cells_are_shown_and_not_obeyed():
    shown = table(["name", "count"], [["<script>", 1234]])._repr_html_()
    assert "<script>" not in shown and "&amp;amp;" not in shown.split("script")[0][-4:] and "1,234" in shown
