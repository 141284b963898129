"""Options that can change nothing where they are given are an error, whatever the verb."""

from typing import Any

import pytest

from corpusmill.errors import InputError, RecipeError
from corpusmill.export import EXPORT_FORMATS, REVIEW_FORMATS, TAKERS, export, formats
from corpusmill.write import EXPORTED, find
from made_run import made_run

UNUSED = {
    "add RUN --list --dry-run": "--dry-run",
    "add RUN --source web": "--source",
    "add RUN more.jsonl --dry-run --workers 2": "--workers",
    "audit RUN --samples 2": "--samples",
    "audit RUN --raw": "--raw",
    "export RUN jsonl NEW --val-fraction 0.1": "--val-fraction",
    "export RUN megatron NEW -n 4": "-n",
    "remove RUN d.jsonl --prepare --progress off": "--progress",
    "find RUN river --words 3": "--words",
    "find RUN --canaries -n 3": "-n",
    "find RUN river --batch 4": "--batch",
    "find RUN --spans text.txt --steps": "--steps",
    "forget RUN --domain a.example --world 2": "--world",
    "forget RUN --check m.json --domain a.example": "--domain",
    "new --list --input d.jsonl": "--input",
    "new --schema --force": "--force",
    "new demo --schema": "demo",
    "peek RUN --id x -n 3": "-n",
    "plan --params 7B --sample 5%": "--sample",
    "plan RUN --overtrain 3": "--overtrain",
    "push RUN --card --private": "--private",
    "run r.yaml --restart --retry-aside": "--retry-aside",
    "sql RUN --csv": "--csv",
    "trace RUN --row 0 --rank 1": "--rank",
    "watch RUN --once --every 3": "--every",
    "work RUN --prepare --lease 9": "--lease",
}


@pytest.mark.parametrize("line", UNUSED)
def test_an_option_that_changes_nothing_is_named(corpusmill, tmp_path, line):
    words = [{"RUN": str(made_run()), "NEW": str(tmp_path / "new")}.get(word, word) for word in line.split()]
    status, out, err = corpusmill(*words)
    assert (status, out) == (2, ""), err
    (error,) = (line for line in err.splitlines() if line.startswith("error:"))
    assert error.startswith(f"error: {UNUSED[line]}"), error
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("format", formats())
def test_an_export_refuses_what_its_format_has_no_use_for(tmp_path, format):
    for name, takers in TAKERS.items():
        settings: Any = {name: 0 if name == "val_tokens" else 1}
        if format not in takers:
            with pytest.raises(InputError, match=f"^{format} takes no {name}, which is for {takers[0]}"):
                export(made_run(), format, tmp_path / "new", **settings)
    with pytest.raises(RecipeError, match=f'^{format} has no parameter "colour"'):
        export(made_run(), format, tmp_path / "new", colour="red")
    assert not list(tmp_path.iterdir())


def test_a_format_of_export_alone_is_sent_there():
    assert set(EXPORTED) == {*EXPORT_FORMATS, *REVIEW_FORMATS}
    for name in EXPORTED:
        with pytest.raises(RecipeError, match=f"corpusmill export RUN {name} FOLDER"):
            find(name)
