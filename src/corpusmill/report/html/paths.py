"""Paths on a page, which is made to be shown to others."""

import re

ABSOLUTE_FOLDERS = re.compile(r"(?<![\w.:/~-])(?:~?/[^\s,'\"\[\]{}]+)+/")


def without_folders(text: str) -> str:
    """The text with only the last part of each absolute path.

    >>> without_folders("paths: /home/me/data/web.jsonl, ../b.jsonl, s3://bucket/a/b")
    'paths: …/web.jsonl, ../b.jsonl, s3://bucket/a/b'
    """
    return ABSOLUTE_FOLDERS.sub("…/", text)
