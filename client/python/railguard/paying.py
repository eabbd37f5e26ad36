"""Pays: screens with a hold, has the money sent, and tells the service what became of it."""

import json
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Union

from .client import Client
from .journal import Journal, JournalError
from .money import encode, format_usd, parse_usd
from .proof import key_of
from .transport import Answer, RailguardError, new_key

_HOLD = 600  # Seconds.
_KEY_MAX = 240  # Characters, so that the keys of settle and release fit too.
_KEY_LIVES = timedelta(hours=24) - timedelta(minutes=10)  # How long a key surely is known.
_CRASHED = "the program ended before it was sent"


class NotSent(Exception):
    """Raised by a send, or a check, that knows for sure that no money moved and none will.

    Any other exception leaves the payment counted.
    """


class Unknown(Exception):
    """Nobody knows whether a payment was sent, so it counts. __cause__ is what send raised."""


class Sent(NamedTuple):
    """What a rail says of a payment that was sent. amount None: the amount that was screened."""

    rail_ref: str = ""
    amount: Union[int, Decimal, None] = None


class Paid:
    """How far a payment came.

    id       its Idempotency-Key
    state    settled, released, refused, or open: not ended, error says why, and resume tries again
    txn_id, rail_ref, reason (why it was not sent)
    verdict  the service's answer; None: it was judged before, or could not be
    """

    def __init__(self, identifier: str, txn_id: str = "") -> None:
        self.id, self.state, self.txn_id = identifier, "open", txn_id
        self.rail_ref, self.reason = "", ""
        self.verdict: Optional[Answer] = None
        self.error: Optional[BaseException] = None


def pay(client: Client, payment: Mapping[str, Any], send: Callable[[Answer], Sent], journal: Journal, idempotency_key: Optional[str] = None) -> Paid:
    """Screen a payment with a hold, have send move the money on a PROCEED, and settle or release it.

    send is given the verdict and returns Sent, or raises NotSent; any other exception means that nobody knows, so
    the payment goes on counting and stays open. Each step stands in the journal before it is made, so that resume
    ends what a crash leaves, and nothing is sent twice.

    It raises if the payment is open; what is refused or released is an answer. A payment that the journal knows is
    not begun again. An officer's approval of a REVIEW is no leave for pay: confirm it. Settle and release need a
    settler's key (Client's settler_key), unless the policy says otherwise.
    """
    identifier = idempotency_key or key_of(payment) or new_key()
    if len(identifier) > _KEY_MAX:
        raise ValueError("the key of a payment has at most %d characters here" % _KEY_MAX)
    hold = payment.get("hold") or {}
    seconds = hold.get("ttlSeconds", _HOLD)
    kept = encode_plain({name: value for name, value in payment.items() if name not in ("token", "hold")})
    journal.begin({"id": identifier, "step": "screen", "holdSeconds": seconds}, kept)
    try:
        one = _Paying(client, journal, Paid(identifier))
        one.make(payment["token"], kept, seconds, send)
        return one.paid
    finally:
        journal.leave(identifier)


def resume(
    client: Client, journal: Journal, check: Callable[[str, str], Sent], token: Optional[Callable[[str], str]] = None
) -> List[Paid]:
    """End what a crash, or an exception of pay, left open; how far each such payment came.

    What was never sent is released, what was is settled. check(id, txn_id) is asked of what may have been: it asks
    the rail, and returns Sent, raises NotSent, or raises something else if it cannot be told; then the payment stays
    open. token(id) returns the token of a payment that was perhaps not screened; the journal holds none. It never
    sends. Payments that a pay of this process works on are left alone.
    """
    all_paid = []
    for line in journal.claim():
        one = _Paying(client, journal, Paid(line["id"], line.get("txnId", "")))
        try:
            one.resume(line, check, token)
        except Exception as error:
            one.paid.error = error
        finally:
            journal.leave(line["id"])
        all_paid.append(one.paid)
    return all_paid


def encode_plain(value: Any) -> str:
    """JSON as JSON.stringify writes it: characters beyond ASCII stand as they are."""
    if isinstance(value, dict):
        return "{" + ",".join(json.dumps(str(k), ensure_ascii=False) + ":" + encode_plain(v) for k, v in value.items() if v is not None) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(encode_plain(v) for v in value) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else encode(value)


