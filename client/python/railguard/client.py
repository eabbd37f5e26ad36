"""The calls, and what becomes of those that fail."""

import random
import ssl
import time
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union
from urllib.parse import parse_qsl, quote, urlencode

from .duplex import Duplex
from .money import decode, encode
from .proof import key_of
from .stream import WINDOW, Stream
from .transport import ANSWER_MAX, Address, Answer, RailguardError, new_key, refusal, result

_BACKOFF_FIRST = 0.1
_BACKOFF_MOST = 2.0
Members = Mapping[str, Any]


class Client:
    """Calls a cluster: any node serves every call.

    addresses        ["https://a.example", ...]
    key              API key
    settler_key      API key of settle and release, of the role settler; None: key
    attempts         how often a call is made at most
    attempt_timeout  seconds for one attempt's connection and each of its reads
    deadline         seconds for a call with all its attempts
    context          an ssl.SSLContext, for authorities of your own
    wait, jitter     for tests: sleeps a number of seconds; draws from 0 to 1
    """

    def __init__(
        self,
        addresses: Sequence[str],
        key: str,
        attempts: int = 8,
        attempt_timeout: float = 5.0,
        deadline: float = 20.0,
        context: Optional[ssl.SSLContext] = None,
        wait: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
        settler_key: Optional[str] = None,
    ) -> None:
        if isinstance(addresses, str) or not addresses:
            raise ValueError("addresses is a list with at least one address")
        self._addresses = [Address(a) for a in addresses]
        self._key, self._attempts, self._attempt_timeout, self._deadline = key, attempts, attempt_timeout, deadline
        self._settler_key = settler_key or key
        self._context = context or (ssl.create_default_context() if any(a.secure for a in self._addresses) else None)
        self._wait, self._jitter = wait, jitter
        self._at = 0
        self._headers: Dict[str, str] = {}

    def close(self) -> None:
        """Close the connections that wait for a next call. The client may be used on."""
        for address in self._addresses:
            address.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def sending(self, if_match: Optional[str] = None, min_index: Optional[int] = None, strict: bool = False, headers: Optional[Mapping[str, str]] = None) -> "Client":
        """The same client, whose calls send these headers besides: client.sending(min_index=7).limits(agent).

        if_match   change just that version: the etag of an answer
        min_index  answer from nothing older than that entry of the log: the index of an answer
        strict     refuse unknown members of a screening call, which are else judged as absent
        headers    any others; the client's own (Authorization, Content-Type, Idempotency-Key) stay
        """
        other = object.__new__(Client)
        other.__dict__.update(self.__dict__)
        other._headers = dict(self._headers)
        if if_match is not None:
            other._headers["If-Match"] = if_match
        if min_index is not None:
            other._headers["X-Railguard-Min-Index"] = str(min_index)
        if strict:
            other._headers["X-Railguard-Strict"] = "true"
        own = {"authorization", "content-type", "idempotency-key"}
        other._headers.update({name: value for name, value in (headers or {}).items() if name.lower() not in own})
        return other

    # The integrator's flow. Each takes idempotency_key; without one it draws one.

    def register(self, agent: Members, idempotency_key: Optional[str] = None) -> Answer:
        return self._post("/v1/agents/register", agent, idempotency_key)

    def delegate(self, child: Members, idempotency_key: Optional[str] = None) -> Answer:
        return self._post("/v1/delegates/create", child, idempotency_key)

    def screen(self, payment: Members, idempotency_key: Optional[str] = None) -> Answer:
        """Decide on one payment. Pay on PROCEED and on nothing else; an exception is not a verdict."""
        return self._post("/v1/screen", payment, idempotency_key or key_of(payment))

    def dry_run(self, payment: Members, idempotency_key: Optional[str] = None) -> Answer:
        return self._post("/v1/screen/dry-run", payment, idempotency_key or key_of(payment))

    def settle(self, txn_id: str, amount: Any = None, rail_ref: Optional[str] = None, idempotency_key: Optional[str] = None) -> Answer:
        return self._post(_path("/v1/transactions/%s/settle", txn_id), {"amount": amount, "railRef": rail_ref}, idempotency_key, self._settler_key)

    def release(self, txn_id: str, reason: str, idempotency_key: Optional[str] = None) -> Answer:
        return self._post(_path("/v1/transactions/%s/release", txn_id), {"reason": reason}, idempotency_key, self._settler_key)

    def confirm(
        self, txn_id: str, permit: Optional[Members] = None, token: Optional[str] = None, redeem: Optional[bool] = None, idempotency_key: Optional[str] = None, proof: Optional[str] = None
    ) -> Answer:
        """Judge a recorded payment again before it is made. Pay if the answer's "verdict" is PROCEED."""
        body = {"permit": permit, "token": token, "redeem": redeem, "proof": proof}
        return self._post(_path("/v1/transactions/%s/confirm", txn_id), body, idempotency_key or key_of(body))

    def redeem_permit(self, permit: str, pay: Optional[Members] = None, idempotency_key: Optional[str] = None) -> Answer:
        """Take the leave of a permit, once in the whole cluster. Hand over if the answer's "state" is "redeemed".

        pay is what you are about to let happen, with the members of build_pay. After an
        error, the same key tells whether this call took it.
        """
        return self._post("/v1/permits/redeem", {"permit": permit, "pay": pay}, idempotency_key)

    def review(self, txn_id: str, disposition: str, reviewed_by: str, notes: Optional[str] = None, idempotency_key: Optional[str] = None) -> Answer:
        body = {"disposition": disposition, "reviewedBy": reviewed_by, "notes": notes}
        return self._post(_path("/v1/reviews/%s", txn_id), body, idempotency_key)

    def attest(self, agent_id: str, attested_by: str, note: Optional[str] = None, idempotency_key: Optional[str] = None) -> Answer:
        return self._post(_path("/v1/agents/%s/attest", agent_id), {"attestedBy": attested_by, "note": note}, idempotency_key)

    def suspend(self, agent_id: str, reason: str, idempotency_key: Optional[str] = None) -> Answer:
        return self._post(_path("/v1/agents/%s/suspend", agent_id), {"reason": reason}, idempotency_key)

    def reinstate(self, agent_id: str, reason: str, idempotency_key: Optional[str] = None) -> Answer:
        return self._post(_path("/v1/agents/%s/reinstate", agent_id), {"reason": reason}, idempotency_key)

    def revoke(self, agent_id: str, reason: str, reason_code: Optional[str] = None, idempotency_key: Optional[str] = None) -> Answer:
        return self._post(_path("/v1/agents/%s/revoke", agent_id), {"reason": reason, "reasonCode": reason_code}, idempotency_key)

    def audit(self, txn_id: str) -> Answer:
        return self.call("GET", _path("/v1/audit/%s", txn_id))

    def limits(self, agent_id: str) -> Answer:
        return self.call("GET", _path("/v1/agents/%s/limits", agent_id))

    # Who was paid, what waits for an officer, who works on it, and what was decided. For an institution's
    # own tools: role reviewer, or auditor to read, and a key without an operator's scope.

    def parties(self, state: Optional[str] = None, q: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None) -> Answer:
        """Counterparties with what they hit: those with open work, or with state "all" every one."""
        return self._read("/v1/parties", state=state, q=q, limit=limit, cursor=cursor)

    def party(self, party_id: str) -> Answer:
        """Everything about one party: paid, tried, waiting, decided and closed."""
        return self.call("GET", _path("/v1/parties/%s", party_id))

    def decide_party(
        self, party_id: str, disposition: str, reviewed_by: str, notes: Optional[str] = None, only: Optional[Sequence[str]] = None, idempotency_key: Optional[str] = None
    ) -> Answer:
        """One decision about all open reviews of a party, or about only those transactions.

        Each stands in its own record: look at every one of the answer's "results".
        """
        body = {"disposition": disposition, "reviewedBy": reviewed_by, "notes": notes, "only": only}
        return self._post(_path("/v1/parties/%s/decide", party_id), body, idempotency_key)

    def inbox(
        self,
        kind: Optional[str] = None,
        assignee: Optional[str] = None,
        waits_for_me: Optional[bool] = None,
        rule: Optional[str] = None,
        party_id: Optional[str] = None,
        q: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Answer:
        """What waits for an officer, the highest rank first."""
        return self._read("/v1/inbox", kind=kind, assignee=assignee, waitsForMe="true" if waits_for_me else None, rule=rule, partyId=party_id, q=q, limit=limit, cursor=cursor)

    def claim_item(self, item_id: str, assignee: str, idempotency_key: Optional[str] = None) -> Answer:
        """Lease an item of the inbox to a person for ten minutes."""
        return self._post(_path("/v1/inbox/%s/claim", item_id), {"assignee": assignee}, idempotency_key)

    def release_item(self, item_id: str, by: str, force: Optional[bool] = None, idempotency_key: Optional[str] = None) -> Answer:
        """Give a claim back. With force it may be somebody else's."""
        return self._post(_path("/v1/inbox/%s/release", item_id), {"by": by, "force": force}, idempotency_key)

    def assign_item(self, item_id: str, assignee: str, by: Optional[str] = None, idempotency_key: Optional[str] = None) -> Answer:
        return self._post(_path("/v1/inbox/%s/assign", item_id), {"assignee": assignee, "by": by}, idempotency_key)

    def comment_item(self, item_id: str, by: str, comment: str, idempotency_key: Optional[str] = None) -> Answer:
        return self._post(_path("/v1/inbox/%s/comment", item_id), {"by": by, "comment": comment}, idempotency_key)

    def item_comments(self, item_id: str) -> List[Dict[str, Any]]:
        """The comments on an item, oldest first."""
        comments: List[Dict[str, Any]] = self.call("GET", _path("/v1/inbox/%s/comments", item_id))["data"]
        return comments

    def search(self, q: str) -> Answer:
        """Find by a part of a name in any order, another spelling or an id. The text stands in the body, so that no balancer logs it."""
        found: Answer = self._persist("POST", "/v1/search", {"q": q}, "", True, time.monotonic() + self._deadline)
        return found

    def learning(self, from_: Optional[str] = None, to: Optional[str] = None) -> Answer:
        """Count the decisions of a period of times or dates; None: of the 30 days that end now."""
        return self._read("/v1/learning", **{"from": from_, "to": to})

    def events(self, after: Optional[str] = None, types: Optional[Sequence[str]] = None, wait: Optional[int] = None, limit: Optional[int] = None) -> Answer:
        """What happened behind a cursor (None: the oldest; "latest"): {"data": [...], "nextCursor": ...}.

        types is a list of names or groups ("hold.*"), wait whole seconds, fewer than attempt_timeout.
        """
        return self._read("/v1/events", after=after, types=",".join(types) if types else None, wait=wait, limit=limit)

    def create_webhook(self, webhook: Members, idempotency_key: Optional[str] = None) -> Answer:
        """Have events sent to webhook["url"]; the answer has the secret, once. Role admin."""
        return self._post("/v1/webhooks", webhook, idempotency_key)

    def redeliver(self, webhook_id: str, event_id: Optional[str] = None, idempotency_key: Optional[str] = None) -> Answer:
        """Have one event sent again, or all that were given up."""
        body: Members = {"eventId": event_id} if event_id else {"all": True}
        return self._post(_path("/v1/webhooks/%s/redeliver", webhook_id), body, idempotency_key)

    def jwks(self) -> Answer:
        """The keys for verify_token. Keep them for an hour; read them again, at most once a minute, for a new kid."""
        return self.call("GET", "/v1/.well-known/jwks.json")

    def status_list(self, path: str) -> str:
        """The text of the status list at a path; a Verifier reads it."""
        text: str = self._persist("GET", path, None, "", True, time.monotonic() + self._deadline, plain=True)
        return text

    def health(self) -> Answer:
        return self.call("GET", "/v1/health")

    def batch(self, payments: Sequence[Dict[str, Any]]) -> List[Union[Answer, RailguardError]]:
        """Decide on up to 256 payments, each by itself.

        A list in order: a verdict (dict) or a RailguardError each. Payments without
        "idempotencyKey" get one, written into them; those with a proof have its. What
        the service could not take is sent again, alone, within attempts and deadline.
        """
        for payment in payments:
            if not payment.get("idempotencyKey") and not payment.get("proof"):
                payment["idempotencyKey"] = new_key()
        end = time.monotonic() + self._deadline
        results: List[Any] = [None] * len(payments)
        pending, turn = list(range(len(payments))), 0
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
                one = result(raw)
                if isinstance(one, RailguardError):
                    one.idempotency_key = payments[i].get("idempotencyKey") or key_of(payments[i]) or ""
                    if isinstance(results[i], RailguardError) and results[i].outcome == "unknown":
                        one.outcome = "unknown"
                    if one._again():
                        again.append(i)
                results[i] = one
            pending, turn = again, turn + 1
            if not pending or turn >= self._attempts or not self._pause(self._backoff(turn - 1), end):
                return results

    def stream(self, payments: Iterable[Dict[str, Any]], window: int = WINDOW) -> Iterator[Tuple[Dict[str, Any], Union[Answer, RailguardError]]]:
        """Decide on payments as they come, over one open connection (POST /v1/screen/stream).

        Yields each payment once with what batch gives for one, in the order of decision. payments is any iterable;
        a thread reads it, at most window payments ahead of what was yielded. What the service could not take, and
        what a broken connection left unanswered, is sent again with its key, within attempts and deadline. If no
        connection can be had, every payment that was read is yielded with that error, and no more are read. An error
        of payments itself is raised behind the results of those before it.
        """
        return Stream(self, payments, window).run()

    def rows(self, path: str, **query: Any) -> Iterator[Dict[str, Any]]:
        """Walk a list of the API row by row, page by page: client.rows("/v1/agents", status="ACTIVE").

        Every list with "data" and "nextCursor" can be walked. What is None is left out of the query.
        """
        at, _, text = path.partition("?")
        asked = dict(parse_qsl(text))
        asked.update({name: str(value) for name, value in query.items() if value is not None})
        name = "after" if at == "/v1/events" else "cursor"  # The events' list has no last page: an empty one ends it for now.
        while True:
            page = self._read(at, **asked)
            yield from page["data"]
            following = page.get("nextCursor")
            if not following or name == "after" and not page["data"]:
                return
            if following == asked.get(name):
                raise RailguardError(200, "bad_answer", "the list does not go on")
            asked[name] = following

    def call(self, method: str, path: str, body: Any = None, idempotency_key: str = "") -> Answer:
        """Make any call of the API. A POST without a key is never made again after an unknown outcome."""
        repeatable = method == "GET" or method == "POST" and bool(idempotency_key)
        answer: Answer = self._persist(method, path, body, idempotency_key, repeatable, time.monotonic() + self._deadline)
        return answer

    def message(self, path: str, body: bytes) -> Answer:
        """POST bytes whose repetition does nothing twice: to another address, and again, without an Idempotency-Key."""
        answer: Answer = self._persist("POST", path, body, "", True, time.monotonic() + self._deadline)
        return answer

    def _post(self, path: str, body: Any, key: Optional[str], api_key: Optional[str] = None) -> Answer:
        answer: Answer = self._persist("POST", path, body, key or new_key(), True, time.monotonic() + self._deadline, api_key=api_key)
        return answer

    def _read(self, path: str, **given: Any) -> Answer:
        query = urlencode({name: value for name, value in given.items() if value is not None})
        return self.call("GET", path + ("?" + query if query else ""))

    def _persist(self, method: str, path: str, body: Any, key: str, repeatable: bool, end: float, plain: bool = False, api_key: Optional[str] = None) -> Any:
        # Once an attempt's outcome is unknown, the call's is, until an answer settles
        # it: that a later attempt did nothing says nothing of the first.
        raw = None if body is None else body if isinstance(body, bytes) else encode(body).encode("utf-8")
        unknown, waits, first, attempt = False, 0, self._at, 0
        while True:
            attempt += 1
            at = (first + attempt - 1) % len(self._addresses)
            try:
                answer = self._attempt(self._addresses[at], method, path, raw, key, end, plain, api_key)
                self._at = at
                if isinstance(answer, Answer):
                    answer.attempts = attempt
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

    def _backoff(self, waits: int) -> float:
        return float(min(_BACKOFF_FIRST * 2 ** min(waits, 10), _BACKOFF_MOST) * (0.5 + self._jitter() / 2))

    def _pause(self, seconds: float, end: float) -> bool:
        if end - time.monotonic() <= seconds:
            return False
        self._wait(seconds)
        return True

    def _open_stream(self, path: str, at: int) -> Duplex:
        headers = dict(self._headers)
        headers.update({"Authorization": "Bearer " + self._key, "Content-Type": "application/x-ndjson"})
        return Duplex(self._addresses[at], path, headers, self._attempt_timeout, self._context)

    def _attempt(self, address: Address, method: str, path: str, raw: Optional[bytes], key: str, end: float, plain: bool, api_key: Optional[str]) -> Any:
        timeout = max(0.001, min(self._attempt_timeout, end - time.monotonic()))
        headers = dict(self._headers)
        headers["Authorization"] = "Bearer " + (api_key or self._key)
        if raw is not None:
            headers["Content-Type"] = "application/json"
        if key:
            headers["Idempotency-Key"] = key
        status, text, head = address.send(method, path, raw, headers, timeout, self._context)
        if not 200 <= status <= 299 or len(text) > ANSWER_MAX:
            raise refusal(status, text, head)
        if status == 204:
            return Answer({}, status, head)
        if plain:
            return text.decode("ascii", "replace")
        try:
            told = decode(text)
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            raise RailguardError(status, "bad_answer", "not a JSON object", "unknown", None, head.get("x-request-id", ""))
        return Answer(told, status, head)


def _path(pattern: str, identifier: str) -> str:
    return pattern % quote(str(identifier), safe="")
