"""What a payment is, as a permit states it."""

import base64
import hashlib
import json
import re
import unicodedata
from decimal import Decimal
from typing import Any, Dict, List, Mapping, Sequence

from .money import format_usd, parse_usd

_MEMBERS = {"amount", "asset", "chain", "currency", "nonce", "payee", "payeeIds", "payer", "rail", "ref", "units"}
_GIVEN = {"amount", "asset", "chain", "identifiers", "name", "nonce", "payee", "payer", "rail", "ref", "units"}
_EVM = re.compile(r"0[xX][0-9a-fA-F]{40}\Z", re.ASCII)
_HEX = re.compile(r"0[xX][0-9a-fA-F]+\Z", re.ASCII)
_UNITS = re.compile(r"(0|[1-9][0-9]*)\Z", re.ASCII)
_LOWER = {ord(c): ord(c) + 32 for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_UPPER = {small: large for large, small in _LOWER.items()}
# The characters of Unicode's property White_Space.
_BLANKS = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_SIGNS = " \t\r\n\"'<>,;"
# Words that people write before a number.
_WRITTEN = {"iban": ("IBAN",), "imo": ("IMONO", "IMO"), "mmsi": ("MMSI",), "lei": ("LEI",), "duns": ("DUNS",)}
_DOCUMENTS = {"bic", "tax_id", "registration", "national_id", "passport", "aircraft_tail", "account", *_WRITTEN}


def build_pay(paying: Mapping[str, Any], jti: str) -> Dict[str, Any]:
    """Build the statement of what you are about to pay, a dict in the words of the screening request:

    amount (int, Decimal or decimal text; more than six decimals are rounded up), chain, rail, payee and payer
    (wallets), ref (paymentRef), for x402 asset (CAIP-19), units and nonce. Without a payee's wallet name, or
    identifiers ([{"type": ..., "value": ...}]). jti is that of the permit, the payment's txnId: it salts the hashes of
    name and identifiers. What was not told when the payment was screened must not be told here.
    """
    unknown = set(paying) - _GIVEN
    if unknown:
        raise ValueError("no member of a payment: " + ", ".join(sorted(unknown)))
    texts = {}
    for name in _GIVEN - {"amount", "identifiers"}:
        texts[name] = paying.get(name) or ""
        if not isinstance(texts[name], str):
            raise TypeError(name + " is a text")
    if texts["units"] and not _UNITS.match(texts["units"]):
        raise ValueError("units are a whole number")
    pay: Dict[str, Any] = {
        "amount": _amount(paying.get("amount")), "currency": "USD", "chain": texts["chain"].translate(_UPPER), "rail": texts["rail"].translate(_UPPER),
        "payee": _wallet(texts["payee"]), "payer": _wallet(texts["payer"]), "ref": texts["ref"], "units": texts["units"],
        "asset": texts["asset"].translate(_LOWER) if texts["asset"].startswith("eip155:") else texts["asset"],
        "nonce": texts["nonce"].translate(_LOWER) if _HEX.match(texts["nonce"]) else texts["nonce"],
    }
    if not pay["payee"]:
        pay["payeeIds"] = _payee_ids(texts["name"], paying.get("identifiers") or [], jti)
    return {name: value for name, value in pay.items() if value}


def pay_hash(pay: Mapping[str, Any]) -> str:
    """The value that binds a payment: b64url(SHA-256(JCS(pay)))."""
    return hash_of(pay)


def hash_of(pay: Any) -> str:
    if not isinstance(pay, dict) or not pay or set(pay) - _MEMBERS:
        raise TypeError("a payment's statement is a dict of its members alone")
    for name, value in pay.items():
        texts = value if name == "payeeIds" and isinstance(value, list) else [value]
        if name == "payeeIds" and texts is not value or not all(isinstance(text, str) for text in texts):
            raise TypeError(name + " is a text, or of payeeIds a list of texts")
    # With texts alone this is RFC 8785.
    return _b64(hashlib.sha256(json.dumps(pay, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode("utf-8")).digest())


def _b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")


def _amount(amount: Any) -> str:
    if isinstance(amount, (int, Decimal)) and not isinstance(amount, bool):
        amount = format(amount, "f") if isinstance(amount, Decimal) else str(amount)
    if not isinstance(amount, str):
        raise TypeError("amount is int, Decimal or decimal text")
    return format_usd(parse_usd(amount))


def _wallet(text: str) -> str:
    """Addresses of EVM chains and in bech32 in lower case; those in base58 stay as they are."""
    return text.translate(_LOWER) if _EVM.match(text) or text.startswith("BC1") else text


def _payee_ids(name: str, identifiers: Sequence[Mapping[str, str]], jti: str) -> List[str]:
    name = unicodedata.normalize("NFC", name.strip(_BLANKS))
    known = [("name", name)] if name else []
    known += [(one["type"], _form(one["type"], one["value"])) for one in identifiers]
    if not known:
        raise ValueError("a payment without a payee: it would be any payee's")
    return sorted(_b64(hashlib.sha256(("%s\n%s\n%s" % (jti, kind, value)).encode("utf-8")).digest()) for kind, value in known)


def _form(kind: str, text: str) -> str:
    """The normal form of an identifier, in which two spellings are the same. It reads ASCII alone."""
    if not text.isascii():
        raise ValueError("not an identifier in ASCII")
    if kind == "email":
        form = _email(text)
    elif kind == "website":
        form = _host(_host_of(text))
    elif kind == "phone":
        form = _phone(text)
    elif kind in _DOCUMENTS:
        form = _document(kind, text)
    else:
        raise ValueError("not a type of identifier")
    if not form:
        raise ValueError("not an identifier in ASCII")
    return form


def _document(kind: str, text: str) -> str:
    """Letters and digits, in upper case. A BIC of a main office has eleven characters."""
    form = re.sub("[^A-Za-z0-9]", "", text).upper()
    for word in _WRITTEN.get(kind, ()):
        rest = form[len(word):]
        if form.startswith(word) and rest and (rest[0] <= "9" or len(form) > 15):
            form = rest
    if kind == "bic" and len(form) == 12:  # The ninth character is a terminal's.
        form = form[:8] + form[9:]
    elif kind == "bic" and len(form) == 8:
        form += "XXX"
    return form


def _email(text: str) -> str:
    """An address as people write it, with a name before it or "mailto:"."""
    text = text.strip(_SIGNS)
    if "<" in text:
        text = text[text.rindex("<"):].strip(_SIGNS)
    if len(text) > 7 and text[:7].lower() == "mailto:":
        text = text[7:]
    if text.find("?") > 0:
        text = text[:text.index("?")]
    local, _, host = text.rpartition("@")
    host = _host(host)
    if not local or not host:
        return ""
    return re.sub("[\x00-\x20]", "", local).lower() + "@" + ("gmail.com" if host == "googlemail.com" else host)


def _host_of(text: str) -> str:
    """The host of an address of the web."""
    text = text.strip(_SIGNS)
    if re.match(r"[^:]+:[/\\]", text):
        text = text[text.index(":") + 1:].lstrip("/\\")
    text = re.split(r"[/\\?#]", text.lstrip("/\\ "), maxsplit=1)[0]
    text = text[text.rfind("@") + 1:]
    return text[:text.index(":")] if text.count(":") == 1 else text


def _host(host: str) -> str:
    form = re.sub(r"[\x00-\x20\[\]()]", "", host.lower()).rstrip(".")
    return form[4:] if form.startswith("www.") and form.find(".", 4) > 4 else form


def _phone(text: str) -> str:
    """The digits of a telephone number (E.164), without "(0)", "00" and an extension."""
    form, at = "", 0
    while at < len(text):
        if form and text.startswith("(0)", at):
            at += 3
            continue
        if text[at].isdigit():
            form += text[at]
        elif len(form) > 5 and text[at] in "xXeE#;":
            break
        at += 1
    return form[2:] if len(form) > 2 and form.startswith("00") else form
