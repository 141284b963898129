"""What lies in the folders of a recipe, or fits its patterns, and is not read: it is counted, not lost silently."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from corpusmill.storage.places import last_part, printable

HIDDEN = "hidden"
SECOND_NAME = "other name of a file that is read"
LEADS_UP = "link to a folder above"
SECOND_FOLDER = "link to a folder that is read"
BROKEN = "link to nothing"
NO_FILE = "no regular file"
INNER_FOLDER = "folder, which a pattern that ends in /** reads"
LINK = "link in a repository"
NO_DOCUMENTS = "in no folder called documents"
OTHER_PART = "of another subset or split"
UNREADABLE = "folder that cannot be opened"
NO_ENDING = "no ending"
MAX_KINDS = 8  # that a sentence lists
# The last part of a name, and the one before it where that says how the file is compressed.
ENDING = re.compile(r"(?:\.\w{1,10}(?=\.(?:gz|gzip|zst|zstd|bz2|bzip2|xz|lz4|lzma|z|br|zip)$))?\.[\w~-]{1,24}$", re.I)


@dataclass
class PassedOver:
    """Files, and links to folders, that are not read: path -> why, which is an ending that no reader asked for, or one
    of the constants above."""

    reasons: dict[str, str] = field(default_factory=dict)

    def add(self, path: str, reason: str) -> None:
        self.reasons[path] = reason

    def add_of_other_kind(self, path: str) -> None:
        """A file in a folder whose name has none of the endings that were asked for."""
        match = ENDING.search(last_part(path))
        self.add(path, match[0].lower() if match else NO_ENDING)

    def leave(self, is_meant: Callable[[str], bool]) -> None:
        """Forget paths of which more is known: that they are read, or that the recipe leaves them out."""
        self.reasons = {path: reason for path, reason in self.reasons.items() if not is_meant(path)}

    def __str__(self) -> str:
        """How many for each reason, in words; "" if there are none."""
        examples: dict[str, str] = {}
        for path in sorted(self.reasons):
            examples.setdefault(self.reasons[path], printable(path))
        # Endings first: these may be files that are wanted.
        counts = sorted(
            Counter(self.reasons.values()).items(), key=lambda pair: (not _is_ending(pair[0]), -pair[1], pair)
        )
        kinds = [f"{reason} {count:,} ({examples[reason]})" for reason, count in counts[:MAX_KINDS]]
        more = sum(count for _, count in counts[MAX_KINDS:])
        kinds += [f"others {more:,}"] if more else []
        return f"{len(self.reasons):,} not read: {', '.join(kinds)}" if kinds else ""


def _is_ending(reason: str) -> bool:
    return reason == NO_ENDING or reason.startswith(".")
