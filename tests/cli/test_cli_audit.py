"""The verb `audit`: what it prints, and its exit status."""

import json

from made_run import HOSTILE_URL, made_run


def test_audit_prints_the_flags_first_and_exits_with_1_if_there_is_one(corpusmill):
    status, out, _ = corpusmill("audit", made_run())
    assert status == 1 and out.startswith("RED FLAG      chars_per_token         6.6  2 to 6\n")
    assert f"→ look at them: corpusmill peek {made_run()} --dead" in out
    flags = out.splitlines()[-1]
    assert flags.startswith("2 red flags, ") and flags.endswith(" not measured")
    status, out, _ = corpusmill("audit", made_run(), "--bound", "dead_letters=..0.1", "--bound", "chars_per_token=..7")
    assert status == 0 and "RED FLAG" not in out


def test_audit_prints_json(corpusmill):
    status, out, _ = corpusmill("audit", made_run(), "--json", "-n", "5")
    record = json.loads(out)
    assert status == 1 and record["sample"] == 5
    (check,) = (check for check in record["checks"] if check["name"] == "dead_letters")
    assert check["verdict"] == "red flag" and check["bounds"] == {"low": None, "high": 0.01}


def test_audit_writes_a_prompt_to_stdout_or_a_file(corpusmill, tmp_path):
    status, out, _ = corpusmill("audit", made_run(), "--prompt", "-", "--samples", "100")
    assert status == 0 and out.startswith("# Review of training data: made\n") and "\x1b" not in out
    assert HOSTILE_URL in out
    file = tmp_path / "prompt.md"
    status, out, _ = corpusmill("audit", made_run(), "--prompt", file, "--samples", "0")
    assert status == 1 and "RED FLAG" in out
    assert "### Dropped by" not in file.read_text("utf-8")


def test_a_bound_that_is_none_is_a_mistake_of_the_command_line(corpusmill):
    status, _, err = corpusmill("audit", made_run(), "--bound", "pii=..1")
    assert status == 2 and 'error: there is no check "pii"' in err
