"""What would other thresholds have kept? Answered from the columns of a finished run: no text is read.

A pass measures every document with every step, the dropped ones too, so what was measured does not depend on any
threshold. The steps that are changed judge the saved columns again; the verdicts of the others are those of the run.

    answer     the question, checked, and its answer
    saved      the columns of a unit
    rejudge    what drops each document, in the run and with the changes
    count      how many documents, bytes and tokens that makes, by step, reason, source and language
    border     the documents nearest to a threshold
"""

from corpusmill.report.what_if.answer import ParameterChange, WhatIf, what_if
from corpusmill.report.what_if.border import Border
from corpusmill.report.what_if.count import Kept, TextAmount

__all__ = ["Border", "Kept", "ParameterChange", "TextAmount", "WhatIf", "what_if"]
