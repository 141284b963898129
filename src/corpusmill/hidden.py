"""What must not be written down or shown: passwords and tokens of URLs, environment variables and command lines.

The one place that knows what is a secret. Of a URL these are the user and the password before the @, and what of its
query signs or opens something. An input is known by its URL `without_secrets`, so that the ids of its documents stay
when it is signed anew; texts for people are `masked`, and what is recorded of a run is `Hidden`.

Two words for a query: a *secret* opens something by itself; a *companion* (an expiry, a policy) is open to all, but
belongs to a signature and is another one with the next.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote, unquote

MASK = "***"
SHORTEST_SECRET = 8  # characters of a value that is looked for by itself: shorter ones are parts of anything
SECRET_WORD = (
    r"(?:passw(?:or)?d|passphrase|secret|token(?!s|iz)|credential|(?:api|access|private)[_-]?key|auth(?!or(?!i[sz])))"
)
SECRET_NAME = re.compile(SECRET_WORD, re.IGNORECASE)
OPTION = re.compile(rf"(--?[\w-]*{SECRET_WORD}[\w-]*)(=.*)?", re.IGNORECASE | re.DOTALL)
KEY_NAME = re.compile(r"\benv:([A-Za-z_][A-Za-z0-9_]*)")  # how recipes name a key, see `corpusmill.assets`
URL_END = r"\s'\"<>`\\"  # what no URL holds
USER = re.compile(rf"\b([A-Za-z][A-Za-z0-9+.-]*)://([^/?#{URL_END}]*)@")
QUERY = re.compile(rf"[?&;#][^{URL_END}]*")
QUERY_MARK = re.compile(r"([?&;#])")
VARIABLE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
MASKED = re.compile(r"://\*\*\*@|[?&;#][^=?&;#]+=\*\*\*")
CONTAINERS = ("az", "abfs", "abfss")  # az://CONTAINER@ACCOUNT…: what is before the @ is no user

# Names of parameters, in lower case and without the marks between their words.
SECRET_PARAMETER = re.compile(
    r"x(?:amz|goog|oss|obs|cos|tos)\w*|q(?:sign\w*|ak|keytime|headerlist|urlparamlist)"  # of providers of stores
    r"|\w*(?:signature|token(?!s|iz)|secret|credential|session|auth(?!or(?!i[sz]))|bearer|passw|passphrase|passcode|jwt)\w*"
    r"|\w*(?:sig|pwd|hmac|creds?|ticket|otp)|pass|pw|sign|code|sas|hdn(?:ts|ea)|phpsessid"
    r"|(?!(?:sort|primary|foreign|partition|object|file|s3|group|row|field|meta)key$)\w*key"
    r"|\w*(?:key(?:pair)?|access)id"
)
SAS = "sv se st sp sr ss srt spr sip si sdd skoid sktid skt ske sks skv saoid suoid scid ses".split()
SIGNED_COMPANIONS = ["policy", "hashalgorithm", "algorithm"]
EXPIRY = "expires expiry expire exp expiration expiresat expiresin validfrom validuntil".split()
DIGESTS = ["md5", "hash", "h"]  # of links that servers sign themselves, with an expiry beside them

MAX_SECRETS = 100  # values that are looked for: a recipe has a few; of a list of signed URLs each has its own
_values: dict[str, str] = {}  # a value that is to be hidden in texts -> what is shown instead; the longest first
_variables: dict[str, str] = {}  # value -> `${NAME}`, of those that recipes of this process name; likewise


def without_secrets(url: str) -> str:
    """A URL as what it leads to is known by: without user and password, and without what signs it or opens it.

    >>> without_secrets("https://me:pass@host/a.gz?part=1&X-Amz-Signature=12ab&X-Amz-Date=20260101T000000Z")
    'https://host/a.gz?part=1'
    >>> without_secrets("https://host/a.gz?sv=2024&se=2026-01-01&sig=AbC%3D"), without_secrets("https://host/a?sv=2024")
    ('https://host/a.gz', 'https://host/a?sv=2024')
    """
    for value, shown in _variables.items():
        url = url.replace(value, shown)
    url = USER.sub(lambda found: f"{found[1]}://{_container(found)}", url)
    head, *marked = QUERY_MARK.split(url)
    parts = list(zip(marked[::2], marked[1::2]))
    names = _names(parts)
    pieces = [head]
    separator = ""  # a ? whose parameter is left out is for the next one
    for mark, part in parts:
        name, equals, value = part.partition("=")
        if equals and _is_secret(name, names):
            separator = separator or mark * (mark == "?")
            continue
        if "%" in value and (inner := without_secrets(unquote(value))) != unquote(value):
            value = quote(inner, safe="")
        pieces.append((separator if separator and mark in "&;" else mark) + name + equals + value)
        separator = ""
    return "".join(pieces)


def masked(text: str) -> str:
    """A text for people: what in its URLs is a secret is ***, and so are the secrets of addresses that are read.

    >>> masked("404: http://me:pass@host/a?part=1&token=abc")
    '404: http://***@host/a?part=1&token=***'
    """
    for value, shown in _values.items():
        text = text.replace(value, shown)
    return QUERY.sub(_masked_query, USER.sub(_masked_user, text))


def is_masked(url: str) -> bool:
    """Whether a secret of a URL was hidden, so that it cannot be asked for any more.

    >>> is_masked("https://host/a?token=***"), is_masked("https://host/a?token=abc"), is_masked("https://host/***")
    (True, False, False)
    """
    return bool(MASKED.search(url))


def is_signed(url: str) -> bool:
    """Whether a URL is signed: what stores are asked for has another way to say who asks."""
    _, *marked = QUERY_MARK.split(url)
    return any(name.endswith(("signature", "sig")) for name in _names(list(zip(marked[::2], marked[1::2]))))


def know_address(url: str) -> None:
    """Hide from now on, in all texts of this process, what is secret in a URL: libraries say it in their own ways."""
    if (match := USER.search(url)) and match[1].lower() not in CONTAINERS:
        _know(match[2].partition(":")[2])
    _, *marked = QUERY_MARK.split(url)
    for part in marked[1::2]:
        name, _, value = part.partition("=")
        if SECRET_PARAMETER.fullmatch(_plain(name)):
            _know(value)


def know_variable(name: str, value: str) -> None:
    """The same of the value of an environment variable that a recipe names, if its name speaks of a secret."""
    if len(value) >= SHORTEST_SECRET and SECRET_NAME.search(name):
        for table in (_values, _variables):
            _keep(table, value, f"${{{name}}}")


def _know(value: str) -> None:
    for form in (value, unquote(value), quote(unquote(value), safe="")):
        if (
            len(form) >= SHORTEST_SECRET
            and form not in _values
            and len(_values) < MAX_SECRETS
            and not VARIABLE.fullmatch(form)
        ):
            _keep(_values, form, MASK)


def _keep(table: dict[str, str], value: str, shown: str) -> None:
    ordered = _longest_first(table | {value: shown})
    table.clear()
    table.update(ordered)


def _longest_first(values: Mapping[str, str]) -> list[tuple[str, str]]:
    """One may be a part of another."""
    return sorted(values.items(), key=lambda item: (-len(item[0]), item))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", unquote(name).lower())


def _names(parts: Sequence[tuple[str, str]]) -> set[str]:
    return {_plain(part.partition("=")[0]) for _, part in parts if "=" in part}


def _is_secret(name: str, names: set[str]) -> bool:
    """Whether a parameter of a query is a secret, or the companion of one. `names` are those of all parameters."""
    name = _plain(name)
    if SECRET_PARAMETER.fullmatch(name):
        return True
    opened = any(map(SECRET_PARAMETER.fullmatch, names))
    return (
        (name in SAS and "sig" in names)
        or (name in SIGNED_COMPANIONS and any(sibling.endswith("signature") for sibling in names))
        or (name in EXPIRY and (opened or not names.isdisjoint(DIGESTS)))
        or (name in DIGESTS and not names.isdisjoint(EXPIRY))
    )


def _container(match: re.Match[str]) -> str:
    """What of that before the @ of a URL is kept."""
    return f"{match[2].partition(':')[0]}@" if match[1].lower() in CONTAINERS else ""


def _masked_user(match: re.Match[str]) -> str:
    if match[1].lower() in CONTAINERS:
        return f"{match[1]}://{match[2].partition(':')[0]}{f':{MASK}' * (':' in match[2])}@"
    return match[0] if not VARIABLE.sub("", match[2]).strip(":") else f"{match[1]}://{MASK}@"


def _masked_query(match: re.Match[str]) -> str:
    _, *marked = QUERY_MARK.split(match[0])
    parts = list(zip(marked[::2], marked[1::2]))
    names = _names(parts)
    shown = []
    for mark, part in parts:
        name, equals, text = part.partition("=")
        value = text.rstrip(",.:)]}")
        if text.startswith(f"{value}}}") and VARIABLE.fullmatch(f"{value}}}"):
            value = f"{value}}}"
        after = text[len(value) :]
        hides = _is_secret(name, names) and not VARIABLE.fullmatch(value)
        inner = unquote(value)
        if value and (hides or (inner != value and masked(inner) != inner)):
            value = MASK
        shown.append(f"{mark}{name}{equals}{value}{after}")
    return "".join(shown)


class Hidden:
    """Hides secrets in texts that are recorded.

    - Texts are `masked`.
    - The value of an environment variable whose name speaks of a secret (TOKEN, PASSWORD …), or that a text names as a
      key (`env:NAME`), is `${NAME}`: in a recipe that is the value again, where the variable is set.

    texts    are looked through for `env:NAME`
    """

    def __init__(self, texts: Iterable[str] = (), environment: Mapping[str, str] = os.environ) -> None:
        keys = {name for text in texts for name in KEY_NAME.findall(text)}
        self._values = _longest_first(
            {
                value: f"${{{name}}}"
                for name, value in sorted(environment.items())
                if len(value) >= SHORTEST_SECRET and (name in keys or SECRET_NAME.search(name))
            }
        )

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        for value, shown in self._values:
            text = text.replace(value, shown)
        return masked(text)

    def words(self, command: Sequence[str]) -> list[str]:
        """A command line without secrets: nor what follows an option whose name speaks of one."""
        words: list[str] = []
        follows = False
        for argument in command:
            option = OPTION.fullmatch(argument)
            if follows and not argument.startswith("-"):
                words.append(MASK)
            elif option and option[2]:
                words.append(f"{option[1]}={MASK}")
            else:
                words.append(self(argument))
            follows = bool(option and not option[2])
        return words
