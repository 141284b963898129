"""Paths into records of benchmarks, and a guess which fields of an unknown file hold what."""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

MISSING = object()
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")  # of a name: `best_answer`, `bestAnswer`
LIKE = 0.8  # names: `questions` is like `question`, and `inputs` like `input`
# Names that published benchmarks give these fields, the most telling first.
QUESTIONS = ("question", "query", "prompt", "problem", "instruction", "goal", "input", "sentence", "ctx", "text",
             "q")  # fmt: skip
ANSWERS = ("answer", "answers", "answers_spans", "answerKey", "answer_key", "correct_answer", "best_answer", "target",
           "label", "solution", "canonical_solution", "short_answers", "annotations", "output", "response",
           "completion", "gold", "reference", "expected", "chosen", "ans", "a")  # fmt: skip
WITHIN = ("aliases", "spans", "text", "value", "short_answers", "number")  # an answer that has fields of its own
CHOICES = ("choices", "options", "endings")
IDS = ("id", "query_id", "question_id", "qid", "task_id", "example_id", "idx", "ind", "_id")


def at_path(record: Any, path: str) -> Any:
    """What is at a dotted path; through a list, the list of what is at it in each element, lists in it joined.

    returns   MISSING if it is not there, or only in elements of an empty list or below null: then an empty list

    >>> at_path({"answers": {"text": ["a", "b"]}}, "answers.text")
    ['a', 'b']
    >>> at_path({"found": [{"short": {"text": ["a"]}}, {"short": {"text": ["b", "c"]}}]}, "found.short.text")
    ['a', 'b', 'c']
    """
    if isinstance(record, Mapping) and path in record:
        return record[path]
    if isinstance(record, list):
        values = [value for value in (at_path(element, path) for element in record) if value is not MISSING]
        if record and not values:
            return MISSING
        return [one for value in values for one in (value if isinstance(value, list) else [value])]
    if record is None:
        return []
    name, _, remainder = path.partition(".")
    if not remainder or not isinstance(record, Mapping) or name not in record:
        return MISSING
    return at_path(record[name], remainder)


def suggested(record: Mapping[str, Any], fields: Mapping[str, Any]) -> str:
    """A mapping for files of such records, as a recipe says it. What is given and there stays as it is.

    >>> suggested({"query_id": "7", "passage": "", "question": "", "answers_spans": {"spans": [], "types": []}}, {})
    '{question: question, answer: answers_spans.spans, id: query_id}'
    """
    question = _valid_path(record, fields.get("question")) or _likely_path(record, QUESTIONS, ("text",)) or "…"
    answers = {field: value for field, value in record.items() if field != question}
    answer = _valid_path(answers, fields.get("answer")) or _likely_path(answers, ANSWERS, WITHIN) or "null"
    number = answer.removesuffix("spans") + "number"
    if answer.endswith(".spans") and at_path(record, number) is not MISSING:
        answer = f"[{answer}, {number}]"
    options = next((name for name in CHOICES if name in record), None)
    choices = f", choices: {options}" if options and "." not in answer and answer != "null" else ""
    return f"{{question: {question}, answer: {answer}{choices}, id: {_first_path(record, IDS, ()) or 'null'}}}"


def _valid_path(record: Mapping[str, Any], path: Any) -> str | None:
    value = at_path(record, path) if isinstance(path, str) else MISSING
    return path if value is not MISSING and _is_plain(value) else None


def _likely_path(record: Mapping[str, Any], names: Sequence[str], within: Sequence[str]) -> str | None:
    """As `_first_path`; if there is none, of the fields whose names are like one of these, or have it as a word.

    >>> _likely_path({"n": 1, "correctAnswers": ["7"]}, ANSWERS, WITHIN)
    'correctAnswers'
    """
    if (path := _first_path(record, names, within)) is not None:
        return path
    fields = sorted(record, key=lambda field: isinstance(record[field], int | float))  # `answer_start` is a position
    for name in names:
        for field in fields:
            words = [word.lower() for word in WORD.findall(field)]
            is_like = get_close_matches(name.lower(), [field.lower(), *words], 1, LIKE)
            if is_like and (path := _first_path(record, (field,), within)) is not None:
                return path
    return None


def _first_path(record: Mapping[str, Any], names: Sequence[str], within: Sequence[str]) -> str | None:
    """The path of the first of these fields that holds text, a number or a list of them, or one of `within` that does.

    Lower and upper case make no difference, and the fields of TriviaQA's `answer` that hold text beside the aliases are
    passed by.
    """
    lower = {field.lower(): field for field in record}
    for name in names:
        field = lower.get(name.lower())
        if field is None:
            continue
        if _is_plain(record[field]):
            return field
        for path in _paths(field, within):
            value = at_path(record, path)
            if value is not MISSING and _is_plain(value):
                return path
    return None


def _paths(field: str, within: Sequence[str]) -> Iterator[str]:
    for name in within:
        yield f"{field}.{name}"
    for outer in within:
        for inner in within:
            yield f"{field}.{outer}.{inner}"


def _is_plain(value: Any) -> bool:
    """Whether it is text or a number, or a list of them, or of such lists. An empty list may be one."""
    return all(isinstance(element, str | int | float) for element in elements(value))


def elements(value: Any) -> Iterator[Any]:
    """The elements of a list and of the lists in it, in order; what is no list, as it is."""
    values = [value]
    while values:
        first = values.pop()
        if isinstance(first, list):
            values += reversed(first)
        else:
            yield first
