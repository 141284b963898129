"""How many questions are in flight: as many as the server takes, found by what it refuses.

A refused question says what the limit is: the questions that are in flight beside it. The window falls to these, so
that the place of the refused one is not offered to another, which would be refused in its turn. It rises by a step that
doubles with every window of which nothing was refused. So a server with a limit is kept full, at the price of one
refused question every few windows, and one that grows or shrinks by 10 times is followed within as many.
"""

from dataclasses import dataclass

FIRST_WINDOW = 8
MANY_REFUSED = 0.5  # of a window: then the server's wish to be left alone for a while is for all questions
REST = 4  # windows at the limit before another question is tried above it, after one was refused


@dataclass
class Congestion:
    """The window of one client.

    ceiling   questions in flight, at most
    window    questions that may be in flight
    """

    ceiling: int
    window: int = FIRST_WINDOW
    _answered: int = 0
    _refused: int = 0
    _step: int = 1
    _resting: int = 0

    def __post_init__(self) -> None:
        self.window = min(self.window, self.ceiling)

    def count_answer(self) -> None:
        """A question was answered."""
        self._answered += 1
        if self._answered < self.window:
            return
        if self._resting:
            self._resting -= 1
        elif not self._refused:
            self.window = min(self.ceiling, self.window + self._step)
            self._step *= 2
        self._answered = self._refused = 0

    def count_refusal(self, in_flight: int) -> bool:
        """A question was refused, or timed out, while so many were in flight with it. Returns whether most are."""
        self._refused += 1
        self.window = max(1, min(self.window, in_flight - 1))
        self._step, self._resting = 1, REST
        return self._refused >= MANY_REFUSED * max(self._answered + self._refused, self.window)
