"""Regular expressions of a recipe's own, in RE2, with a bound on the time that they take for one document.

One search takes linear time, whatever the pattern. But where each of many matches is found only by looking at all that
follows, as of `a.*b|a` in a text of "a", all of them take the square of the text.
"""

from functools import partial
from time import thread_time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.errors import DocumentError

LONG = 1 << 15  # bytes of a text that can take seconds: its matches are counted a part at a time
SECONDS = 10.0  # CPU seconds for one pattern and document
FIRST, MORE = 1000, 4  # matches that are looked for at first; how many times more after that


def replace_matches(texts: pa.LargeStringArray, pattern: str, replacement: str) -> pa.LargeStringArray:
    """The texts with all that a pattern matches replaced.

    Raises DocumentError if that takes more than SECONDS for a text. The text of one that does not is the same on every
    machine, and whether one does is not, near that bound: it is some thousand times what patterns take.
    """
    for row in np.flatnonzero(pc.fill_null(pc.greater(pc.binary_length(texts), LONG), False).to_numpy(False)):
        _check_time(texts.slice(int(row), 1), pattern)
    return pc.replace_substring_regex(texts, pattern, replacement)


def _check_time(text: pa.LargeStringArray, pattern: str) -> None:
    marked = partial(pc.replace_substring_regex, text, pattern, r"\0#")
    size = pc.binary_length(text)[0].as_py()
    start, most = thread_time(), FIRST
    while pc.binary_length(marked(max_replacements=most))[0].as_py() - size >= most:
        if thread_time() - start > SECONDS:
            raise DocumentError(
                f"the pattern {pattern} takes more than {SECONDS:g} seconds: for each of {most} matches it looks at "
                f"much of what follows, as `.*` does. Let it look less far, as with [^\\n]{{0,100}}"
            )
        most *= MORE
