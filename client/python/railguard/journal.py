"""How far each payment came that Client.pay began, in a file that outlives a crash."""

import json
import os
import re
import threading
import time
from typing import Any, BinaryIO, Dict, List, Optional, Protocol, Set

_VERSION = 1
_LINE_MAX = 256 << 10  # Bytes.
_FILE_MAX = 64 << 20  # Bytes. Then it takes no new payments: begin another one.
_STATES = ("settled", "released", "refused")
_FOLLOWERS = {
    "": ("screen",), "screen": ("verdict", "end"), "verdict": ("send", "end"), "send": ("sent", "notSent"),
    "sent": ("end",), "notSent": ("end",), "end": (),
}  # fmt: skip
# In a line of step screen the payment begins here; its text is kept as it stands, because keys bind a body's bytes.
_PAYMENT = re.compile(r'\s*\{\s*"v"\s*:\s*1\s*,\s*"id"\s*:\s*"(?:[^"\\]|\\.)*"\s*,\s*"at"\s*:\s*"[^"\\]*"\s*,\s*"step"\s*:\s*"screen"\s*,\s*"payment"\s*:\s*')
_DECODER = json.JSONDecoder()


class JournalError(Exception):
    """Why a journal does not serve; code is unreadable, locked, full, known, broken or closed.

    known means that the journal knows the payment: resume ends it, and nothing sends it again.
    """

    def __init__(self, code: str, text: str = "") -> None:
        self.code = code
        super().__init__(code + (": " + text if text else ""))


class JournalStore(Protocol):
    """Keeps the lines of a journal. FileStore is one; yours may be a table of a database. One process uses it at a time."""

    def lines(self) -> List[bytes]:
        """All lines that are kept, in their order."""

    def append(self, line: bytes) -> None:
        """Keep a line behind the others; return when it outlives a crash. Called once at a time, never after an exception."""

    def room(self) -> bool:
        """Whether a new payment fits."""

    def close(self) -> None: ...


class FileStore:
    """A file of one line a step, for one process at a time.

    It is locked twice: by the system, which frees the lock of a process that dies, and by a file beside it with the
    process's number, for clients whose platform has no such lock.
    """

    def __init__(self, path: str) -> None:
        self._file: BinaryIO = open(path, "a+b", buffering=0, opener=lambda name, flags: os.open(name, flags, 0o600))
        self._lock = ""
        try:
            _lock_file(self._file)
            _lock_beside(path + ".lock")
            self._lock = path + ".lock"
            self._cut_torn()
            _sync_folder(os.path.dirname(os.path.abspath(path)))
        except BaseException:
            self.close()
            raise

    def _read(self) -> bytes:
        self._file.seek(0)
        parts: List[bytes] = []
        while True:
            part = self._file.read(1 << 20)
            if not part:
                return b"".join(parts)
            parts.append(part)

    def _cut_torn(self) -> None:
        """Take away what a crash left of a last line. The step that it announced was not begun."""
        size = os.fstat(self._file.fileno()).st_size
        if size > 2 * _FILE_MAX:
            raise JournalError("unreadable", "it has %d bytes" % size)
        raw = self._read()
        whole = raw.rfind(b"\n") + 1
        if whole and whole == len(raw):  # The newline may be there, and what is before it not.
            last = raw.rfind(b"\n", 0, whole - 1) + 1
            try:
                json.loads(raw[last:whole].decode("utf-8"))
            except ValueError:
                whole = last
        self._size = whole
        if whole != len(raw):
            os.ftruncate(self._file.fileno(), whole)
            os.fsync(self._file.fileno())

    def lines(self) -> List[bytes]:
        return self._read().split(b"\n")[:-1]

    def append(self, line: bytes) -> None:
        rest = memoryview(line + b"\n")
        self._size += len(rest)
        while rest:
            rest = rest[self._file.write(rest) :]
        os.fsync(self._file.fileno())

    def room(self) -> bool:
        return self._size < _FILE_MAX

    def close(self) -> None:
        if self._lock:
            try:
                os.remove(self._lock)
            except OSError:
                pass
            self._lock = ""
        self._file.close()


