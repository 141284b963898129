"""What a file seems to hold, by its first bytes: for messages about files of another kind than the recipe says."""

from collections.abc import Collection

from corpusmill.assets.registry import Registry
from corpusmill.errors import RecordError
from corpusmill.read._bytes import HEAD, blocks, kind_of
from corpusmill.storage import FileInfo, has_ending, open_read

JSON_ARRAY = {b"[": ("a JSON array: write one object per line first", "")}
RECORD_TYPES = {"warc_response": "warc", "warc_conversion": "wet", "warc_metadata": "wat"}  # the readers of archives
COMPRESSED = (".gz", ".zst", ".bz2", ".xz", ".lz4", ".lzma")


def content_of(file: FileInfo, readers: Registry) -> tuple[str, str]:
    """What a file seems to be by what the readers say of `begins`, in words after "it", and the reader of that; empty
    where nothing can be said."""
    if file.is_folder:
        return "", ""
    try:
        head = next(blocks(file.path), b"")[:4096]
    except RecordError:
        with open_read(file.path) as raw:
            head = raw.read(4096)
        if kind_of(head):
            return "", ""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    begins = {name: getattr(readers.find(name), "begins", {}) for name in readers.names()}
    marks = JSON_ARRAY | {mark: (content, name) for name in begins for mark, content in begins[name].items()}
    for mark, (content, reader) in marks.items():
        if start.startswith(mark):
            return f"seems to be {content}" + (f", which `{reader}` reads" if reader else ""), reader
    if has_ending(file.path, COMPRESSED):
        with open_read(file.path) as raw:
            if not kind_of(raw.read(HEAD)):
                return "is not compressed, although its name says so, or is damaged from the start", ""
    return ("holds bytes that are not text" if b"\0" in head else ""), ""


def reader_of_records(skipped: Collection[str]) -> str:
    """The reader of the records of an archive of which another makes no documents, by their types; "" if of none."""
    return next((reader for kind, reader in RECORD_TYPES.items() if kind in skipped), "")
