"""Whether a credential was revoked or suspended since it was issued: the IETF Token Status List."""

import re
import threading
import time
import zlib
from typing import Any, Callable, Dict, Mapping, Optional, Tuple

from .client import Client
from .keys import Kept, Known, Published, until_of
from .transport import RailguardError
from .verify import _LEEWAY, TokenError, _object, _segment, _text, open_token, verify_token

_LIST_MAX = 256 << 10  # Of a token.
_BITS_MAX = 1 << 20  # Of a list, unpacked.
_LISTS_MOST = 64
_PATH = re.compile(r"/status-lists/[0-9]{1,19}\Z", re.ASCII)


class StatusError(TokenError):
    """Why a credential's status does not let it pass.

    code is revoked or suspended; no_status, wrong_list or out_of_range; status_unknown (the
    list cannot be had: the only one that may pass by itself).
    """


def verify_status(claims: Mapping[str, Any], token: str, keys: Mapping[str, Any], now: Optional[float] = None) -> None:
    """Read what a status list token says of a credential whose claims verify_token returned.

    Makes no call. Returns None for VALID; raises StatusError, or TokenError for a list that is not good.
    """
    _read(claims, _open(claims, token, keys, now)[0])


def _reference(claims: Mapping[str, Any]) -> Dict[str, Any]:
    status = claims.get("status")
    entry = status.get("status_list") if isinstance(status, dict) else None
    if not isinstance(entry, dict) or type(entry.get("idx")) is not int or not _text(entry.get("uri")):
        raise StatusError("no_status")
    return entry


def _open(claims: Mapping[str, Any], token: str, keys: Mapping[str, Any], now: Optional[float]) -> Tuple[bytes, int, int]:
    """The bytes of a list, its ttl and its exp."""
    uri = _reference(claims)["uri"]
    told = _object(open_token(token, _LIST_MAX, "statuslist+jwt", keys))
    inner = told.get("status_list")
    if any(type(told.get(name)) is not int for name in ("iat", "exp", "ttl")) or told["ttl"] <= 0 or not isinstance(inner, dict):
        raise TokenError("malformed")
    if told.get("sub") != uri or type(inner.get("bits")) is not int or inner["bits"] != 2:
        raise StatusError("wrong_list")
    now = int(time.time() if now is None else now)
    if now >= told["exp"]:
        raise TokenError("expired")
    if now + _LEEWAY < told["iat"]:
        raise TokenError("not_yet_valid")
    if not _text(inner.get("lst")):
        raise TokenError("malformed")
    packed = zlib.decompressobj()
    try:
        bits = packed.decompress(_segment(inner["lst"]), _BITS_MAX + 1)
    except zlib.error:
        raise TokenError("malformed") from None
    if len(bits) > _BITS_MAX or not packed.eof:
        raise TokenError("malformed")
    return bits, told["ttl"], told["exp"]


def _read(claims: Mapping[str, Any], bits: bytes) -> None:
    index = _reference(claims)["idx"]
    if not 0 <= index < len(bits) * 4:
        raise StatusError("out_of_range")
    value = bits[index // 4] >> index % 4 * 2 & 3
    if value != 0:  # A value that has no meaning is no VALID.
        raise StatusError("suspended" if value == 2 else "revoked")


class Verifier:
    """Verifies credentials and their status, and keeps keys and lists as long as it may.

    client is asked for keys and lists; no API key is needed for either. Threads may share it: one fetch serves all,
    and what is known serves while it is fetched anew.
    """

    def __init__(self, client: Client, issuer: str, now: Callable[[], float] = time.time) -> None:
        self._client, self._issuer, self._now = client, issuer, now
        self._published = Published(client, now)
        self._lists: Dict[str, Kept[bytes]] = {}
        self._lock = threading.Lock()  # For the dict alone.

    def verify(self, token: str, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Return the claims of a credential that is good and neither revoked nor suspended; raise otherwise.

        timeout is how many seconds to wait at most for what is not known; None: as long as the client does.
        """
        until = until_of(timeout)
        claims = self._published.use(lambda keys: verify_token(token, keys, self._issuer, self._now()), until)
        kept = self._list(claims)
        try:
            known = kept.get(until)
        except RailguardError as error:
            raise StatusError("status_unknown") from error
        if self._now() >= known.end:
            raise TokenError("expired")
        _read(claims, known.value)
        return claims

    def _list(self, claims: Mapping[str, Any]) -> "Kept[bytes]":
        uri = _reference(claims)["uri"]
        found = _PATH.search(uri)  # The number alone is the credential's to say: no other host is asked.
        if not found:
            raise StatusError("wrong_list")
        path = found.group()
        with self._lock:
            kept = self._lists.get(uri)
            if kept is None:
                if len(self._lists) >= _LISTS_MOST:
                    self._lists.clear()
                kept = self._lists[uri] = Kept(self._now, lambda now: self._fetch(claims, path, now))
            return kept

    def _fetch(self, claims: Mapping[str, Any], path: str, now: float) -> Known:
        """Read a list. It serves until its exp, and is fetched anew when its ttl is over."""
        text = self._client.status_list(path)
        bits, ttl, end = self._published.use(lambda keys: _open(claims, text, keys, now))
        return Known(bits, now, min(now + ttl, end), end)
