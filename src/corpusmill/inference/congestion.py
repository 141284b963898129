"""How many questions are in flight: as many as the server takes, found by what it refuses.

The window falls by half the share that was refused, as in DCTCP (Alizadeh et al. 2010, section 3), and rises by a
step that doubles with every window of which nothing was refused. So a server with a limit is kept full, at the price of
about one refused question a window, and one that grows or shrinks by 10 times is followed within a few windows.
"""

from dataclasses import dataclass

FIRST_WINDOW = 8.0
MANY_REFUSED = 0.5  # of a window: then the server's wish to be left alone for a while is for all questions
REST = 4  # windows at the limit before another is tried above it, after one was refused


@dataclass
class Congestion:
    """The window of one client.

    ceiling   questions in flight, at most
    """

    ceiling: int
    window: float = FIRST_WINDOW
    _answered: int = 0
    _refused: int = 0
    _step: float = 1.0
    _resting: int = 0

    def __post_init__(self) -> None:
        self.window = min(self.window, float(self.ceiling))

    @property
    def capacity(self) -> int:
        """Questions that may be in flight."""
        return max(1, int(self.window))

    def count_answer(self) -> None:
        """A question was answered."""
        self._answered += 1
        self._close()

    def count_refusal(self) -> bool:
        """A question was refused, or timed out. Returns whether most are."""
        self._refused += 1
        many = self._refused >= MANY_REFUSED * max(self._answered + self._refused, self.capacity)
        self._close()
        return many

    def _close(self) -> None:
        """At the end of a window, the next one."""
        count = self._answered + self._refused
        if count < self.capacity:
            return
        if self._refused:
            self.window = max(1.0, self.window * (1 - self._refused / count / 2))
            self._step, self._resting = 1.0, REST
        elif self._resting:
            self._resting -= 1
        else:
            self.window = min(float(self.ceiling), self.window + self._step)
            self._step *= 2
        self._answered = self._refused = 0
