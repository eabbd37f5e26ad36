"""Money and JSON without floats."""

import json
import re
from decimal import Decimal
from typing import Any, Union

_LITERAL = re.compile(r"(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?\Z", re.ASCII)
_MICRO = Decimal("0.000001")


def parse_usd(text: str) -> Decimal:
    """Read an amount from 0 to 1e12 dollars; more than six decimals are rounded up."""
    if not isinstance(text, str) or len(text) > 64 or not _LITERAL.match(text):
        raise ValueError("not an amount from 0 to 1e12 dollars")
    import decimal

    with decimal.localcontext() as context:
        context.prec, context.rounding = 200, decimal.ROUND_CEILING
        amount = Decimal(text)
        if amount > Decimal(10) ** 12 or amount.adjusted() > 12:
            raise ValueError("not an amount from 0 to 1e12 dollars")
        amount = amount.quantize(_MICRO)
    return amount


def format_usd(amount: Union[int, str, Decimal]) -> str:
    """The shortest decimal: "100", "0.1"."""
    text = format(Decimal(amount), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def encode(value: Any) -> str:
    """JSON of dicts, lists, strings, ints, Decimals, bools and None. A float is a TypeError."""
    if value is None or isinstance(value, (bool, str)):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError("not a number")
        return format_usd(value)
    if isinstance(value, dict):
        return "{" + ",".join(json.dumps(str(k)) + ":" + encode(v) for k, v in value.items() if v is not None) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(encode(v) for v in value) + "]"
    raise TypeError("%s cannot be sent; money is int or Decimal" % type(value).__name__)


def decode(raw: bytes) -> Any:
    """Read JSON; numbers with a fraction become Decimal."""
    return json.loads(raw.decode("utf-8"), parse_float=Decimal)
