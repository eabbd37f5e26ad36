"""Verifies permits: signed leave to make one payment, once, within minutes."""

import json
import re
import threading
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

from .client import Client
from .keys import Published, until_of
from .statement import build_pay, hash_of
from .verify import TokenError, _find, _segment, verify_p256

_PERMIT_MAX = 4096
_TYPE = "railguard-permit+jwt"
_KID = re.compile(r"(sandbox-)?pm-v[0-9]+\Z", re.ASCII)
_OWN_KEYS = {"jwk", "jku", "x5c", "x5t", "x5t#S256", "x5u"}
_AHEAD = 60  # Seconds by which iat may be ahead of this clock.
_LIFETIME = 300
_KEPT = 60  # Seconds behind exp for which a used id is remembered.
_DEPTH = 16
_WHOLE_MOST = 10**15
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")  # The escape of half of a character: no permit needs one.
_FIRST_USES = 100_000


class PermitError(Exception):
    """Why a permit is not good; code is the first of these that holds: malformed, algorithm, type, key, signature,
    issuer, audience, expired, early, lifetime, verdict, payment, list, used.
    """

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(code)


def verify_permit(
    permit: str,
    keys: "Union[Mapping[str, Any], PermitKeys]",
    issuer: str,
    audience: str,
    pay: Optional[Mapping[str, Any]] = None,
    paying: Optional[Mapping[str, Any]] = None,
    now: Optional[float] = None,
    max_list_age: Optional[float] = None,
    first_use: Optional[Callable[[str, float], bool]] = None,
    sandbox: bool = False,
    timeout: Optional[float] = None,
) -> Dict[str, Any]:
    """Return the claims of a permit that is good for your own payment; raise otherwise.

    keys          the answer of Client.jwks, or PermitKeys, which reads and keeps it
    issuer        the public URL of the guard that you trust
    audience      you, as the permit's author names you
    pay           the statement (build_pay) of what you are about to let happen, never what the permit says;
    paying        or in its place what build_pay is given: the statement is built with the permit's jti
    now           Unix seconds
    max_list_age  seconds; without it the permit's own bound counts alone
    first_use     called with jti and a time: remembers the jti until then, and returns whether it is new.
                  FirstUses is one. Without it nobody remembers that the permit was used.
    sandbox       whether permits of a sandbox are good too
    timeout       how many seconds to wait at most for keys that are not known; None: as long as the client does

    PermitError says what is wrong with the permit. Any other error means that it cannot be told: do not let the
    payment happen then either.
    """
    if not keys or not issuer or not audience or (pay is None) == (paying is None):
        raise TypeError("a permit is checked with keys, issuer, audience, and either pay or paying")
    mine = hash_of(build_pay(paying, "") if paying is not None else pay)  # What the caller got wrong is told whatever the permit says.
    payload = _open(permit, keys, sandbox, timeout)
    claims = _strict_object(payload)
    if not _whole(claims.get("iat")) or not _whole(claims.get("exp")) or not _text(claims.get("jti")):
        raise PermitError("malformed")
    now = int(time.time() if now is None else now)
    if claims.get("iss") != issuer:
        raise PermitError("issuer")
    if claims.get("aud") != audience:
        raise PermitError("audience")
    if claims["exp"] <= now:
        raise PermitError("expired")
    if claims["iat"] > now + _AHEAD:
        raise PermitError("early")
    if not 0 < claims["exp"] - claims["iat"] <= _LIFETIME:
        raise PermitError("lifetime")
    if claims.get("verdict") != "PROCEED":
        raise PermitError("verdict")
    if paying is not None:
        mine = hash_of(build_pay(paying, claims["jti"]))
    if mine != claims.get("pay_hash") or _said(claims.get("pay")) != mine:
        raise PermitError("payment")
    lists = claims.get("lists")
    age: Any
    most: Any
    age, most = (lists.get("age"), lists.get("maxAge")) if isinstance(lists, dict) else (None, None)
    if not _whole(age) or not _whole(most) or age > most or max_list_age is not None and age > max_list_age:
        raise PermitError("list")
    if first_use is not None and not first_use(claims["jti"], claims["exp"] + _KEPT):
        raise PermitError("used")
    return claims


