"""ZIP archives that hold XML: books and documents of word processors.

What a member holds may be much larger than it is in the archive, and XML may declare entities that stand for a great
deal of text: neither is taken further than its bounds.
"""

import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from xml.etree import ElementTree

from corpusmill.errors import RecordError, StorageError
from corpusmill.formats.charset import decode
from corpusmill.read._documents import DocumentBatches

LARGEST_XML = 4_000_000  # bytes of a list of what is in an archive
DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, KeyError, OSError, ValueError)


class Unreadable(RecordError):
    """An archive that gives no document; `kind` is that of its dead letter."""

    def __init__(self, kind: str, reason: str, expected: bool = False) -> None:
        super().__init__(reason)
        self.kind = kind
        self.expected = expected


@contextmanager
def dead_letters(docs: DocumentBatches) -> Iterator[None]:
    """Meanwhile an archive that cannot be read becomes a dead letter."""
    try:
        yield
    except Unreadable as error:
        docs.dead(0, error.kind, str(error), expected=error.expected)
    except RuntimeError as error:  # what zipfile raises where a password is needed
        docs.dead(0, "encrypted", str(error), expected=True)
    except StorageError:
        raise
    except ZIP_ERRORS as error:
        docs.dead(0, "damaged", f"the file cannot be read as a ZIP archive: {error}")


def element_name(part: ElementTree.Element) -> str:
    """The name of an element, without its namespace."""
    return part.tag.rpartition("}")[2]


def parsed(archive: zipfile.ZipFile, name: str, limit: int = LARGEST_XML) -> ElementTree.Element:
    """The XML of a member. Raises Unreadable if it is none, declares entities, or has more bytes than the limit."""
    try:
        return ElementTree.fromstring(xml_text(archive, name, limit))
    except ElementTree.ParseError as error:
        raise Unreadable("bad_xml", f"{name} is not XML: {error}") from error


def xml_text(archive: zipfile.ZipFile, name: str, limit: int) -> str:
    """The text of a member that is XML, without its declaration. Raises Unreadable if it declares entities, or has more
    bytes than the limit."""
    data = member(archive, name, limit)
    if data is None:
        raise Unreadable("too_large", f"{name} has more than {limit} bytes", True)
    text = decode(data, None)
    if "<!ENTITY" in text:
        raise Unreadable("bad_xml", f"{name} declares entities, which no such file needs")
    return DECLARATION.sub("", text)


def member(archive: zipfile.ZipFile, name: str, limit: int) -> bytes | None:
    """The content of a member; None if it has more bytes than the limit, whatever its head says."""
    with archive.open(name) as opened:
        data = opened.read(limit + 1)
    return None if len(data) > limit else data
