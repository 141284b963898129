"""What a run did, as data: a file per question, each with frozen dataclasses and the function that fills them from the
tables of a run. The report page, the command line and Python show the same figures."""
