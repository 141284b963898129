"""How failures are put into words."""

import traceback


def last_line(error: BaseException) -> str:
    """`ValueError: …`, as the end of a traceback says it; of a longer message, its first line."""
    return traceback.format_exception_only(error)[-1].strip().partition("\n")[0]
