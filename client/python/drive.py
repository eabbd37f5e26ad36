"""Runs the shared cases (client/testdata) for the tests: prints what came of each as JSON."""

import json
import sys
import threading
import time
from decimal import Decimal

from railguard import (
    Client, FirstUses, PermitError, PermitKeys, RailguardError, TokenError, Verifier, WebhookError,
    build_pay, parse_usd, pay_hash, verify_permit, verify_status, verify_token, verify_webhook,
)
from railguard import stream as streaming
from railguard.money import format_usd


def text(amount):
    return None if amount is None else format_usd(amount)


def told(error):
    return {
        "status": error.status, "code": error.code, "param": error.param, "requestId": error.request_id,
        "outcome": error.outcome, "attempts": error.attempts, "retryAfter": error.retry_after,
    }


def verdict(answer):
    if isinstance(answer, RailguardError):
        return {"error": {"code": answer.code, "outcome": answer.outcome, "param": answer.param}}
    result = {"verdict": answer["verdict"], "txnId": answer["txnId"]}
    if answer.get("hold"):
        result["held"] = text(answer["hold"]["amount"])
    return result


def party(client, key):
    answer = client.party("pty_1")
    return {
        "name": answer["name"], "waits": text(answer["sums"]["waits"]["amountUSDC"]), "payments": [p["txnId"] for p in answer["payments"]],
        "reviews": [r["itemId"] for r in answer["reviews"]], "closedBy": [c["closedBy"] or "" for c in answer["closed"]],
    }


def parties(client, key):
    answer = client.parties(state="all", q="Müller & Söhne", limit=2, cursor="c1")
    return {
        "parties": [{"partyId": p["partyId"], "entry": (p["entry"] or {}).get("name", ""), "wentAhead": text(p["sums"]["wentAhead"]["amountUSDC"])} for p in answer["data"]],
        "next": answer["nextCursor"] or "", "complete": answer["complete"],
    }


def decide_party(client, key):
    answer = client.decide_party("pty_1", "REJECTED", "Carla", "the same man", ["txn_1", "txn_2", "txn_3"], idempotency_key=key)
    results = [{"txnId": r["txnId"], "status": r["status"], "disposition": r.get("disposition") or "", "proposedBy": (r.get("proposed") or {}).get("by", ""), "code": r.get("code", "")} for r in answer["results"]]
    return {"results": results, "left": answer["left"]}


def inbox(client, key):
    answer = client.inbox(kind="review", assignee="Carla", waits_for_me=True, rule="R21", party_id="pty_1", q="bakery", limit=5)
    return {"items": [{"itemId": i["itemId"], "amount": text(i["amount"]), "rank": sum(part["points"] for part in i["rankParts"])} for i in answer["data"]], "open": answer["counts"]["review"]}


def work(answer):
    return {"itemId": answer["itemId"], "event": answer["event"], "assignee": answer.get("assignee") or "", "comment": answer.get("comment", "")}


def search(client, key):
    answer = client.search("kadyrow ramzan")
    return {"parties": [{"name": p["name"], "like": p["likeness"] == 1, "why": p["why"]} for p in answer["parties"]], "transactions": [text(x["amount"]) for x in answer["transactions"]]}


def learning(client, key):
    answer = client.learning("2026-11-01", "2026-11-30")
    return {"decisions": answer["total"]["decisions"], "median": answer["total"]["medianSeconds"], "officers": [o["subject"] for o in answer["officers"]]}


CASEWORK = {
    "parties": parties, "party": party, "decideParty": decide_party, "inbox": inbox, "search": search, "learning": learning,
    "claimItem": lambda client, key: work(client.claim_item("txn_1", "Carla")),
    "releaseItem": lambda client, key: work(client.release_item("alr_1", "Carla", True)),
    "assignItem": lambda client, key: work(client.assign_item("case_1", "Emil", "Carla")),
    "commentItem": lambda client, key: work(client.comment_item("sar_txn_1", "Carla", "seen")),
    "itemComments": lambda client, key: [{"by": c["actor"], "comment": c["comment"]} for c in client.item_comments("sar_txn_1")],
}