def screening_body(token: str, members: str, seconds: int) -> bytes:
    """The body of a screening call from the members that a journal keeps: to the byte the same whenever it is sent."""
    inner = members.strip()[1:-1].strip()
    return ('{"token":%s,%s"hold":{"ttlSeconds":%d}}' % (json.dumps(token, ensure_ascii=False), inner + "," if inner else "", seconds)).encode("utf-8")


class _Paying:
    """One payment under way."""

    def __init__(self, client: Client, journal: Journal, paid: Paid) -> None:
        self._client, self._journal, self.paid = client, journal, paid

    def make(self, token: str, kept: str, seconds: int, send: Callable[[Answer], Sent]) -> None:
        self._screen(token, kept, seconds, first=True)
        if self.paid.state == "refused":
            return
        assert self.paid.verdict is not None
        verdict = self.paid.verdict
        self._note("send", txnId=self.paid.txn_id)
        self._told(lambda: send(verdict))

    def _note(self, step: str, **members: Any) -> None:
        self._journal.append({"id": self.paid.id, "step": step, **members})

    def _screen(self, token: str, kept: str, seconds: int, first: bool = False) -> None:
        """Ask for the verdict, and end a payment that has no leave."""
        try:
            verdict = self._client.call("POST", "/v1/screen", screening_body(token, kept, seconds), self.paid.id)
        except RailguardError as error:
            if error.outcome == "none" and not error._again():
                self._end("refused")  # It was not recorded, and will not be.
            raise
        if not verdict.get("txnId") or not verdict.get("verdict"):
            raise RailguardError(200, "bad_answer", "a verdict without an id", "unknown")
        if first and verdict.replayed and verdict.attempts == 1:
            self._end("refused")
            raise JournalError("known", "the key was used before, by another program or journal: nothing is sent")
        self.paid.verdict, self.paid.txn_id = verdict, verdict["txnId"]
        self._note("verdict", verdict=verdict["verdict"], txnId=verdict["txnId"])
        if verdict["verdict"] != "PROCEED":
            self._end("refused")

    def _told(self, ask: Callable[[], Sent]) -> None:
        """Go on with what send, or a check, says of the money."""
        try:
            sent = ask()
            if not isinstance(sent, Sent):
                raise TypeError("send returns Sent")
        except NotSent as error:
            reason = str(error)
            self._note("notSent", reason=reason)
            self._release(reason)
            return
        except Exception as error:
            raise Unknown("nobody knows whether the payment was sent, so it counts: %s" % error) from error
        line: Dict[str, Any] = {"railRef": sent.rail_ref}
        if sent.amount is not None:
            line["amount"] = format_usd(sent.amount)
        self._note("sent", **line)
        self._settle(sent)

    def _settle(self, sent: Sent) -> None:
        self.paid.rail_ref = sent.rail_ref
        self._client.settle(self.paid.txn_id, sent.amount, sent.rail_ref or None, idempotency_key=self.paid.id + ".settle")
        self._end("settled")

    def _release(self, reason: str) -> None:
        self.paid.reason = reason or "not sent"
        try:
            self._client.release(self.paid.txn_id, self.paid.reason, idempotency_key=self.paid.id + ".release")
        except RailguardError as error:
            # Refused because nothing counts any more.
            if error.code != "invalid_transition" or error.body.get("state") not in ("expired", "released"):
                raise
        self._end("released")

    def _end(self, state: str) -> None:
        self._note("end", state=state)
        self.paid.state = state

    def resume(self, line: Dict[str, Any], check: Callable[[str, str], Sent], token: Optional[Callable[[str], str]]) -> None:
        step = line["step"]
        if step == "screen":
            if token is None:
                raise TypeError("resume needs token for a payment that was perhaps not screened")
            began = datetime.fromisoformat(line["at"].replace("Z", "+00:00"))
            if datetime.now(timezone.utc) - began > _KEY_LIVES:
                raise ValueError("the service has forgotten the payment's key: look for it in the audit")
            self._screen(token(line["id"]), line["payment"], line["holdSeconds"])
            if self.paid.state != "refused":
                self._release(_CRASHED)
        elif step == "verdict" and line["verdict"] != "PROCEED":
            self._end("refused")
        elif step == "verdict":
            self._release(_CRASHED)
        elif step == "send":
            self._told(lambda: check(line["id"], line["txnId"]))
        elif step == "sent":
            amount = parse_usd(line["amount"]) if line.get("amount") is not None else None
            self._settle(Sent(line["railRef"], amount))
        else:
            self._release(line.get("reason") or "")