def _open(permit: str, keys: "Union[Mapping[str, Any], PermitKeys]", sandbox: bool, timeout: Optional[float]) -> bytes:
    """Check form, header, key and signature; return the bytes of what the permit says."""
    parts = permit.split(".") if isinstance(permit, str) and len(permit) <= _PERMIT_MAX else []
    if len(parts) != 3:
        raise PermitError("malformed")
    try:
        header, payload = _segment(parts[0]), _segment(parts[1])
        signature = _segment(parts[2]) if parts[2] else b""
    except TokenError:
        raise PermitError("malformed") from None
    kid = _read_header(_strict_object(header), sandbox)
    try:
        point = keys.find(kid, timeout) if isinstance(keys, PermitKeys) else _find(keys, kid)
    except TokenError:
        raise PermitError("key") from None
    if len(signature) != 64 or not verify_p256(point, (parts[0] + "." + parts[1]).encode("ascii"), signature):
        raise PermitError("signature")
    return payload


def _read_header(header: Dict[str, Any], sandbox: bool) -> str:
    if header.get("alg") != "ES256":
        raise PermitError("algorithm")
    if header.get("typ") != _TYPE:
        raise PermitError("type")
    kid = header.get("kid")
    if not isinstance(kid, str) or not _text(kid) or not _KID.match(kid) or kid.startswith("sandbox-") and not sandbox or _OWN_KEYS & set(header):
        raise PermitError("key")
    if len(header) != 3:
        raise PermitError("malformed")
    return kid


def _text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _whole(value: Any) -> bool:
    return type(value) is int and 0 <= value < _WHOLE_MOST


def _said(pay: Any) -> Optional[str]:
    """The hash of a permit's own statement, None if it is none."""
    try:
        return hash_of(pay)
    except TypeError:
        return None


def _strict_object(raw: bytes) -> Dict[str, Any]:
    """Read a JSON object in which no member stands twice, at any depth."""
    try:
        if _SURROGATE.search(raw):
            raise ValueError("half of a character")
        value = json.loads(raw.decode("utf-8"), object_pairs_hook=_members, parse_constant=_refuse, parse_int=_integer)
        if not isinstance(value, dict) or _deep(value, _DEPTH):
            raise ValueError("not an object")
    except (ValueError, RecursionError):
        raise PermitError("malformed") from None
    return value


def _members(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member twice")
    return members


def _refuse(word: str) -> None:
    raise ValueError(word)


def _integer(text: str) -> Union[int, float]:
    return float(text) if text == "-0" else int(text)


def _deep(value: Any, depth: int) -> bool:
    if not isinstance(value, (dict, list)):
        return False
    return depth == 0 or any(_deep(inner, depth - 1) for inner in (value.values() if isinstance(value, dict) else value))


class PermitKeys:
    """The keys of one issuer, read with a client and kept for an hour. Threads may share it.

    client's address is the issuer of the permits, or another address of the same service. No API key is needed.
    """

    def __init__(self, client: Client, now: Callable[[], float] = time.time) -> None:
        self._published = Published(client, now)

    def find(self, kid: str, timeout: Optional[float] = None) -> Tuple[int, int]:
        """The key of a kid. timeout is how many seconds to wait at most for keys that are not known."""
        return self._published.use(lambda keys: _find(keys, kid), until_of(timeout))


class FirstUses:
    """Remembers used permits in memory: within one process, until it ends. Threads may share it.

    most is how many ids it remembers; with more it raises OverflowError, as it could not promise to know another one.
    """

    def __init__(self, most: int = _FIRST_USES, now: Callable[[], float] = time.time) -> None:
        self._most, self._now, self._lock = most, now, threading.Lock()
        self._until: Dict[str, float] = {}
        self._swept: Optional[float] = None

    def __call__(self, jti: str, until: float) -> bool:
        """Return whether an id is new, and remember it until a time, the later one if it comes again."""
        with self._lock:
            now = self._now()
            known = self._until.get(jti)
            if known is not None and now < known:
                self._until[jti] = max(known, until)
                return False
            self._until.pop(jti, None)
            if len(self._until) >= self._most and (self._swept is None or abs(now - self._swept) >= 1):
                self._until = {one: end for one, end in self._until.items() if now < end}
                self._swept = now
            if len(self._until) >= self._most:
                raise OverflowError("the store of used permits is full")
            self._until[jti] = until
            return True
