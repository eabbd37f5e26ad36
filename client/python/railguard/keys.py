"""What a service publishes, kept: one thread fetches it for all."""

import threading
import time
from typing import Any, Callable, Generic, NamedTuple, Optional, TypeVar

from .client import Client
from .transport import RailguardError
from .verify import TokenError

_KEPT = 3600  # Seconds.
_FRESH = 1800  # From here on the keys are read anew, and serve meanwhile.
_PAUSE = 60  # Between two readings of the keys for a kid that they lack.

T = TypeVar("T")
R = TypeVar("R")


class Known(NamedTuple):
    """A fetched value. It is fetched anew from fresh on, and serves until end."""

    value: Any
    read: float
    fresh: float
    end: float


class _Flight:
    """One fetch."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.error: Optional[BaseException] = None

    def wait(self, until: Optional[float]) -> None:
        if not self.done.wait(None if until is None else max(0.0, until - time.monotonic())):
            raise RailguardError(0, "no_answer", "no answer within the caller's time")
        if self.error is not None:
            raise self.error


class Kept(Generic[T]):
    """A value that a service publishes.

    One thread fetches it for all who need it, and what is known serves until its end while it is fetched anew.
    The lock is never held over the network, and nobody waits longer than until its own time. Behind the end of
    what is known there is nothing: fail closed.
    """

    def __init__(self, now: Callable[[], float], fetch: Callable[[float], Known]) -> None:
        self._now, self._fetch = now, fetch
        self._lock = threading.Lock()
        self._known: Optional[Known] = None
        self._flight: Optional[_Flight] = None

    def get(self, until: Optional[float]) -> Known:
        """The value: the known one at once, else the fetched one. until is of time.monotonic; None: no end."""
        joined = False
        while True:
            with self._lock:
                now, under = self._now(), self._flight is not None
                if self._known is not None and now < self._known.end:
                    if not under and now >= self._known.fresh:
                        self._start()
                    return self._known
                flight = self._flight or self._start()
            flight.wait(until)
            with self._lock:
                # What a fetch brought that had begun earlier may be over by now; then one more is made.
                if self._known is not None and (self._now() < self._known.end or not under or joined):
                    return self._known
            joined = True

    def renew(self, read: float, until: Optional[float]) -> Known:
        """The value fetched anew, although one is known that was read at a time; another one if it is known meanwhile."""
        with self._lock:
            if self._known is not None and self._known.read != read:
                return self._known
            flight = self._flight or self._start()
        flight.wait(until)
        with self._lock:
            assert self._known is not None
            return self._known

    def _start(self) -> _Flight:
        flight, now = _Flight(), self._now()
        self._flight = flight
        threading.Thread(target=self._fly, args=(flight, now), name="railguard-fetch", daemon=True).start()
        return flight

    def _fly(self, flight: _Flight, now: float) -> None:
        got: Optional[Known] = None
        try:
            got = self._fetch(now)
        except Exception as error:
            flight.error = error
        with self._lock:
            self._known, self._flight = got or self._known, None
        flight.done.set()


class Published:
    """The keys of a service. They serve for an hour, and are read anew from the half of it on, and before that, at most
    once a minute, if one is missing.
    """

    def __init__(self, client: Client, now: Callable[[], float]) -> None:
        self._now = now
        self._kept: Kept[Any] = Kept(now, lambda read: Known(client.jwks(), read, read + _FRESH, read + _KEPT))

    def use(self, do: Callable[[Any], R], until: Optional[float] = None) -> R:
        """Call do with the keys, and once more with new ones if they lack one."""
        known = self._kept.get(until)
        try:
            return do(known.value)
        except TokenError as error:
            if error.code != "unknown_key" or self._now() - known.read < _PAUSE:
                raise
        return do(self._kept.renew(known.read, until).value)


def until_of(timeout: Optional[float]) -> Optional[float]:
    """The end of a caller's time, by time.monotonic."""
    return None if timeout is None else time.monotonic() + timeout
