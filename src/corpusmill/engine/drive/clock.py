"""How long a call is at each of its stages."""

from corpusmill.store.units import now


class Clock:
    """Seconds by stage, of one call that carries out a run; a stage that is gone through twice counts both times.

    seconds   stage -> seconds, of the stages that have ended
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stage, self._since = "", now()

    def at(self, stage: str) -> None:
        """A stage begins, and with that the one before it has ended; "" for none."""
        ended = now()
        if self._stage:
            self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + ended - self._since
        self._stage, self._since = stage, ended
