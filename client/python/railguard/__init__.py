"""Calls Railguard. Standard library only; Python 3.9 or later.

Every call that changes something carries an Idempotency-Key, fails over between
addresses and is made again by what X-Railguard-Outcome says. Requests and answers
are dicts with the members of docs/API.md. Money is int or decimal.Decimal, never
float. A Client may be used by many threads at once.
"""

from .client import Client, RailguardError, new_key
from .money import parse_usd
from .pay import build_pay, pay_hash
from .permit import FirstUses, PermitError, PermitKeys, verify_permit
from .proof import sign_proof
from .status import StatusError, Verifier, verify_status
from .verify import TokenError, verify_token
from .webhook import WebhookError, verify_webhook

__all__ = [
    "Client", "FirstUses", "PermitError", "PermitKeys", "RailguardError", "StatusError", "TokenError", "Verifier", "WebhookError",
    "build_pay", "new_key", "parse_usd", "pay_hash", "sign_proof", "verify_permit", "verify_status", "verify_token", "verify_webhook",
]