def make(client, case):
    payment = {"token": "t", "amount": Decimal("0.1")}
    if case["call"] == "screen":
        return verdict(client.screen(payment, idempotency_key=case["key"]))
    if case["call"] == "screenUnkeyed":
        return verdict(client.call("POST", "/v1/screen", payment))
    if case["call"] == "limits":
        answer = client.limits("agt_1")
        return {"spent": text(answer["spentUSDC"]), "remaining": text(answer["remainingUSDC"]), "available": text(answer["availableUSDC"])}
    if case["call"] == "settle":
        answer = client.settle("txn_1", Decimal("99.5"), "rail", idempotency_key=case["key"])
        return {"state": answer["state"], "counted": text(answer["countedUSDC"])}
    if case["call"] == "confirm":
        answer = client.confirm("txn_1", {"ttlSeconds": 60, "aud": "https://pay.example.org"}, "t", True, idempotency_key=case["key"])
        return {"verdict": answer["verdict"], "permit": answer.get("permit", ""), "payment": answer["payment"]["state"], "amount": text(answer["payment"]["amount"])}
    if case["call"] == "redeem":
        answer = client.redeem_permit("p.e.r", {"amount": Decimal("99.5"), "chain": "BASE", "payee": "0x1"}, idempotency_key=case["key"])
        return {"state": answer["state"], "txnId": answer["txnId"]}
    if case["call"] in CASEWORK:
        return CASEWORK[case["call"]](client, case["key"] or None)
    payments = [{"token": "t", "amount": 1, "idempotencyKey": "b1"}, {"token": "t", "amount": 2, "idempotencyKey": "b2"}]
    return [verdict(answer) for answer in client.batch(payments)]


def run_case(case):
    waits = []
    client = Client(case["urls"], "rg_test", attempts=4, attempt_timeout=0.5, wait=lambda s: waits.append(round(s * 1000)), jitter=lambda: 1)
    result = {"name": case["name"]}
    try:
        result["answer"] = make(client, case)
    except RailguardError as error:
        result["error"] = told(error)
    result["waits"] = waits
    return result


def run_money(pair):
    try:
        return format_usd(parse_usd(pair[0]))
    except ValueError:
        return None


def run_token(case, book):
    try:
        return verify_token(case["token"], book["jwks"], book["issuer"], case["now"])["sub"]
    except TokenError as error:
        return error.code


def run_webhook(one):
    try:
        return verify_webhook(one["secret"], one["headers"], one["body"].encode(), one["now"]).get("id", "")
    except WebhookError as error:
        return error.code


def storm(job):
    """Screens many payments, each with a key of its own, and prints what became of them."""
    client = Client(job["urls"], job["key"], deadline=60, attempts=200)
    transactions = []
    for n in range(job["payments"]):
        answer = client.screen({"token": job["token"], "amount": Decimal("0.1")}, idempotency_key="%s-%d" % (job["prefix"], n))
        transactions.append(answer["verdict"] + " " + answer["txnId"])
    return transactions


def seen(call):
    try:
        answer = call()
    except RailguardError as error:
        answer = error
    if isinstance(answer, RailguardError):
        return "%d %s %s after %d" % (answer.status, answer.code, answer.outcome, answer.attempts)
    return answer["verdict"] + " " + (answer["rule"] or "-")


def sandbox(job):
    """Asks a sandbox for each of its answers, in every way there is to screen a payment."""
    hasty = Client(job["urls"], job["key"], attempts=1)
    patient = Client(job["urls"], job["key"], attempts=2, wait=lambda s: None)
    rows = []
    for name in job["names"]:
        payment = {"token": job["token"], "amount": Decimal("0.1"), "cpName": name}
        key = job["prefix"] + name
        rows.append([
            seen(lambda: hasty.screen(payment, idempotency_key=key)),
            seen(lambda: hasty.screen(payment, idempotency_key=key)),
            seen(lambda: patient.screen(payment)),
            seen(lambda: hasty.dry_run(payment)),
            seen(lambda: hasty.batch([dict(payment)])[0]),
            seen(lambda: patient.batch([dict(payment)])[0]),
        ])
    return rows


def desk(job):
    """Works on the one open review of a party at a real server, from the list to the decision."""
    client = Client(job["urls"], job["key"])
    party = client.parties(q=job["name"])["data"][0]
    txn = client.party(party["partyId"])["reviews"][0]["txnId"]
    lines = ["%s open %d waits %s" % (party["name"], party["open"], text(party["sums"]["waits"]["amountUSDC"]))]
    for step in (client.claim_item(txn, "Carla"), client.comment_item(txn, "Carla", "seen"), client.release_item(txn, "Carla"), client.assign_item(txn, "Carla", "Emil")):
        lines.append("%s %s" % (step["event"], step["actor"]))
    lines.append(" ".join("%s: %s" % (c["actor"], c["comment"]) for c in client.item_comments(txn)))
    lines.append("inbox %d" % len(client.inbox(party_id=party["partyId"], kind="review", limit=5)["data"]))
    found = client.search(job["name"])["parties"][0]
    lines.append("%s %s" % (found["name"], found["why"]))
    for decided in client.decide_party(party["partyId"], "APPROVED", "Carla", "a bakery", [txn])["results"]:
        lines.append("%d %s" % (decided["status"], decided["disposition"]))
    whole = client.party(party["partyId"])
    lines.append("%s %d %d" % (whole["payments"][0]["state"], len(whole["reviews"]), len(whole["closed"])))
    lines.append("learned" if client.learning()["total"]["approved"] > 0 else "nothing")
    return lines


