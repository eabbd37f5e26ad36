"""Calls Railguard. Standard library only; Python 3.9 or later.

Every call that changes something carries an Idempotency-Key, fails over between
addresses and is made again by what X-Railguard-Outcome says. Requests and answers
are dicts with the members of docs/API.md. Money is int or decimal.Decimal, never
float. A Client may be used by many threads at once.
"""

from .client import Client
from .journal import Journal, JournalError, JournalStore
from .money import parse_usd
from .paying import NotSent, Paid, Sent, Unknown, pay, resume
from .permit import FirstUses, PermitError, PermitKeys, verify_permit
from .proof import sign_proof
from .statement import build_pay, pay_hash
from .status import StatusError, Verifier, verify_status
from .transport import Answer, RailguardError, new_key
from .verify import TokenError, verify_token
from .webhook import WebhookError, verify_webhook

__all__ = [
    "Answer", "Client", "FirstUses", "Journal", "JournalError", "JournalStore", "NotSent", "Paid", "PermitError", "PermitKeys", "RailguardError", "Sent",
    "StatusError", "TokenError", "Unknown", "Verifier", "WebhookError",
    "build_pay", "new_key", "parse_usd", "pay", "pay_hash", "resume", "sign_proof", "verify_permit", "verify_status", "verify_token", "verify_webhook",
]  # fmt: skip
