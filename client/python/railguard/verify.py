"""Verifies credentials offline: ES256 in plain Python, as the standard library has none.

Only public values are computed with, so nothing here needs constant time. One
verification takes some milliseconds.
"""

import base64
import hashlib
import json
import re
import time
from typing import Any, Dict, Mapping, Optional, Tuple

# P-256 (FIPS 186-5): y^2 = x^3 - 3x + B over the integers modulo P; G has the order N.
_P = 2**256 - 2**224 + 2**192 + 2**96 - 1
_B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
_N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
    1,
)
_INFINITY = (1, 1, 0)
_Point = Tuple[int, int, int]

_SEGMENT = re.compile(r"[A-Za-z0-9_-]+\Z", re.ASCII)
_TOKEN_MAX = 8192
_LEEWAY = 5  # Seconds that clocks may differ at the beginning of a token.


class TokenError(Exception):
    """Why a token is not good; code is malformed, unknown_key, bad_signature, wrong_issuer, expired or not_yet_valid."""

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(code)


def verify_token(token: str, keys: Mapping[str, Any], issuer: str, now: Optional[float] = None) -> Dict[str, Any]:
    """Check form, key, signature, issuer (such as did:kya:railguard) and time.

    keys is the answer of Client.jwks, now is in Unix seconds. Returns the claims.
    They do not say whether the agent is suspended or revoked: a Verifier asks the list
    that they name, Client.screen the service.
    """
    claims = _object(open_token(token, _TOKEN_MAX, "JWT", keys))
    if not _text(claims.get("sub")) or not _text(claims.get("iss")) or not isinstance(claims.get("vc"), dict):
        raise TokenError("malformed")
    for name in ("iat", "nbf", "exp"):
        if type(claims.get(name)) is not int:
            raise TokenError("malformed")
    now = int(time.time() if now is None else now)
    if claims["iss"] != issuer:
        raise TokenError("wrong_issuer")
    if now >= claims["exp"]:
        raise TokenError("expired")
    if now + _LEEWAY < claims["nbf"]:
        raise TokenError("not_yet_valid")
    return claims


def open_token(token: str, most: int, kind: str, keys: Mapping[str, Any]) -> bytes:
    """Check form, key and signature of a token of one typ; return the bytes of what it says."""
    parts = token.split(".") if isinstance(token, str) and len(token) <= most else []
    if len(parts) != 3:
        raise TokenError("malformed")
    first, payload, signature = (_segment(part) for part in parts)
    header = _object(first)
    if set(header) != {"alg", "typ", "kid"} or header["alg"] != "ES256" or header["typ"] != kind or not _text(header["kid"]):
        raise TokenError("malformed")
    point = _find(keys, header["kid"])
    if len(signature) != 64:
        raise TokenError("malformed")
    if not verify_p256(point, (parts[0] + "." + parts[1]).encode("ascii"), signature):
        raise TokenError("bad_signature")
    return payload


def _text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _segment(text: str) -> bytes:
    if not _SEGMENT.match(text) or len(text) % 4 == 1:
        raise TokenError("malformed")
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if base64.urlsafe_b64encode(raw).decode().rstrip("=") != text:  # Bits behind the last byte.
        raise TokenError("malformed")
    return raw


def _object(raw: bytes) -> Dict[str, Any]:
    try:
        value = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        raise TokenError("malformed") from None
    if not isinstance(value, dict):
        raise TokenError("malformed")
    return value


def _find(keys: Mapping[str, Any], kid: str) -> Tuple[int, int]:
    for key in keys.get("keys", []):
        if key.get("kid") == kid and key.get("kty") == "EC" and key.get("crv") == "P-256":
            try:
                x, y = _segment(key["x"]), _segment(key["y"])
            except (KeyError, TypeError, TokenError):
                break
            point = (int.from_bytes(x, "big"), int.from_bytes(y, "big"))
            if len(x) == len(y) == 32 and max(point) < _P and (point[1] ** 2 - point[0] ** 3 + 3 * point[0] - _B) % _P == 0:
                return point
            break
    raise TokenError("unknown_key")


def verify_p256(point: Tuple[int, int], message: bytes, signature: bytes) -> bool:
    """ECDSA with SHA-256 over P-256: point (x, y) on the curve, signature r then s."""
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    if not (0 < r < _N and 0 < s < _N):
        return False
    digest = int.from_bytes(hashlib.sha256(message).digest(), "big")
    inverse = pow(s, -1, _N)
    x, _, z = _two_products(digest * inverse % _N, _G, r * inverse % _N, (point[0], point[1], 1))
    if z == 0:
        return False
    return bool(x * pow(z, -2, _P) % _P % _N == r)


def _two_products(u: int, a: _Point, v: int, b: _Point) -> _Point:
    """u*a + v*b, bit by bit for both at once (Straus)."""
    table, total = (_INFINITY, a, b, _add(a, b)), _INFINITY
    for bit in range(255, -1, -1):
        total = _double(total)
        choice = (u >> bit & 1) | (v >> bit & 1) << 1
        if choice:
            total = _add(total, table[choice])
    return total


def _double(point: _Point) -> _Point:
    """In Jacobian coordinates: (X, Y, Z) stands for (X/Z^2, Y/Z^3), Z = 0 for infinity."""
    x, y, z = point
    if z == 0 or y == 0:
        return _INFINITY
    square = y * y % _P
    s = 4 * x * square % _P
    m = 3 * (x - z * z) * (x + z * z) % _P
    x2 = (m * m - 2 * s) % _P
    return x2, (m * (s - x2) - 8 * square * square) % _P, 2 * y * z % _P


def _add(one: _Point, two: _Point) -> _Point:
    if one[2] == 0:
        return two
    if two[2] == 0:
        return one
    x1, y1, z1 = one
    x2, y2, z2 = two
    u1, u2 = x1 * z2 * z2 % _P, x2 * z1 * z1 % _P
    s1, s2 = y1 * z2**3 % _P, y2 * z1**3 % _P
    if u1 == u2:
        return _double(one) if s1 == s2 else _INFINITY
    h, r = (u2 - u1) % _P, (s2 - s1) % _P
    square, cube = h * h % _P, h**3 % _P
    x3 = (r * r - cube - 2 * u1 * square) % _P
    return x3, (r * (u1 * square - x3) - s1 * cube) % _P, h * z1 * z2 % _P
