"""Verifies messages of webhooks (Standard Webhooks): v1 with a shared secret, v1a with a public key.

Ed25519 is in plain Python, as the standard library has none; only public values are
computed with. One verification takes some milliseconds.
"""

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from typing import Any, Callable, Dict, Mapping, Optional, Tuple

_TOLERANCE = 300  # Seconds.
_SECONDS = re.compile(r"-?[1-9][0-9]{0,14}\Z|0\Z", re.ASCII)

# Edwards25519 (RFC 8032): -x^2 + y^2 = 1 + D x^2 y^2 over the integers modulo P; the base has the order L.
_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_ROOT = pow(2, (_P - 1) // 4, _P)
_Point = Tuple[int, int, int, int]


class WebhookError(Exception):
    """Why a message is not good; code is bad_secret, malformed, too_old or bad_signature."""

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(code)


def verify_webhook(secret: str, headers: Mapping[str, str], body: bytes, now: Optional[float] = None) -> Dict[str, Any]:
    """Check a message and return its event.

    secret is the shared one (whsec_...) or the public key (whpk_...), headers a mapping,
    body the bytes that came, before anything parsed them, now in Unix seconds.
    """
    found = {str(name).lower(): value for name, value in headers.items()}
    identifier, at, signatures = (found.get("webhook-" + name) or "" for name in ("id", "timestamp", "signature"))
    if not identifier or not _SECONDS.match(at) or not signatures:
        raise WebhookError("malformed")
    good = _verifier(secret, identifier.encode() + b"." + at.encode() + b"." + body)
    if not any([good(*signature.partition(",")[::2]) for signature in signatures.split()]):
        raise WebhookError("bad_signature")
    if abs((time.time() if now is None else now) - int(at)) > _TOLERANCE:
        raise WebhookError("too_old")
    try:
        event = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise WebhookError("malformed") from None
    if not isinstance(event, dict):
        raise WebhookError("malformed")
    return event


def _raw(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _verifier(secret: str, signed: bytes) -> Callable[[str, str], bool]:
    kind, _, encoded = secret.partition("_")
    raw = _raw(encoded)
    if kind == "whsec" and raw:
        total = hmac.new(raw, signed, hashlib.sha256).digest()
        return lambda version, signature: version == "v1" and hmac.compare_digest(total, _raw(signature))
    if kind == "whpk" and len(raw) == 32:
        return lambda version, signature: version == "v1a" and verify_ed25519(raw, signed, _raw(signature))
    raise WebhookError("bad_secret")


def verify_ed25519(public: bytes, message: bytes, signature: bytes) -> bool:
    """RFC 8032, without the cofactor: S*B = R + k*A, compared as bytes."""
    if len(public) != 32 or len(signature) != 64:
        return False
    key = _decode(public)
    s = int.from_bytes(signature[32:], "little")
    if key is None or s >= _L:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % _L
    x, y, z, t = key
    point = _add(_multiply(s, _BASE), _multiply(k, (-x % _P, y, z, -t % _P)))
    return hmac.compare_digest(_encode(point), signature[:32])


def _decode(raw: bytes) -> Optional[_Point]:
    y = int.from_bytes(raw, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    if y >= _P:
        return None
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if x * x % _P != square:
        x = x * _ROOT % _P
    if x * x % _P != square or x == 0 and sign:
        return None
    if x & 1 != sign:
        x = _P - x
    return x, y, 1, x * y % _P


def _encode(point: _Point) -> bytes:
    x, y, z, _ = point
    inverse = pow(z, -1, _P)
    x, y = x * inverse % _P, y * inverse % _P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _add(one: _Point, two: _Point) -> _Point:
    """In extended coordinates: (X, Y, Z, T) stands for (X/Z, Y/Z), T = XY/Z."""
    a = (one[1] - one[0]) * (two[1] - two[0]) % _P
    b = (one[1] + one[0]) * (two[1] + two[0]) % _P
    c = 2 * one[3] * two[3] * _D % _P
    d = 2 * one[2] * two[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _multiply(scalar: int, point: _Point) -> _Point:
    total = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            total = _add(total, point)
        point = _add(point, point)
        scalar >>= 1
    return total


_BASE = _decode((4 * pow(5, -1, _P) % _P).to_bytes(32, "little")) or (0, 1, 1, 0)
