"""The calls, and what becomes of those that fail."""

import http.client
import random
import secrets
import socket
import ssl
import time
from urllib.parse import quote, urlencode, urlsplit

from .money import decode, encode
from .proof import key_of

_ANSWER_MAX = 16 << 20
_BACKOFF_FIRST = 0.1
_BACKOFF_MOST = 2.0
_RETRY_AFTER_MAX = 24 * 60 * 60


class RailguardError(Exception):
    """Why a call failed.

    status           HTTP status; 0 without an answer
    code             compare this; unreachable, no_answer and bad_answer are the client's own
    message, param, details, request_id, txn_id
    outcome          "none", or "unknown": make the call again with idempotency_key, or do not pay
    retry_after      seconds that the service asked for, or 0
    attempts         how often the call was made
    idempotency_key  of the call
    body             the whole answer as a dict: a conflict says what stands
    """

    def __init__(self, status, code, message="", outcome="none", body=None, request_id="", retry_after=0):
        body = body or {}
        self.status, self.code, self.message, self.outcome = status, code, message, outcome
        self.param, self.details = body.get("param") or "", body.get("details") or []
        self.request_id, self.txn_id = body.get("requestId") or request_id, body.get("txnId") or ""
        self.retry_after, self.body = retry_after, body
        self.attempts, self.idempotency_key = 1, ""
        super().__init__("%s (%d): %s, outcome %s" % (code, status, message, outcome))

    def _again(self):
        return self.status == 0 or self.status >= 500 or self.status == 429 or self.code in ("bad_answer", "idempotency_in_flight")


def new_key():
    """Draw an Idempotency-Key. Store it before the first attempt of what must survive a restart."""
    return "rgc_" + secrets.token_hex(16)


