"""Payments over one open connection: lines out, and lines in as each is decided."""

import threading
import time
from typing import TYPE_CHECKING, Any, Dict, Generator, Iterable, List, Optional, Tuple, Union

from .duplex import Duplex
from .money import decode, encode
from .proof import key_of
from .transport import Answer, RailguardError, new_key, result

if TYPE_CHECKING:
    from .client import Client

WINDOW = 256  # Payments that are read and not yielded yet, unless the caller says otherwise.
_PATH = "/v1/screen/stream"
_ALIVE = 10.0  # Seconds without a line after which an empty one keeps the connection open.
_SILENT = 30.0  # The service says something every ten seconds.
_PIECE = 1 << 16  # Bytes after which lines are sent without waiting for more.

Result = Union[Answer, RailguardError]
Decided = Tuple[Dict[str, Any], Result]


class _Item:
    """A payment on its way."""

    def __init__(self, payment: Dict[str, Any], end: float) -> None:
        if not payment.get("idempotencyKey") and not payment.get("proof"):
            payment["idempotencyKey"] = new_key()
        self.payment, self.end = payment, end
        self.key: str = payment.get("idempotencyKey") or key_of(payment) or ""
        self.line = encode(payment).encode("utf-8") + b"\n"  # It stays: a key binds its bytes.
        self.due = 0.0  # It is not sent before this.
        self.attempts = 0
        self.unknown = False  # An attempt's outcome is unknown.


class Stream:
    """One use of Client.stream.

    The consumer's thread opens connections and reads them. One thread reads the source, and for each connection
    one writes. They meet in _turn, which is never held over the network.
    """

    def __init__(self, client: "Client", payments: Iterable[Dict[str, Any]], window: int) -> None:
        if window < 1:
            raise ValueError("window is at least 1")
        self._client, self._payments, self._window = client, payments, window
        self._turn = threading.Condition()
        self._waiting: List[_Item] = []  # To be sent.
        self._open = 0  # Payments that were read and not yielded.
        self._ended = False  # The source has.
        self._over = False  # Nothing more is read or sent.
        self._broken: Optional[BaseException] = None  # Why the source ended.
        self._fails = 0  # Connections in a row that brought no answer.
        self._at = client._at  # The address in use.

    def run(self) -> Generator[Decided, None, None]:
        try:
            threading.Thread(target=self._feed, name="railguard-stream-source", daemon=True).start()
            while self._await_payment():
                try:
                    connection = _Connection(self, self._client._open_stream(_PATH, self._at))
                    failure = yield from connection.run()
                except RailguardError as error:
                    failure = error
                if failure is not None and not self._retry(failure):
                    yield from self._give_up(failure)
                    break
        finally:
            with self._turn:
                self._over = True
                self._turn.notify_all()
        if self._broken is not None:
            raise self._broken

    def _feed(self) -> None:
        try:
            for payment in self._payments:
                item = _Item(payment, time.monotonic() + self._client._deadline)
                with self._turn:
                    self._waiting.append(item)
                    self._open += 1
                    self._turn.notify_all()
                    self._turn.wait_for(lambda: self._open < self._window or self._over)
                    if self._over:
                        return
        except BaseException as error:  # The consumer gets it.
            self._broken = error
        finally:
            with self._turn:
                self._ended = True
                self._turn.notify_all()

    def _await_payment(self) -> bool:
        """Wait until something is to be sent; False: nothing more will be."""
        with self._turn:
            self._turn.wait_for(lambda: self._waiting or self._ended)
            return bool(self._waiting)

    def _retry(self, failure: RailguardError) -> bool:
        """Wait for the next connection, at the next address; False: this failure is final."""
        client = self._client
        self._fails += 1
        if not failure._again() or self._fails >= client._attempts:
            return False
        self._at = (self._at + 1) % len(client._addresses)
        # Nothing happened there: the next address may be asked at once, each of them once.
        if failure.outcome == "none" and failure.status != 429 and self._fails < len(client._addresses):
            return True
        return client._pause(max(failure.retry_after, client._backoff(self._fails - 1)), time.monotonic() + client._deadline)

    def _give_up(self, failure: RailguardError) -> Generator[Decided, None, None]:
        """Yield all that have no result with why there is none."""
        with self._turn:
            self._over, items = True, self._waiting
            self._waiting = []
            self._turn.notify_all()
        for item in items:
            last = RailguardError(
                failure.status, failure.code, failure.message, "unknown" if item.unknown else "none", failure.body, failure.request_id, failure.retry_after
            )
            last.attempts, last.idempotency_key, last.__cause__ = item.attempts, item.key, failure
            yield item.payment, last

    def _settle(self, item: _Item, one: Result) -> Optional[Decided]:
        """What to yield of an attempt; None: it is made again."""
        item.attempts += 1
        one.attempts = item.attempts
        with self._turn:
            self._turn.notify_all()
            if isinstance(one, RailguardError):
                item.unknown = item.unknown or one.outcome == "unknown"
                if item.unknown:
                    one.outcome = "unknown"
                one.idempotency_key = item.key
                item.due = time.monotonic() + max(one.retry_after, self._client._backoff(item.attempts - 1))
                if one._again() and item.attempts < self._client._attempts and item.due < item.end:
                    self._waiting.append(item)
                    return None
            self._open -= 1
        return item.payment, one


