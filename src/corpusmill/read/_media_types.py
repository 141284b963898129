"""What the bytes of a page are, whatever a server says of them (WHATWG, "MIME Sniffing", sections 4.4, 6 and 7.1)."""

import re

# Names that say nothing, as servers and crawlers write them: the page itself must tell.
UNTYPED = frozenset({
    "application/octet-stream", "application/unknown", "application/x-unknown", "binary/octet-stream", "text/htm",
    "text/unknown", "unknown/unknown", "application/html", "application/x-html", "text/x-html",
})  # fmt: skip
KINDS = ("application", "audio", "font", "image", "message", "model", "multipart", "text", "video")
NAME = re.compile(r"\b([a-z]+)/[a-z0-9][a-z0-9.+_-]*")
BINARY = "application/octet-stream"
HEAD = 4096  # bytes that are looked at
SIGNATURES = {
    rb"%PDF-": "application/pdf",
    rb"%!PS": "application/postscript",
    rb"\{\\rtf": "application/rtf",
    rb"\x89PNG\r?\n": "image/png",
    rb"\xff\xd8\xff": "image/jpeg",
    rb"GIF8[79]a": "image/gif",
    rb"RIFF....WEBP": "image/webp",
    rb"RIFF....WAVE": "audio/wav",
    rb"RIFF....AVI ": "video/x-msvideo",
    rb"BM....\0\0\0\0": "image/bmp",
    rb"II\*\0|MM\0\*": "image/tiff",
    rb"\0\0[\x01\x02]\0": "image/x-icon",
    rb"\0\0\0\x0cj[Pp]": "image/jp2",
    rb"....ftyp(?:avi[fs]|hei[cfx]|mif1)": "image/heif",
    rb"....ftyp": "video/mp4",
    rb"\x1aE\xdf\xa3": "video/webm",
    rb"FLV\x01": "video/x-flv",
    rb"\0\0\x01[\xb3\xba]": "video/mpeg",
    rb"OggS\0": "application/ogg",
    rb"fLaC": "audio/flac",
    rb"MThd\0": "audio/midi",
    rb"ID3[\x02-\x04]|\xff[\xe2\xe3\xf2\xf3\xfa\xfb]": "audio/mpeg",
    rb"#!AMR": "audio/amr",
    rb"[CFZ]WS[\x03-\x1f]": "application/x-shockwave-flash",
    rb"PK(?:\x03\x04|\x05\x06|\x07\x08)": "application/zip",
    rb"Rar!\x1a\x07": "application/vnd.rar",
    rb"7z\xbc\xaf\x27\x1c": "application/x-7z-compressed",
    rb"\x1f\x8b": "application/gzip",
    rb"\x1f[\x9d\xa0]": "application/x-compress",
    rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)": "application/x-bzip2",
    rb"\xfd7zXZ\0": "application/x-xz",
    rb"\x28\xb5\x2f\xfd": "application/zstd",
    rb"MSCF\0": "application/vnd.ms-cab-compressed",
    rb".{257}ustar": "application/x-tar",
    rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "application/x-ole-storage",
    rb"\x7fELF": "application/x-elf",
    rb"MZ.{0,128}?\0\0\0": "application/x-msdownload",
    rb"\0asm": "application/wasm",
    rb"\xca\xfe\xba\xbe": "application/java-vm",
    rb"wOF[F2]": "font/woff",
    rb"OTTO\0|\0\x01\0\0": "font/sfnt",
    rb"SQLite format 3\0": "application/vnd.sqlite3",
    rb"PAR1": "application/vnd.apache.parquet",
}
SIGNATURE = re.compile(b"|".join(b"(%s)" % pattern for pattern in SIGNATURES), re.S)
# Bytes that no text holds; the escape of ISO-2022 is not among them.
CONTROLS = bytes([*range(9), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])
MAX_CONTROLS = 0.05  # of the bytes of a text: random ones have .105
BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")


def media_type(content_type: str) -> str:
    """`text/html` of `Text/HTML; charset=utf-8`, and of what servers make of it: without the semicolon, in quotation
    marks, with the header's name before it. "" where no type is named, or one that says nothing.

    >>> [media_type(value) for value in ('"Text/HTML" charset=utf-8', "text/html,text/html", "*/*", "text", "text/htm")]
    ['text/html', 'text/html', '', '', '']
    """
    match = NAME.search(content_type.lower())
    return match[0] if match and match[1] in KINDS and match[0] not in UNTYPED else ""


def binary_type(body: bytes, charset: str | None = None) -> str:
    """The media type of a body that is no text: by its first bytes, or BINARY if too many of them are control
    characters; "" if it may be text.

    charset   that is stated of it
    """
    match = SIGNATURE.match(body[:HEAD])
    media = list(SIGNATURES.values())[match.lastindex - 1] if match and match.lastindex else ""
    if media == "audio/mpeg" and body[:1] == b"\xff" and not is_noise(body):
        return ""  # two letters of windows-1251
    is_wide = (charset or "").lower().startswith(("utf-16", "utf-32"))
    return media or (BINARY if not is_wide and is_noise(body) else "")


def is_noise(body: bytes) -> bool:
    """Whether the first bytes of a body are of no text in any charset. Of UTF-16, most of every second byte may be
    the same."""
    head = body[:HEAD]
    if head.startswith(BYTE_ORDER_MARKS) or _controls(head) <= MAX_CONTROLS:
        return False
    for high, low in ((head[::2], head[1::2]), (head[1::2], head[::2])):
        if 2 * max(map(high.count, set(high)), default=0) > len(high):
            return _controls(low) > MAX_CONTROLS
    return True


def _controls(data: bytes) -> float:
    """The share of control characters."""
    return (len(data) - len(data.translate(None, CONTROLS))) / max(1, len(data))
