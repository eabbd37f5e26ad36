"""A call whose body and answer are lines, and open at the same time."""

import http.client
import io
import selectors
import socket
import ssl
import threading
import time
from typing import Any, Callable, Mapping, Optional

from .transport import ANSWER_MAX, Address, RailguardError, refusal

_BROKEN = (OSError, http.client.HTTPException, ValueError)


class Duplex:
    """One such call. One thread writes lines while another reads them.

    No line is sent before the head of the answer has come, so of a call that is refused nothing happened.
    """

    def __init__(self, address: Address, path: str, headers: Mapping[str, str], timeout: float, context: Optional[ssl.SSLContext]) -> None:
        connection: Any = address.connect(timeout, context)
        self._link = _Link(connection.sock, timeout)
        try:
            connection.sock = self._link  # From here on it is read and written through the link.
            connection.putrequest("POST", address.base + path)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.putheader("Transfer-Encoding", "chunked")
            connection.endheaders()
            self._answer = connection.getresponse()
            if self._answer.status == 200:
                return
            text = self._answer.read(ANSWER_MAX + 1)
        except _BROKEN as cause:
            self.close()
            raise RailguardError(0, "no_answer", "no answer", "none") from cause
        self.close()
        raise refusal(self._answer.status, text, {name.lower(): value for name, value in self._answer.headers.items()})

    def send(self, lines: bytes) -> None:
        """Send whole lines; an OSError says that the connection is gone."""
        self._link.sendall(b"%x\r\n%b\r\n" % (len(lines), lines))

    def end(self) -> None:
        """Send the end of the body."""
        self._link.sendall(b"0\r\n\r\n")

    def read(self, patience: float) -> bytes:
        """The next line, without its line feed. A RailguardError says that the connection broke, or was silent."""
        self._link.patience = patience
        try:
            line: bytes = self._answer.readline(ANSWER_MAX)
        except _BROKEN as cause:
            raise RailguardError(0, "no_answer", "the stream broke", "unknown") from cause
        if not line.endswith(b"\n"):
            raise RailguardError(0, "no_answer", "the stream broke", "unknown")
        return line[:-1]

    def stop(self) -> None:
        """End what another thread reads or writes."""
        self._link.shut()

    def close(self) -> None:
        """Close the connection, when no other thread uses it any more."""
        self._link.shut()
        self._link.sock.close()


class _Link:
    """A socket that one thread reads while another writes. TLS bears one of them at a time, so neither holds the lock
    while it waits for the network.
    """

    def __init__(self, sock: socket.socket, patience: float) -> None:
        sock.setblocking(False)
        self.sock, self.patience = sock, patience
        self._lock = threading.Lock()

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reading(self), 1 << 16)

    def close(self) -> None:
        """http.client closes what it has read to its end; here the Duplex does."""

    def shut(self) -> None:
        try:
            socket.socket.shutdown(self.sock, socket.SHUT_RDWR)  # Not the TLS socket's own, which would let the other thread go on in plain text.
        except OSError:
            pass  # It was gone already.

    def sendall(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._do(lambda: self.sock.send(rest), selectors.EVENT_WRITE, None) :]

    def receive(self, into: Any) -> int:
        return self._do(lambda: self.sock.recv_into(into), selectors.EVENT_READ, time.monotonic() + self.patience)

    def _do(self, act: Callable[[], int], wanted: int, end: Optional[float]) -> int:
        while True:
            try:
                with self._lock:
                    return act()
            except ssl.SSLWantReadError:
                event = selectors.EVENT_READ
            except ssl.SSLWantWriteError:
                event = selectors.EVENT_WRITE
            except BlockingIOError:
                event = wanted
            with selectors.DefaultSelector() as waiting:
                waiting.register(self.sock, event)
                if not waiting.select(None if end is None else max(0.0, end - time.monotonic())):
                    raise TimeoutError("the other side is silent")


class _Reading(io.RawIOBase):
    """What http.client reads of a link."""

    def __init__(self, link: _Link) -> None:
        super().__init__()
        self._link = link

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        return self._link.receive(into)
