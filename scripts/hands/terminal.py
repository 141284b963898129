"""A program in a terminal of its own: what stands on its screen, and keys for it. POSIX only."""

import os
import pty
import select
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ
from types import TracebackType
from typing import Self

import pyte

HISTORY = 5000  # lines above the screen that are kept
PROMPT = "$ "


class Terminal:
    """A program on a screen of `columns` x `rows` characters.

    with Terminal(["corpusmill", "demo"], cwd=folder) as terminal:
        terminal.wait(lambda: "MB/s" in terminal.screen())
        status = terminal.end()
    """

    def __init__(
        self,
        command: Sequence[str | os.PathLike[str]],
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        columns: int = 100,
        rows: int = 40,
    ) -> None:
        self.display = pyte.HistoryScreen(columns, rows, history=HISTORY)
        self.printed: list[tuple[float, bytes]] = []  # all that the program has printed, and when
        self._stream = pyte.ByteStream(self.display)
        self._ours, theirs = pty.openpty()
        ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        environment = {**(os.environ if env is None else env), "TERM": "xterm-256color"}
        environment.pop("COLUMNS", None)
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=_own_terminal,  # noqa: PLW1509, there are no threads
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self._ours)

    def press(self, keys: str) -> None:
        """Type: "\\x03" is Ctrl-C."""
        os.write(self._ours, keys.encode())

    def screen(self) -> str:
        """What stands on the screen now."""
        return "\n".join(line.rstrip() for line in self.display.display).rstrip()

    def everything(self) -> str:
        """The lines that have left the screen at its top, and the screen."""
        width = self.display.columns
        above = ["".join(line[x].data for x in range(width)).rstrip() for line in self.display.history.top]
        return "\n".join([*above, self.screen()])

    def wait(self, until: Callable[[], bool], seconds: float = 120) -> None:
        """Read what the program prints until it shows what is wanted. Raises TimeoutError with the screen."""
        end = time.monotonic() + seconds
        while not until():
            if not self._read(0.1) and self.process.poll() is not None and not until():
                raise EOFError(f"the program ended before that was seen:\n{self.everything()}")
            if time.monotonic() > end:
                raise TimeoutError(f"not seen in {seconds} s:\n{self.everything()}")

    def end(self, seconds: float = 600) -> int:
        """Its exit status, when it has ended and all that it printed is on the screen."""
        self.wait(lambda: self.process.poll() is not None, seconds)
        while self._read(0.1):
            pass
        return self.process.returncode

    def _read(self, seconds: float) -> bool:
        """Whether the program printed something within these seconds."""
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        try:
            printed = os.read(self._ours, 1 << 16)
        except OSError:  # Linux: the other end is closed
            printed = b""
        if not printed:
            time.sleep(seconds)
            return False
        self.printed.append((time.monotonic(), printed))
        self._stream.feed(printed)
        return True


class Prompt(Terminal):
    """A shell. `ended` has when each command was done, in the time of `printed`."""

    def __init__(self, *, cwd: Path, env: Mapping[str, str], columns: int = 100, rows: int = 40) -> None:
        plain = {**env, "PS1": PROMPT, "INPUTRC": os.devnull, "HISTFILE": "", "BASH_SILENCE_DEPRECATION_WARNING": "1"}
        super().__init__(["bash", "--norc", "--noprofile"], cwd=cwd, env=plain, columns=columns, rows=rows)
        self.ended: list[float] = []
        self.wait(self._waits)

    def type(self, line: str) -> None:
        """Type a line, word by word, as people do, and Enter."""
        for word in line.split(" "):
            self.press(word + " ")
            self.wait(lambda: self._read(0.2) is False)
        self.press("\n")
        self.wait(lambda: not self._waits())

    def done(self) -> None:
        """Wait until the command has ended."""
        self.wait(self._waits, 600)
        self.ended.append(time.monotonic())

    def call(self, line: str) -> None:
        self.type(line)
        self.done()

    def kill(self, number: int) -> None:
        """Send a signal to what the shell has started."""
        started = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=True)
        for process in started.stdout.split():
            os.kill(int(process), number)

    def _waits(self) -> bool:
        return self.screen().rpartition("\n")[2] == PROMPT.rstrip()


def _own_terminal() -> None:
    """In the program before it starts: its terminal is the one that Ctrl-C comes from, and none of its signals is
    ignored, as they are in what `nohup` or a script started in the background."""
    from termios import TIOCSCTTY

    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    ioctl(0, TIOCSCTTY, 0)
