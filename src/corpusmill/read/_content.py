"""What a file seems to hold, by its first bytes: for messages about files of another kind than the recipe says."""

from corpusmill.errors import RecordError
from corpusmill.read._bytes import blocks, kind_of
from corpusmill.storage import FileInfo, open_read

READERS = {  # what a file begins with -> what it is, and the reader of that
    b"PAR1": ("a Parquet file", "parquet"),
    b"ARROW1": ("an Arrow file", "arrow"),
    b"WARC/": ("a web archive", "warc"),
    b"%PDF": ("a PDF document", ""),
    b"PK\x03\x04": ("a ZIP archive: unpack it first, unless it is a repository", "code"),
    b"<": ("HTML or XML", "html"),
    b"{": ("JSON lines, or one JSON object", "jsonl"),
    b"[": ("a JSON array: write one object per line first", ""),
}
PACKED = (".gz", ".zst", ".bz2", ".xz", ".lz4")


def content_of(file: FileInfo) -> tuple[str, str]:
    """What a file seems to be, in words after "it", and the reader of that; empty where nothing can be said."""
    if file.is_folder:
        return "", ""
    try:
        head = next(blocks(file.path), b"")[:4096]
    except RecordError:
        return "", ""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    for mark, (what, reader) in READERS.items():
        if start.startswith(mark):
            return f"seems to be {what}" + (f", which `{reader}` reads" if reader else ""), reader
    if file.path.endswith(PACKED):
        with open_read(file.path) as raw:
            if not kind_of(raw.read(8)):
                return "is not compressed, against its name, or damaged from its beginning", ""
    return ("holds bytes that are not text" if b"\0" in head else ""), ""