class Journal:
    """Knows how far each payment came that pay began. Threads of one process may share it.

    path is a file, which is made if it is not there; store in its place is one of your own. Only one process may have
    it open: another one gets JournalError "locked". What a crash left of a last line is taken away.
    """

    def __init__(self, path: Optional[str] = None, store: Optional[JournalStore] = None) -> None:
        if (path is None) == (store is None):
            raise TypeError("a journal has either a path or a store")
        self._store: JournalStore = FileStore(path) if path is not None else store  # type: ignore[assignment]
        self._lock = threading.Lock()
        self._known: Dict[str, Dict[str, Any]] = {}  # By id, in the order of their beginning.
        self._busy: Set[str] = set()
        self._broken: Optional[JournalError] = None
        try:
            for number, raw in enumerate(self._store.lines()):
                try:
                    self._take(_line(raw))
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                    raise JournalError("unreadable", "line %d: %s" % (number + 1, error)) from error
        except BaseException:
            self._store.close()
            raise

    def close(self) -> None:
        """Give the journal back."""
        with self._lock:
            self._broken = self._broken or JournalError("closed")
            self._store.close()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self, line: Dict[str, Any]) -> None:
        identifier, step = line["id"], line["step"]
        before = self._known.get(identifier, {"step": "", "at": line["at"]})
        if step not in _FOLLOWERS[before["step"]]:
            raise ValueError("step %r behind %r" % (step, before["step"]))
        if step == "end":
            self._known[identifier] = {"id": identifier, "step": step, "state": line["state"]}
        else:
            self._known[identifier] = {**before, **line, "at": before["at"]}

    def append(self, line: Dict[str, Any], payment: Optional[str] = None) -> None:
        """Keep a line before what it announces is done. For pay and resume."""
        at = time.time()
        head: Dict[str, Any] = {"v": _VERSION, "id": line["id"], "at": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + ".%03dZ" % (at % 1 * 1000), "step": line["step"]}
        text = json.dumps(head, ensure_ascii=False, separators=(",", ":"))[:-1]
        if payment is not None:
            text += ',"payment":' + payment
        rest = {name: value for name, value in line.items() if name not in ("id", "step")}
        text += ("," + json.dumps(rest, ensure_ascii=False, separators=(",", ":"))[1:-1] if rest else "") + "}"
        raw = text.encode("utf-8")
        with self._lock:
            if self._broken is not None:
                raise self._broken
            if len(raw) > _LINE_MAX:
                raise ValueError("a line of %d bytes: the journal takes %d" % (len(raw), _LINE_MAX))
            parsed = _line(raw)
            try:
                self._store.append(raw)
            except Exception as error:
                self._broken = JournalError("broken", str(error))
                raise self._broken from error
            self._take(parsed)

    def begin(self, line: Dict[str, Any], payment: str) -> None:
        """Keep the first line of a payment, which is busy from then on. For pay."""
        with self._lock:
            if line["id"] in self._known or line["id"] in self._busy:
                raise JournalError("known", line["id"])
            if self._broken is None and not self._store.room():
                raise JournalError("full")
            self._busy.add(line["id"])
        try:
            self.append(line, payment)
        except BaseException:
            self.leave(line["id"])
            raise

    def claim(self) -> List[Dict[str, Any]]:
        """The open payments that nobody works on; they are busy from then on. For resume."""
        with self._lock:
            all_open = [dict(entry) for identifier, entry in self._known.items() if entry["step"] != "end" and identifier not in self._busy]
            self._busy.update(entry["id"] for entry in all_open)
            return all_open

    def leave(self, identifier: str) -> None:
        """A payment is busy no more. For pay and resume."""
        with self._lock:
            self._busy.discard(identifier)


def _line(raw: bytes) -> Dict[str, Any]:
    """Read a line. Of a payment the text is kept as it stands."""
    text = raw.decode("utf-8")
    line: Dict[str, Any] = json.loads(text)
    if line["v"] != _VERSION:
        raise ValueError("version %r" % (line["v"],))
    for name in ("id", "at", "step"):
        if not isinstance(line[name], str) or not line[name]:
            raise ValueError("no " + name)
    step = line["step"]
    if step not in _FOLLOWERS or not step:
        raise ValueError("step %r" % step)
    if step == "screen":
        found = _PAYMENT.match(text)
        if not found or not isinstance(line["payment"], dict) or type(line["holdSeconds"]) is not int or line["holdSeconds"] <= 0:
            raise ValueError("not a payment")
        line["payment"] = text[found.end() : _DECODER.raw_decode(text, found.end())[1]]
    lacks = {"verdict": ("verdict", "txnId"), "send": ("txnId",), "end": ("state",)}.get(step, ())
    if any(not isinstance(line[name], str) or not line[name] for name in lacks) or step == "end" and line["state"] not in _STATES:
        raise ValueError("step %r is not whole" % step)
    if step == "sent" and not isinstance(line["railRef"], str):
        raise ValueError("step 'sent' is not whole")
    return line


def _lock_file(file: BinaryIO) -> None:
    try:
        import fcntl
    except ImportError:  # Not on Windows: the file beside it is the lock there.
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise JournalError("locked", "another process uses it") from error


def _lock_beside(path: str) -> None:
    """Make the lock file. One that a dead process left is taken over."""
    for _ in range(2):
        try:
            lock = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            pass
        else:
            os.write(lock, b"%d\n" % os.getpid())
            os.close(lock)
            return
        pid = _pid(path)
        if pid and _lives(pid):
            raise JournalError("locked", "process %d, says %s" % (pid, path))
        try:
            os.remove(path)
        except FileNotFoundError:
            pass
    raise JournalError("locked", path)


def _pid(path: str) -> int:
    try:
        with open(path, "rb") as lock:
            return int(lock.read(32))
    except (ValueError, FileNotFoundError):
        return 0


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _sync_folder(path: str) -> None:
    """A new file's name must outlive a crash too."""
    if os.name != "posix":
        return
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
