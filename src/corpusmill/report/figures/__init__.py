"""The figures of a run as data: a file per question, with frozen dataclasses and the function that fills them from the
tables of a run. The report page, the command line and Python code show the same figures."""