class _Connection:
    """One connection of a stream."""

    def __init__(self, stream: Stream, duplex: Duplex) -> None:
        self._stream, self._duplex, self._turn = stream, duplex, stream._turn
        self._lines = 0  # Sent so far, the empty ones too.
        self._under: Dict[int, _Item] = {}  # Sent and not answered, by line.
        self._done = False  # The body has ended, or nobody writes it any more.

    def run(self) -> Generator[Decided, None, Optional[RailguardError]]:
        """Send and read until all is answered (None) or the connection ends."""
        writer = threading.Thread(target=self._write, name="railguard-stream-writer", daemon=True)
        writer.start()
        try:
            failure, taken = yield from self._read()
        finally:
            with self._turn:
                self._done = True
                self._turn.notify_all()
            self._duplex.stop()
            writer.join()
            self._duplex.close()
        if failure is not None:
            yield from self._leave(failure, taken)
        return failure

    def _read(self) -> Generator[Decided, None, Tuple[Optional[RailguardError], Optional[int]]]:
        """Yield results. Then why the connection ended, and how many of its lines the service has taken; None: nobody knows."""
        while True:
            try:
                raw = self._duplex.read(_SILENT)
                if not raw.strip():
                    continue
                line, one = _parse(raw)
                if line is None:
                    with self._turn:
                        whole = self._done and not self._under
                    return (None if whole else one), one.body["lines"]
                with self._turn:
                    item = self._under.pop(line, None)
                if item is None:
                    raise RailguardError(200, "bad_answer", "an answer to no line", "unknown")
            except RailguardError as error:
                return error, None
            self._stream._fails, self._stream._client._at = 0, self._stream._at
            decided = self._stream._settle(item, one)
            if decided is not None:
                yield decided

    def _leave(self, failure: RailguardError, taken: Optional[int]) -> Generator[Decided, None, None]:
        """Let what has no answer be sent again. Of lines that the service did not take nothing happened."""
        for line, item in sorted(self._under.items()):
            if taken is not None and line > taken:
                with self._turn:
                    self._stream._waiting.append(item)
                continue
            lost = RailguardError(0, "no_answer", "the stream ended before an answer", "unknown")
            lost.__cause__ = failure
            decided = self._stream._settle(item, lost)
            if decided is not None:
                yield decided

    def _write(self) -> None:
        try:
            while True:
                lines = self._next_lines()
                if not lines:
                    return
                self._duplex.send(lines)
        except OSError:
            pass  # The reader learns why: perhaps the service has said so.

    def _next_lines(self) -> bytes:
        """Wait for lines to be sent. At the end of all, end the body; b"": nothing is sent any more."""
        stream, alive = self._stream, time.monotonic() + _ALIVE
        with self._turn:
            while not self._done and not stream._over:
                lines, next_due = self._take(time.monotonic())
                if not lines and time.monotonic() >= alive:
                    lines = b"\n"
                    self._lines += 1
                if lines:
                    return lines
                if stream._ended and not stream._open:
                    self._done = True
                    break
                self._turn.wait(max(0.0, min(next_due, alive) - time.monotonic()))
            else:
                return b""
        self._duplex.end()
        return b""

    def _take(self, now: float) -> Tuple[bytes, float]:
        """The lines that are due, counted, and when the next one is. It is called in turn."""
        pieces, size, later = [], 0, []
        for item in self._stream._waiting:
            if item.due > now or size >= _PIECE:
                later.append(item)
                continue
            self._lines += 1
            self._under[self._lines] = item
            pieces.append(item.line)
            size += len(item.line)
        self._stream._waiting = later
        return b"".join(pieces), min((item.due for item in later), default=now + _ALIVE)


def _parse(raw: bytes) -> Tuple[Optional[int], Any]:
    """The line of an answer and what it is answered; None and an error with "lines": the end."""
    try:
        told = decode(raw)
    except (ValueError, RecursionError):
        told = None
    if isinstance(told, dict):
        end, line = told.get("end"), told.pop("line", None)
        if isinstance(line, int):
            return line, result(told)
        if isinstance(end, dict) and isinstance(end.get("lines"), int):
            return None, RailguardError(0, str(end.get("code") or "bad_answer"), str(end.get("message") or ""), "none", end)
    raise RailguardError(200, "bad_answer", "not a line of an answer", "unknown")
