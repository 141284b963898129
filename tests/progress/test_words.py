"""How far a run is, in words; and the displays that say so, event by event."""

import html
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.engine.drive.meter import StageProgress
from corpusmill.progress import display, words
from corpusmill.progress.bars import MAX_STAGE_NAME, view
from corpusmill.progress.json_lines import JsonLines
from corpusmill.progress.lines import ProgressLines, line
from corpusmill.store.work import Stage

EMPTY = StageProgress("tokens", 2, 4, 10, 0)
BUSY = replace(
    EMPTY, units_done=5, working=2, workers=4, share=0.5, seconds=10.0, left=10.0, documents=1000, kept=250,
    text=2_000_000, documents_per_second=100.0, text_per_second=200_000.0, memory=64_000_000, overall=0.3,
)  # fmt: skip
STAGE = Stage("tokens", None, (), lambda upstream: [])


def clock(text: str) -> int:
    """The seconds that a clock shows."""
    seconds = 0
    for part in text.split(":"):
        seconds = 60 * seconds + int(part)
    return seconds


@given(st.integers(0, 10**6))
def test_a_duration_can_be_read_back(seconds):
    text = words.duration(seconds)
    assert clock(text) == seconds
    assert re.fullmatch(r"(\d+:\d\d|[0-5]?\d):[0-5]\d", text)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (0.4, "0:00"), (59.5, "1:00"), (3599.6, "1:00:00"), (3600, "1:00:00")]
)
def test_a_duration_is_rounded_before_it_is_divided(seconds, text):
    assert words.duration(seconds) == text


@given(st.floats(0, 1, allow_nan=False))
def test_a_share_is_100_per_cent_only_at_the_end(share):
    value = int(words.per_cent(share).removesuffix(" %"))
    assert 0 <= value <= 100 and (value == 100) == (share == 1.0)


@pytest.mark.parametrize(
    ("progress", "rates", "machine"),
    [
        (EMPTY, [], []),
        (replace(EMPTY, workers=3), [], ["0 of 3 workers"]),
        (replace(EMPTY, memory=0), [], []),
        (replace(EMPTY, documents_per_second=0.0), ["0 documents/s"], []),
        (replace(EMPTY, kept=0, documents=7), ["0.0 % kept"], []),
        (replace(EMPTY, kept=0, documents=0), ["– kept"], []),
        (
            BUSY,
            ["100 documents/s", "200.0 kB/s of text", "25.0 % kept"],
            ["2 of 4 workers", "64.0 MB memory"],
        ),
    ],
)
def test_what_is_not_known_is_left_out(progress, rates, machine):
    assert words.rates(progress) == rates
    assert words.machine(progress) == machine


def test_the_average_is_over_all_of_the_stage():
    assert words.average(EMPTY) == []
    assert words.average(replace(BUSY, kept=None, text=0)) == ["1,000 documents", "100 documents/s"]
    assert words.average(BUSY)[2:] == ["200.0 kB/s of text", "25.0 % kept"]
    instant = replace(BUSY, documents=1, seconds=0.0)
    assert words.average(instant)[:2] == ["1 document", "1,000 documents/s"]  # not a division by zero


def test_a_finished_stage_is_one_line():
    done = replace(BUSY, units_done=10)
    assert words.is_finished(done) and not words.is_finished(BUSY)
    assert words.finished(done).startswith("tokens: 10/10 units, 10.0 s, 1,000 documents, 100 documents/s")
    assert words.done_already(1) == "1 stage already done" and words.done_already(2) == "2 stages already done"


def test_a_line_leaves_out_what_is_not_known():
    assert line(EMPTY) == "tokens: 0/10 units, 0 %, 0 s; run: stage 2 of 4, about 0 %"
    assert line(replace(EMPTY, left=61.0, overall_left=3600.0)) == (
        "tokens: 0/10 units, 0 %, 0 s, 1:01 left; run: stage 2 of 4, about 0 %, 1:00:00 left"
    )


def events(*calls, mode=ProgressLines, **settings):
    """What a display says of these calls, a string each."""
    spoken: list[str] = []
    with mode(spoken.append, **settings) as shown:
        for name, *arguments in calls:
            getattr(shown, name)(*arguments)
    return spoken


def test_lines_say_what_begins_and_what_ends():
    assert events(
        ("planned", [STAGE]),
        ("compiling",),
        ("compiled", 1, 3),
        ("compiled", 3, 3),
        ("stage", STAGE, 1, 0),
        ("commit", STAGE, None),
        ("beat", replace(EMPTY, units=1, units_done=1)),
        ("note", "a note"),
        interval=3600.0,
    ) == [
        "1 stage: tokens",
        words.COMPILING_LINE,
        "compiled 3 of 3 kernels",
        "tokens: 1 unit",
        "tokens: 1/1 units, 0.0 s",
        "a note",
    ]


