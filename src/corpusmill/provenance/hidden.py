"""What must not be in the record of a run: passwords and tokens of URLs, of environment variables, of command lines."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence

MASK = "***"
SHORTEST = 8  # characters of a value of a variable that is looked for: shorter ones are parts of anything
WORD = r"(?:passw(?:or)?d|passphrase|secret|token(?!s|i)|credential|(?:api|access|private)[_-]?key|auth(?!or))"
NAME = re.compile(WORD, re.IGNORECASE)
OPTION = re.compile(rf"(--?[\w-]*{WORD}[\w-]*)(=.*)?", re.IGNORECASE | re.DOTALL)
KEY = re.compile(r"\benv:([A-Za-z_][A-Za-z0-9_]*)")  # how recipes name a key, see `corpusmill.assets`
USER = re.compile(r"(\b[A-Za-z][A-Za-z0-9+.-]*://)[^/\s'\"?#]*@")
QUERY = re.compile(
    rf"([?&](?:sig|signature|key|x-amz-[a-z-]+|x-goog-[a-z-]+|awsaccesskeyid|[\w.-]*{WORD}[\w.-]*)=)[^&\s'\"#]*",
    re.IGNORECASE,
)


class Hidden:
    """Hides secrets in texts.

    - What is before the @ of a URL, and the values of its query that sign or open something, are ***.
    - The value of an environment variable whose name speaks of a secret (TOKEN, PASSWORD …), or that a text names as a
      key (`env:NAME`), is `${NAME}`: in a recipe that is the value again, where the variable is set.

    texts    are looked through for `env:NAME`
    """

    def __init__(self, texts: Iterable[str] = (), environment: Mapping[str, str] = os.environ) -> None:
        keys = {name for text in texts for name in KEY.findall(text)}
        values = {
            value: name
            for name, value in sorted(environment.items())
            if len(value) >= SHORTEST and (name in keys or NAME.search(name))
        }
        # The longest first: one may be a part of another.
        self._values = sorted(values.items(), key=lambda item: (-len(item[0]), item))

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        for value, name in self._values:
            text = text.replace(value, f"${{{name}}}")
        return QUERY.sub(rf"\1{MASK}", USER.sub(rf"\1{MASK}@", text))

    def words(self, command: Sequence[str]) -> list[str]:
        """A command line without secrets: nor what follows an option whose name speaks of one."""
        words: list[str] = []
        follows = False
        for word in command:
            option = OPTION.fullmatch(word)
            if follows and not word.startswith("-"):
                words.append(MASK)
            elif option and option[2]:
                words.append(f"{option[1]}={MASK}")
            else:
                words.append(self(word))
            follows = bool(option and not option[2])
        return words
