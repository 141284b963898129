"""Try every case of a folder, and show what comes out beside what should: `make cases CASES=DIR ONLY="bpe-dropout"`.

A case is a folder. What it has is done in a copy of it, in this order: `make.sh` makes inputs; each recipe is checked
and run, or `try.py` or `cmd.sh` is run instead (`$B` is the command line). `expected.md` or `README.md` says what is
right, in words: so a reader judges, and the exit status says only whether something took more than TIMEOUT.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TIMEOUT = 300  # seconds for each command
SHOWN = 40  # last lines of what a command says
BIN = Path(sys.executable).parent


def commands(case: Path) -> list[list[str]]:
    """What is run for a case, in its folder."""
    own = [[sys.executable, "try.py"]] * (case / "try.py").exists() + [["bash", "cmd.sh"]] * (case / "cmd.sh").exists()
    program = str(BIN / "corpusmill")
    recipes = [path.name for path in sorted(case.glob("*.yaml")) if "\nread:" in f"\n{path.read_text('utf-8')}"]
    for name in [] if own else recipes:
        own += [[program, "check", name], [program, "run", name, "--folder", f"runs/{name}", "--progress", "off"]]
    return [["bash", "make.sh"]] * (case / "make.sh").exists() + own


def try_case(case: Path) -> bool:
    """Do a case, and print it; whether all of it ended in time."""
    in_time = True
    print(f"\n{'=' * 100}\n{case.name}\n{'=' * 100}")
    for said in (case / "expected.md", case / "README.md"):
        print(said.read_text("utf-8").strip() if said.exists() else "", end="\n" if said.exists() else "")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(case, folder, dirs_exist_ok=True, symlinks=True)
        os.chmod(folder, 0o700)  # noqa: PTH101 - a copy of a folder that cannot be written can be
        for command in commands(case):
            print(f"$ {' '.join([Path(command[0]).name, *command[1:]])}", flush=True)
            try:
                done = subprocess.run(
                    command, cwd=folder, env={**os.environ, "B": str(BIN / "corpusmill")}, timeout=TIMEOUT,
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                print(f"  took more than {TIMEOUT} s")
                in_time = False
                continue
            print("".join(f"  {line}\n" for line in done.stdout.splitlines()[-SHOWN:]), end="")
            print(f"  exit status {done.returncode}")
        for path in sorted(Path(folder).glob("runs/*/output/**/*.jsonl")):
            print(f"{path.relative_to(folder)}:\n  " + "\n  ".join(path.read_text("utf-8").splitlines()[:SHOWN]))
    return in_time


def main(words: list[str]) -> int:
    if not words or not Path(words[0]).is_dir():
        print("cases.py: needs the folder of the cases: make cases CASES=DIR", file=sys.stderr)
        return 2
    cases = [path for path in sorted(Path(words[0]).absolute().iterdir()) if path.is_dir()]
    chosen = [case for case in cases if (case.name in words[1:] or not words[1:]) and commands(case)]
    rest = [case.name for case in cases if not commands(case)]
    slow = [case.name for case in chosen if not try_case(case)]
    print(f"\n{len(chosen)} cases. Not run, as they have no recipe or script: {', '.join(rest) or 'none'}.")
    print(f"Took more than {TIMEOUT} s: {', '.join(slow) or 'none'}.")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