def test_a_line_is_due_at_most_once_in_its_interval():
    beats = [("beat", replace(BUSY, units_done=done)) for done in range(1, 6)]
    assert len(events(*beats, interval=3600.0)) == 1
    assert len(events(*beats, interval=0.0)) == 5


def test_units_of_a_later_stage_are_named_only_if_some_are_done():
    assert events(("stage", STAGE, 4, 0), ("stage", STAGE, 4, 0), ("stage", STAGE, 4, 3), interval=0.0) == [
        "tokens: 4 units",
        "tokens: 3 of 4 units already done",
    ]


def test_a_stage_without_units_is_no_stage_that_was_done_before():
    assert events(("stage", STAGE, 0, 0), interval=0.0) == ["tokens: 0 units"]


def test_json_lines_are_ascii_and_say_how_it_ended():
    lines = events(
        ("compiling",), ("compiled", 2, 9), ("stage", STAGE, 5, 1), ("note", "Ω\n"), ("beat", BUSY), mode=JsonLines
    )
    assert all(text.isascii() and "\n" not in text for text in lines)
    records = [json.loads(text) for text in lines]
    assert records[1] == {"event": "compiled", "kernels": 2, "of": 9}
    assert records[2] == {"event": "stage", "stage": "tokens", "units": 5, "done": 1}
    assert records[3]["message"] == "Ω\n"
    assert records[-1] == {"event": "end", "completed": True}


def test_json_rounds_numbers_and_keeps_what_is_not_known():
    (_, record, _) = (
        json.loads(t) for t in events(("compiling",), ("beat", replace(BUSY, share=1 / 3)), mode=JsonLines)
    )
    assert record["share"] == 0.3333 and record["overall_left"] is None and record["units"] == 10


@pytest.mark.parametrize("mode", ["off", False])
def test_nothing_is_shown_if_nothing_is_to_be_shown(capsys, mode):
    with display(mode) as shown:
        shown.note("not said")
        shown.stage(STAGE, 1, 0)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("mode", ["auto", "lines", True])
def test_lines_go_to_stderr(capsys, mode):
    with display(mode) as shown:
        shown.note("a note")
    assert capsys.readouterr() == ("", "a note\n")


@given(st.text("abcdefgh-", min_size=1, max_size=40), st.integers(10, 140))
def test_bars_have_two_rows_and_a_name_that_is_cut(name, width):
    from rich.console import Console

    console = Console(width=width, color_system=None, force_terminal=True)
    with console.capture() as captured:
        console.print(view(replace(BUSY, stage=name), width))
    rows = captured.get().splitlines()
    assert rows[0].startswith("run") or width < 60, "a narrow line has no room for names"
    assert all(len(row) <= width for row in rows)
    if width > 100:
        shown = rows[1].split(" ")[0]
        assert shown == name or (len(shown) == MAX_STAGE_NAME and shown.endswith("…"))


class Cell:
    """The handle of a cell of a notebook: what it shows now, and how often it was drawn."""

    def __init__(self, bundle):
        self.bundle, self.draws = bundle, 1

    def update(self, bundle, raw):
        self.bundle, self.draws = bundle, self.draws + 1


@pytest.fixture
def cell(monkeypatch):
    """A notebook's display, and the cells that it has made."""
    import sys
    from types import ModuleType

    cells: list[Cell] = []
    package: Any = ModuleType("IPython")
    module: Any = ModuleType("IPython.display")

    def show(bundle, raw, display_id):
        cells.append(Cell(bundle))
        return cells[-1]

    module.display = show
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return cells


def test_a_notebook_has_one_cell_that_is_drawn_over(cell):
    from corpusmill.progress.notebook import Notebook

    with Notebook() as shown:
        shown.planned([STAGE])
        shown.beat(BUSY)
        (drawn,) = cell
        text = drawn.bundle["text/html"]
        assert 'value="0.5000"' in text and "5/10 units" in text and "stage 2 of 4" in text
        assert drawn.bundle["text/plain"].splitlines()[0] == "stage 2 of 4: tokens, 50 %"
        shown.beat(replace(BUSY, units_done=10))
        shown.note("<b>a note</b>")
    assert len(cell) == 1 and drawn.draws >= 4
    final = drawn.bundle["text/html"]
    assert "<details><summary>done: 1 stage in 0:00</summary>" in final and "tokens: 10/10 units" in final
    assert html.escape("<b>a note</b>") in final and "<b>" not in final


def test_a_notebook_says_that_a_run_was_stopped(cell):
    from corpusmill.progress.notebook import Notebook

    with pytest.raises(ZeroDivisionError), Notebook() as shown:
        shown.compiling()
        assert words.COMPILING_LINE in cell[0].bundle["text/plain"]
        shown.compiled(1, 2)
        shown.compiled(2, 2)
        assert cell[0].bundle["text/plain"] == "starting …"
        shown.stage(STAGE, 3, 3)
        shown.beat(replace(BUSY, units_done=10))  # of a stage that was done before
        raise ZeroDivisionError
    assert cell[0].bundle["text/plain"] == "stopped: 0 stages in 0:00"
