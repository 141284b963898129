"""Functions of a user's own, for the steps that call one."""

import corpusmill


def few_links(document):
    """Whether to keep it."""
    return document.text.count("http") < 2 or "links"


def louder(document):
    return document["text"].upper()


def first_half(document):
    return document.text[: len(document.text) // 2]


def forgets(document):
    pass


def odd(document):
    if "odd" in document.text:
        raise ValueError("an odd document")
    return document.source == "jsonl" and document.metadata.get("n") != 3


@corpusmill.as_filter
def decorated(document):
    return len(document.text) < 20


NOT_A_FUNCTION = 7