class Client:
    """Calls a cluster: any node serves every call.

    addresses        ["https://a.example", ...]
    key              API key
    attempts         how often a call is made at most
    attempt_timeout  seconds for one attempt's connection and each of its reads
    deadline         seconds for a call with all its attempts
    context          an ssl.SSLContext, for authorities of your own
    wait, jitter     for tests: sleeps a number of seconds; draws from 0 to 1
    """

    def __init__(self, addresses, key, attempts=8, attempt_timeout=5.0, deadline=20.0, context=None, wait=time.sleep, jitter=random.random):
        if isinstance(addresses, str) or not addresses:
            raise ValueError("addresses is a list with at least one address")
        self._addresses = [_Address(a) for a in addresses]
        self._key, self._attempts, self._attempt_timeout, self._deadline = key, attempts, attempt_timeout, deadline
        self._context = context or (ssl.create_default_context() if any(a.secure for a in self._addresses) else None)
        self._wait, self._jitter = wait, jitter
        self._at = 0

    # The integrator's flow. Each takes idempotency_key; without one it draws one.

    def register(self, agent, idempotency_key=None):
        return self._post("/v1/agents/register", agent, idempotency_key)

    def delegate(self, child, idempotency_key=None):
        return self._post("/v1/delegates/create", child, idempotency_key)

    def screen(self, payment, idempotency_key=None):
        """Decide on one payment. Pay on PROCEED and on nothing else; an exception is not a verdict."""
        return self._post("/v1/screen", payment, idempotency_key or key_of(payment))

    def dry_run(self, payment, idempotency_key=None):
        return self._post("/v1/screen/dry-run", payment, idempotency_key or key_of(payment))

    def settle(self, txn_id, amount=None, rail_ref=None, idempotency_key=None):
        return self._post(_path("/v1/transactions/%s/settle", txn_id), {"amount": amount, "railRef": rail_ref}, idempotency_key)

    def release(self, txn_id, reason, idempotency_key=None):
        return self._post(_path("/v1/transactions/%s/release", txn_id), {"reason": reason}, idempotency_key)

    def confirm(self, txn_id, permit=None, token=None, redeem=None, idempotency_key=None, proof=None):
        """Judge a recorded payment again before it is made. Pay if the answer's "verdict" is PROCEED."""
        body = {"permit": permit, "token": token, "redeem": redeem, "proof": proof}
        return self._post(_path("/v1/transactions/%s/confirm", txn_id), body, idempotency_key or key_of(body))

    def redeem_permit(self, permit, pay=None, idempotency_key=None):
        """Take the leave of a permit, once in the whole cluster. Hand over if the answer's "state" is "redeemed".

        pay is what you are about to let happen, with the members of build_pay. After an
        error, the same key tells whether this call took it.
        """
        return self._post("/v1/permits/redeem", {"permit": permit, "pay": pay}, idempotency_key)

    def review(self, txn_id, disposition, reviewed_by, notes=None, idempotency_key=None):
        body = {"disposition": disposition, "reviewedBy": reviewed_by, "notes": notes}
        return self._post(_path("/v1/reviews/%s", txn_id), body, idempotency_key)

    def attest(self, agent_id, attested_by, note=None, idempotency_key=None):
        return self._post(_path("/v1/agents/%s/attest", agent_id), {"attestedBy": attested_by, "note": note}, idempotency_key)

    def suspend(self, agent_id, reason, idempotency_key=None):
        return self._post(_path("/v1/agents/%s/suspend", agent_id), {"reason": reason}, idempotency_key)

    def reinstate(self, agent_id, reason, idempotency_key=None):
        return self._post(_path("/v1/agents/%s/reinstate", agent_id), {"reason": reason}, idempotency_key)

    def revoke(self, agent_id, reason, reason_code=None, idempotency_key=None):
        return self._post(_path("/v1/agents/%s/revoke", agent_id), {"reason": reason, "reasonCode": reason_code}, idempotency_key)

    def audit(self, txn_id):
        return self.call("GET", _path("/v1/audit/%s", txn_id))

    def limits(self, agent_id):
        return self.call("GET", _path("/v1/agents/%s/limits", agent_id))

    # Who was paid, what waits for an officer, who works on it, and what was decided. For an institution's
    # own tools: role reviewer, or auditor to read, and a key without an operator's scope.

    def parties(self, state=None, q=None, limit=None, cursor=None):
        """Counterparties with what they hit: those with open work, or with state "all" every one."""
        return self._read("/v1/parties", state=state, q=q, limit=limit, cursor=cursor)

    def party(self, party_id):
        """Everything about one party: paid, tried, waiting, decided and closed."""
        return self.call("GET", _path("/v1/parties/%s", party_id))

    def decide_party(self, party_id, disposition, reviewed_by, notes=None, only=None, idempotency_key=None):
        """One decision about all open reviews of a party, or about only those transactions.

        Each stands in its own record: look at every one of the answer's "results".
        """
        body = {"disposition": disposition, "reviewedBy": reviewed_by, "notes": notes, "only": only}
        return self._post(_path("/v1/parties/%s/decide", party_id), body, idempotency_key)

    def inbox(self, kind=None, assignee=None, waits_for_me=None, rule=None, party_id=None, q=None, limit=None, cursor=None):
        """What waits for an officer, the highest rank first."""
        return self._read("/v1/inbox", kind=kind, assignee=assignee, waitsForMe="true" if waits_for_me else None, rule=rule, partyId=party_id, q=q, limit=limit, cursor=cursor)

    def claim_item(self, item_id, assignee, idempotency_key=None):
        """Lease an item of the inbox to a person for ten minutes."""
        return self._post(_path("/v1/inbox/%s/claim", item_id), {"assignee": assignee}, idempotency_key)

    def release_item(self, item_id, by, force=None, idempotency_key=None):
        """Give a claim back. With force it may be somebody else's."""
        return self._post(_path("/v1/inbox/%s/release", item_id), {"by": by, "force": force}, idempotency_key)

    def assign_item(self, item_id, assignee, by=None, idempotency_key=None):
        return self._post(_path("/v1/inbox/%s/assign", item_id), {"assignee": assignee, "by": by}, idempotency_key)

    def comment_item(self, item_id, by, comment, idempotency_key=None):
        return self._post(_path("/v1/inbox/%s/comment", item_id), {"by": by, "comment": comment}, idempotency_key)

    def item_comments(self, item_id):
        """The comments on an item, oldest first."""
        return self.call("GET", _path("/v1/inbox/%s/comments", item_id))["data"]

    def search(self, q):
        """Find by a part of a name in any order, another spelling or an id. The text stands in the body, so that no balancer logs it."""
        return self._persist("POST", "/v1/search", {"q": q}, "", True, time.monotonic() + self._deadline)

    def learning(self, from_=None, to=None):
        """Count the decisions of a period of times or dates; None: of the 30 days that end now."""
        return self._read("/v1/learning", **{"from": from_, "to": to})

    def events(self, after=None, types=None, wait=None, limit=None):
        """What happened behind a cursor (None: the oldest; "latest"): {"data": [...], "nextCursor": ...}.

        types is a list of names or groups ("hold.*"), wait whole seconds, fewer than attempt_timeout.
        """
        return self._read("/v1/events", after=after, types=",".join(types) if types else None, wait=wait, limit=limit)

    def create_webhook(self, webhook, idempotency_key=None):
        """Have events sent to webhook["url"]; the answer has the secret, once. Role admin."""
        return self._post("/v1/webhooks", webhook, idempotency_key)

    def redeliver(self, webhook_id, event_id=None, idempotency_key=None):
        """Have one event sent again, or all that were given up."""
        body = {"eventId": event_id} if event_id else {"all": True}
        return self._post(_path("/v1/webhooks/%s/redeliver", webhook_id), body, idempotency_key)

    def jwks(self):
        """The keys for verify_token. Keep them for an hour; read them again, at most once a minute, for a new kid."""
        return self.call("GET", "/v1/.well-known/jwks.json")

    def status_list(self, path):
        """The text of the status list at a path; a Verifier reads it."""
        return self._persist("GET", path, None, "", True, time.monotonic() + self._deadline, plain=True)

    def health(self):
        return self.call("GET", "/v1/health")

    def batch(self, payments):
        """Decide on up to 256 payments, each by itself.

        A list in order: a verdict (dict) or a RailguardError each. Payments without
        "idempotencyKey" get one, written into them; those with a proof have its. What
        the service could not take is sent again, alone, within attempts and deadline.
        """
        for payment in payments:
            if not payment.get("idempotencyKey") and not payment.get("proof"):
                payment["idempotencyKey"] = new_key()
        end = time.monotonic() + self._deadline
        results, pending, turn = [None] * len(payments), list(range(len(payments))), 0
        while True:
            try:
                told = self._persist("POST", "/v1/screen/batch", {"payments": [payments[i] for i in pending]}, "", True, end)
                given = told.get("results")
                if not isinstance(given, list) or len(given) != len(pending):
                    raise RailguardError(200, "bad_answer", "not a result for each payment", "unknown")
            except RailguardError:
                if turn == 0:
                    raise
                return results
            again = []
            for i, raw in zip(pending, given):
                result = _result(raw)
                if isinstance(result, RailguardError):
                    result.idempotency_key = payments[i].get("idempotencyKey") or key_of(payments[i]) or ""
                    if isinstance(results[i], RailguardError) and results[i].outcome == "unknown":
                        result.outcome = "unknown"
                    if result._again():
                        again.append(i)
                results[i] = result
            pending, turn = again, turn + 1
            if not pending or turn >= self._attempts or not self._pause(self._backoff(turn - 1), end):
                return results

    def call(self, method, path, body=None, idempotency_key=""):
        """Make any call of the API. A POST without a key is never made again after an unknown outcome."""
        repeatable = method == "GET" or method == "POST" and bool(idempotency_key)
        return self._persist(method, path, body, idempotency_key, repeatable, time.monotonic() + self._deadline)

    def _post(self, path, body, key):
        return self.call("POST", path, body, key or new_key())

    def _read(self, path, **given):
        query = urlencode({name: value for name, value in given.items() if value is not None})
        return self.call("GET", path + ("?" + query if query else ""))

    def _persist(self, method, path, body, key, repeatable, end, plain=False):
        # Once an attempt's outcome is unknown, the call's is, until an answer settles
        # it: that a later attempt did nothing says nothing of the first.
        raw = None if body is None else encode(body).encode("utf-8")
        unknown, waits, first, attempt = False, 0, self._at, 0
        while True:
            attempt += 1
            at = (first + attempt - 1) % len(self._addresses)
            try:
                answer = self._attempt(self._addresses[at], method, path, raw, key, end, plain)
                self._at = at
                return answer
            except RailguardError as error:
                failure = error
            if method == "GET":
                failure.outcome = "none"
            blind = failure.outcome == "unknown" and not repeatable
            unknown = unknown or failure.outcome == "unknown"
            if unknown:
                failure.outcome = "unknown"
            failure.attempts, failure.idempotency_key = attempt, key
            if blind or not failure._again() or attempt >= self._attempts or time.monotonic() >= end:
                raise failure
            # Nothing happened there: the next address may be asked at once, each of them once.
            if not unknown and failure.status != 429 and attempt < len(self._addresses):
                continue
            pause = max(failure.retry_after, self._backoff(waits))
            waits += 1
            if not self._pause(pause, end):
                raise failure

    def _backoff(self, waits):
        return min(_BACKOFF_FIRST * 2 ** min(waits, 10), _BACKOFF_MOST) * (0.5 + self._jitter() / 2)

    def _pause(self, seconds, end):
        if end - time.monotonic() <= seconds:
            return False
        self._wait(seconds)
        return True

    def _attempt(self, address, method, path, raw, key, end, plain=False):
        timeout = max(0.001, min(self._attempt_timeout, end - time.monotonic()))
        if address.secure:
            connection = http.client.HTTPSConnection(address.host, address.port, timeout=timeout, context=self._context)
        else:
            connection = http.client.HTTPConnection(address.host, address.port, timeout=timeout)
        try:
            try:
                connection.connect()
            except (OSError, socket.timeout) as cause:
                raise RailguardError(0, "unreachable", "no connection", "none") from cause
            headers = {"Authorization": "Bearer " + self._key}
            if raw is not None:
                headers["Content-Type"] = "application/json"
            if key:
                headers["Idempotency-Key"] = key
            try:
                connection.request(method, address.base + path, raw, headers)
                answer = connection.getresponse()
                text = answer.read(_ANSWER_MAX + 1)
            except (OSError, http.client.HTTPException) as cause:
                raise RailguardError(0, "no_answer", "no answer", "unknown") from cause
        finally:
            connection.close()
        if not 200 <= answer.status <= 299 or len(text) > _ANSWER_MAX:
            raise _refusal(answer.status, text, answer.headers)
        if answer.status == 204:
            return {}
        if plain:
            return text.decode("ascii", "replace")
        try:
            told = decode(text)
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            raise RailguardError(answer.status, "bad_answer", "not a JSON object", "unknown", None, answer.headers.get("X-Request-Id") or "")
        return told