def statuses(job):
    """Reads status lists, and verifies credentials one after the other with one Verifier."""
    def code(call):
        try:
            return call()
        except TokenError as error:
            return error.code

    now = [0]
    verifier = Verifier(Client(job["urls"], "", attempts=1), job["issuer"], now=lambda: now[0])
    steps = []
    for step in job["steps"]:
        now[0] = step["now"]
        steps.append(code(lambda: verifier.verify(step["token"])["sub"]))
    return {
        "cases": [code(lambda: verify_status(one["claims"], one["list"], job["jwks"], one["now"]) or "valid") for one in job["cases"] or []],
        "steps": steps,
    }


def attempt(call):
    """What came of a check: a permit's reason, or why it could not be made."""
    try:
        return call()
    except PermitError as error:
        return error.code
    except RailguardError as error:
        return error.code
    except OverflowError:
        return "full"
    except (TypeError, ValueError):
        return "error"


def permits(job):
    """Builds statements, and verifies permits: each by itself, and one after the other with kept keys and ids."""
    def verify(one, keys, **more):
        return verify_permit(
            one["permit"], keys, one.get("issuer"), one.get("audience"), pay=one.get("pay"), paying=one.get("paying"), now=one["now"],
            max_list_age=one.get("maxListAge"), sandbox=one.get("sandbox", False), **more)

    now = [0]
    keys = PermitKeys(Client(job["urls"], "", attempts=1), now=lambda: now[0])
    uses, steps = FirstUses(job["most"], now=lambda: now[0]), []
    for step in job["steps"]:
        now[0] = step["now"]
        steps.append(attempt(lambda: verify(step, keys, first_use=uses)["jti"]))
    return {
        "statements": [attempt(lambda: pay_hash(one)) for one in job["statements"]],
        "pays": [attempt(lambda: build_pay(one["paying"], one["jti"])) for one in job["pays"]],
        "cases": [attempt(lambda: verify(one, job["jwks"])["jti"]) for one in job["cases"]],
        "steps": steps,
    }


def stream(job):
    """Streams payments, every second one without a key, and tells what came of each and how far ahead they were read."""
    client = Client(job["urls"], job["key"], attempts=job["attempts"], wait=lambda s: None)
    read, rows, ahead = [], [], 0
    streaming._ALIVE = 0.3 if job["alive"] else 30.0

    def source():
        for n in range(job["payments"]):
            payment = {"token": job["token"], "amount": Decimal("0.1"), "cpName": str(n)}
            if n % 2 == 0:
                payment["idempotencyKey"] = "%s-%d" % (job["prefix"], n)
            read.append(payment)
            yield payment
        if job["fail"]:
            raise KeyError("the source failed")

    failed = ""
    try:
        answers = client.stream(source(), window=job["window"])
        for payment, answer in answers:
            ahead = max(ahead, len(read) - len(rows) - 1)
            assert any(payment is one for one in read)
            good = not isinstance(answer, RailguardError)
            rows.append({
                "n": int(payment["cpName"]), "told": answer["verdict"] if good else answer.code, "outcome": "" if good else answer.outcome, "attempts": answer.attempts,
                "key": payment["idempotencyKey"], "txnId": answer["txnId"] if good else "",
            })
            if len(rows) == job["stopAfter"]:
                answers.close()
    except KeyError:
        failed = "source"
    end = time.monotonic() + 10
    left = 1
    while left and time.monotonic() < end:
        left = sum(thread.name.startswith("railguard-stream") for thread in threading.enumerate())
    return {"rows": rows, "read": len(read), "ahead": ahead, "left": left, "failed": failed}


def main():
    job = json.load(sys.stdin)
    if job["do"] == "storm":
        result = storm(job)
    elif job["do"] == "desk":
        result = desk(job)
    elif job["do"] == "sandbox":
        result = sandbox(job)
    elif job["do"] == "status":
        result = statuses(job)
    elif job["do"] == "stream":
        result = [stream(one) for one in job["jobs"]]
    elif job["do"] == "permits":
        result = permits(job)
    else:
        result = {
            "cases": [run_case(case) for case in job["cases"]],
            "money": [run_money(pair) for pair in job["money"]],
            "tokens": [run_token(case, job["tokens"]) for case in job["tokens"]["cases"]],
            "webhooks": [run_webhook(one) for one in job["webhooks"]],
        }
    json.dump(result, sys.stdout)


main()
