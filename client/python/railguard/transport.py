"""Connections, and what is read of an answer."""

import http.client
import secrets
import ssl
import threading
from typing import Any, Dict, List, Mapping, Optional, Tuple
from urllib.parse import urlsplit

from .money import decode

ANSWER_MAX = 16 << 20
_RETRY_AFTER_MAX = 24 * 60 * 60
_IDLE_MOST = 8  # Connections to one address that wait for their next call.


def new_key() -> str:
    """Draw an Idempotency-Key. Store it before the first attempt of what must survive a restart."""
    return "rgc_" + secrets.token_hex(16)


class RailguardError(Exception):
    """Why a call failed.

    status           HTTP status; 0 without an answer
    code             compare this; unreachable, no_answer and bad_answer are the client's own
    message, param, details, request_id, txn_id
    outcome          "none", or "unknown": make the call again with idempotency_key, or do not pay
    retry_after      seconds that the service asked for, or 0
    attempts         how often the call was made
    idempotency_key  of the call
    body             the whole answer as a dict: a conflict says what stands
    """

    def __init__(
        self, status: int, code: str, message: str = "", outcome: str = "none", body: Optional[Dict[str, Any]] = None, request_id: str = "", retry_after: int = 0
    ) -> None:
        body = body or {}
        self.status, self.code, self.message, self.outcome = status, code, message, outcome
        self.param: str = body.get("param") or ""
        self.details: List[Dict[str, Any]] = body.get("details") or []
        self.request_id: str = body.get("requestId") or request_id
        self.txn_id: str = body.get("txnId") or ""
        self.retry_after, self.body = retry_after, body
        self.attempts, self.idempotency_key = 1, ""
        super().__init__("%s (%d): %s, outcome %s" % (code, status, message, outcome))

    def _again(self) -> bool:
        return self.status == 0 or self.status >= 500 or self.status == 429 or self.code in ("bad_answer", "idempotency_in_flight")


class Answer(Dict[str, Any]):
    """The members of an answer, and its head: status, etag, index, request_id, replayed, attempts and headers.

    etag is for if_match, index for min_index (0: the answer rests on no entry of the log).
    """

    def __init__(self, members: Mapping[str, Any], status: int = 200, headers: Optional[Mapping[str, str]] = None) -> None:
        super().__init__(members)
        self.status = status
        self.headers: Dict[str, str] = dict(headers or {})  # The names are in lower case.
        self.etag: str = self.headers.get("etag", "")
        self.request_id: str = self.headers.get("x-request-id", "")
        self.attempts = 1  # How often the call was made.
        self.replayed: bool = self.headers.get("idempotent-replayed") == "true"
        index = self.headers.get("x-railguard-index", "")
        self.index: int = int(index) if index.isascii() and index.isdigit() else 0


class Address:
    """One address of the service, and its idle connections. Threads may share it.

    A connection serves one call at a time and then waits for the next one. One that broke while it waited
    is replaced before anything was sent on it; a call that was sent is never sent again here.
    """

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.username is not None:
            raise ValueError("an address is http://host or https://host")
        self.secure: bool = parts.scheme == "https"
        self._host: str = parts.hostname
        self._port = parts.port
        self.base: str = parts.path.rstrip("/")
        self._idle: List[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def send(
        self, method: str, path: str, body: Optional[bytes], headers: Mapping[str, str], timeout: float, context: Optional[ssl.SSLContext]
    ) -> Tuple[int, bytes, Dict[str, str]]:
        """Send a call once; status, body and headers of the answer, their names in lower case."""
        connection = self.connect(timeout, context)
        good = False
        try:
            try:
                connection.request(method, self.base + path, body, dict(headers))
                answer = connection.getresponse()
                text = answer.read(ANSWER_MAX + 1)
            except (OSError, http.client.HTTPException, ValueError) as cause:
                raise RailguardError(0, "no_answer", "no answer", "unknown") from cause
            good = answer.isclosed() and not answer.will_close
            return answer.status, text, {name.lower(): value for name, value in answer.headers.items()}
        finally:
            self._give_back(connection, good)

    def connect(self, timeout: float, context: Optional[ssl.SSLContext]) -> http.client.HTTPConnection:
        """A connection for one call: an idle one that is good, or a new one."""
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                break
            if connection.sock is not None and not _broken(connection):
                connection.sock.settimeout(timeout)
                return connection
            connection.close()
        if self.secure:
            connection = http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=context)
        else:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=timeout)
        connection.auto_open = 0  # A broken one is an error, not another connection.
        try:
            connection.connect()
        except OSError as cause:
            connection.close()
            raise RailguardError(0, "unreachable", "no connection", "none") from cause
        return connection

    def _give_back(self, connection: http.client.HTTPConnection, good: bool) -> None:
        if good:
            with self._lock:
                if len(self._idle) < _IDLE_MOST:
                    self._idle.append(connection)
                    return
        connection.close()

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def _broken(connection: http.client.HTTPConnection) -> bool:
    """Whether an idle connection was closed by the other side, or has bytes that nobody asked for."""
    try:
        connection.sock.setblocking(False)
        connection.sock.recv(1)
        return True
    except (BlockingIOError, ssl.SSLWantReadError):
        return False
    except OSError:
        return True


def refusal(status: int, text: bytes, headers: Mapping[str, Optional[str]], body: Any = None) -> RailguardError:
    """The error of an answer that is not 2xx. If it cannot be read, the outcome is unknown."""
    if body is None:
        try:
            body = decode(text)
        except (ValueError, RecursionError):
            body = None
    request_id, after = headers.get("x-request-id") or "", headers.get("retry-after") or ""
    seconds = min(int(after), _RETRY_AFTER_MAX) if after.isascii() and after.isdigit() and len(after) < 10 else 0
    if not isinstance(body, dict) or not isinstance(body.get("code"), str) or not body["code"]:
        return RailguardError(status, "bad_answer", "not an answer of the service", "unknown", None, request_id, seconds)
    settled = status < 500 or status == 503 and headers.get("x-railguard-outcome") == "none"
    outcome = "none" if settled and body["code"] != "idempotency_in_flight" else "unknown"
    return RailguardError(status, body["code"], body.get("message") or "", outcome, body, request_id, seconds)


def result(raw: Any) -> Any:
    """One result of a batch: its members, or its error."""
    status = raw.get("status") if isinstance(raw, dict) else None
    if status == 200:
        return Answer(raw)
    if not isinstance(status, int) or status < 400:
        return RailguardError(status if isinstance(status, int) else 0, "bad_answer", "not a result", "unknown")
    return refusal(status, b"", {"x-railguard-outcome": raw.get("outcome")}, raw)