class _Address:
    def __init__(self, address):
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.username is not None:
            raise ValueError("an address is http://host or https://host")
        self.secure, self.host, self.port = parts.scheme == "https", parts.hostname, parts.port
        self.base = parts.path.rstrip("/")


def _path(pattern, identifier):
    return pattern % quote(str(identifier), safe="")


def _result(raw):
    status = raw.get("status") if isinstance(raw, dict) else None
    if status == 200:
        return raw
    if not isinstance(status, int) or status < 400:
        return RailguardError(status if isinstance(status, int) else 0, "bad_answer", "not a result", "unknown")
    return _refusal(status, None, {"X-Railguard-Outcome": raw.get("outcome")}, raw)


def _refusal(status, text, headers, body=None):
    if body is None:
        try:
            body = decode(text)
        except (ValueError, RecursionError):
            body = None
    request_id, after = headers.get("X-Request-Id") or "", headers.get("Retry-After") or ""
    seconds = min(int(after), _RETRY_AFTER_MAX) if after.isascii() and after.isdigit() and len(after) < 10 else 0
    if not isinstance(body, dict) or not isinstance(body.get("code"), str) or not body["code"]:
        return RailguardError(status, "bad_answer", "not an answer of the service", "unknown", None, request_id, seconds)
    settled = status < 500 or status == 503 and headers.get("X-Railguard-Outcome") == "none"
    outcome = "none" if settled and body["code"] != "idempotency_in_flight" else "unknown"
    return RailguardError(status, body["code"], body.get("message") or "", outcome, body, request_id, seconds)
