"""trafilatura's half of benchmarks/peers/fineweb_text.py; needs nothing else, so any environment that has one will do.

    python fineweb_text_trafilatura.py PAGES.json.gz TEXTS.json.gz WAY …

PAGES: the pages' HTML. TEXTS: way -> the text of each, null where there is none; "version" -> of trafilatura. Each way
calls trafilatura as datatrove does (pipeline/extractors/trafilatura.py: favour precision, no comments), and

    plain      with `deduplicate` off
    ordered    with it, as datatrove: one process, the pages in their order
    reversed   the same from the last page to the first
"""

import gzip
import json
import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path


def main(pages_file: str, texts_file: str, ways: list[str]) -> None:
    # What it has seen is kept in the process: each way has one of its own.
    commands = [[sys.executable, __file__, pages_file, way] for way in ways]
    with ThreadPoolExecutor() as pool:
        printed = pool.map(lambda command: subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout, commands)
        answers: dict[str, object] = {way: json.loads(out) for way, out in zip(ways, printed)}
    answers["version"] = version("trafilatura")
    Path(texts_file).write_bytes(gzip.compress(json.dumps(answers).encode()))


def extracted(pages_file: str, way: str) -> list[str | None]:
    from trafilatura import extract

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL + 1)
    pages: list[str] = json.loads(gzip.decompress(Path(pages_file).read_bytes()))
    texts: list[str | None] = [None] * len(pages)
    numbers = range(len(pages))
    for number in reversed(numbers) if way == "reversed" else numbers:
        try:
            texts[number] = extract(
                pages[number], favor_precision=True, include_comments=False, deduplicate=way != "plain"
            )
        except Exception as error:  # datatrove counts it, and goes on
            print(f"page {number}: {type(error).__name__}", file=sys.stderr)
    return texts


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(extracted(*sys.argv[1:])))
    else:
        main(sys.argv[1], sys.argv[2], sys.argv[3:])
