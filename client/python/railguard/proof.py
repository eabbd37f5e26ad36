"""Proves that a request is of whoever has an agent's private key.

The standard library signs with neither Ed25519 nor P-256, and private numbers need code
that takes the same time for all of them: so the key stays in a library or a security
module of yours, and sign_proof is given a function.
"""

import base64
import hashlib
import json
import re
import time
from decimal import Decimal
from typing import Any, Callable, Mapping, Optional

_ID = re.compile(r"[A-Za-z0-9_-]{16,64}\Z", re.ASCII)
_DIGITS = 15  # JavaScript's numbers keep that many.
_POWER = 300


def sign_proof(
    sign: Callable[[bytes], bytes], alg: str, request: Mapping[str, Any], audience: str, key: str, act: str = "screen", now: Optional[float] = None
) -> str:
    """Make the proof of a request, which goes into its member proof.

    sign takes bytes and returns their signature: for alg "EdDSA" of Ed25519, for "ES256"
    of P-256 with SHA-256, as DER or as r then s. With the package cryptography that is
    key.sign, or lambda data: key.sign(data, ec.ECDSA(hashes.SHA256())). request is the
    dict that is then sent, audience the public URL of the service, key the call's
    Idempotency-Key (new_key draws one), act screen, dry_run, x402 or confirm:txn_...
    now is in Unix seconds. A proof is good for two minutes, unless the policy says otherwise.
    """
    if alg not in ("EdDSA", "ES256"):
        raise ValueError("alg is EdDSA or ES256")
    if not isinstance(key, str) or not _ID.match(key):
        raise ValueError("the key of a proven call has 16 to 64 of A-Z, a-z, 0-9, - and _")
    digest = hashlib.sha256(canonical({name: value for name, value in request.items() if name != "proof"}).encode()).digest()
    claims = '{"aud":%s,"act":%s,"iat":%d,"jti":"%s","rqh":"%s"}' % (
        _quoted(audience), _quoted(act), int(time.time() if now is None else now), key, _segment(digest),
    )
    signed = _segment(b'{"alg":"%s","typ":"railguard-proof+jwt"}' % alg.encode()) + "." + _segment(claims.encode())
    signature = sign(signed.encode())
    if alg == "ES256" and len(signature) != 64:
        signature = _raw(signature)
    if len(signature) != 64:
        raise ValueError("a signature has 64 bytes")
    return signed + "." + _segment(signature)


def key_of(request: Mapping[str, Any]) -> Optional[str]:
    """The Idempotency-Key of a request: the one of its proof; None: it has none."""
    proof = request.get("proof")
    parts = proof.split(".") if isinstance(proof, str) else []
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:
        return None
    return claims.get("jti") if isinstance(claims, dict) else None


def canonical(value: Any) -> str:
    """Canonical JSON (RFC 8785) of what Client sends for a value."""
    if isinstance(value, dict):
        members = sorted(((str(name), inner) for name, inner in value.items() if inner is not None), key=lambda member: member[0].encode("utf-16-be"))
        return "{" + ",".join(_quoted(name) + ":" + canonical(inner) for name, inner in members) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(canonical(inner) for inner in value) + "]"
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, (int, Decimal)):
        return _number(Decimal(value))
    raise TypeError("%s cannot be sent; money is int or Decimal" % type(value).__name__)


def _quoted(text: str) -> str:
    text.encode()  # A surrogate without its other half is an error.
    return json.dumps(text, ensure_ascii=False)


def _number(value: Decimal) -> str:
    """A number as ECMAScript writes it. Up to 15 digits that changes no value."""
    negative, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError("not a number")
    text = "".join(map(str, digits)).lstrip("0")
    power = len(text) + exponent  # The value is 0.TEXT times ten to that power.
    text = text.rstrip("0")
    if not text:
        return "0"
    if len(text) > _DIGITS or abs(power) > _POWER:
        raise ValueError("a number of a proven request has at most %d digits" % _DIGITS)
    sign = "-" if negative else ""
    if power > 21 or power <= -6:
        return sign + text[0] + ("." + text[1:] if len(text) > 1 else "") + "e%+d" % (power - 1)
    if power <= 0:
        return sign + "0." + "0" * -power + text
    if power < len(text):
        return sign + text[:power] + "." + text[power:]
    return sign + text + "0" * (power - len(text))


def _segment(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _raw(der: bytes) -> bytes:
    """r then s of an ECDSA signature in DER."""
    if len(der) < 8 or der[0] != 0x30 or der[1] != len(der) - 2:
        raise ValueError("not a signature of P-256")
    numbers, at = b"", 2
    for _ in range(2):
        if at + 2 > len(der) or der[at] != 0x02:
            raise ValueError("not a signature of P-256")
        end = at + 2 + der[at + 1]
        number = der[at + 2 : end].lstrip(b"\0")
        if end > len(der) or len(number) > 32:
            raise ValueError("not a signature of P-256")
        numbers, at = numbers + number.rjust(32, b"\0"), end
    if at != len(der):
        raise ValueError("not a signature of P-256")
    return numbers
