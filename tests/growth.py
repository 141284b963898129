"""How the time of a function grows with its input."""

from collections.abc import Callable
from time import process_time
from typing import Any


def assert_linear(use: Callable[[Any], object], make: Callable[[int], Any], size: int) -> None:
    """Four times the input takes some four times the CPU seconds, and not sixteen, with wide margins.

    size   so much that what grows by the square takes seconds
    """
    for _ in range(3):  # a busy machine may be slow once
        small, large = (seconds(use, make(length)) for length in (size, 4 * size))
        if large <= 8 * small + 0.3:
            return
    raise AssertionError(f"{small:.2f} s for {size}, {large:.2f} s for {4 * size}")


def seconds(use: Callable[[Any], object], given: Any) -> float:
    """CPU time."""
    start = process_time()
    use(given)
    return process_time() - start
