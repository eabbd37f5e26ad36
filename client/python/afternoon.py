"""The integrator's afternoon: RAILGUARD_URL (several, comma-separated), RAILGUARD_KEY and RAILGUARD_SETTLER_KEY say where."""

import os
from decimal import Decimal

from railguard import Client, TokenError, new_key, verify_token

issuer = "did:kya:" + os.environ.get("RAILGUARD_ISSUER", "railguard")  # A sandbox's is railguard-sandbox.
client = Client(os.environ["RAILGUARD_URL"].split(","), os.environ["RAILGUARD_KEY"])
settler = Client(os.environ["RAILGUARD_URL"].split(","), os.environ["RAILGUARD_SETTLER_KEY"])

# An agent that may pay up to 5,000 dollars at once.
agent = client.register({
    "agentName": "buyer", "agentType": "supervised", "operatorLegalName": "Acme Robotics Inc", "purpose": "pay invoices",
    "spendPolicy": {"maxSingleTxUSDC": 5000, "dailyLimitUSDC": 20000},
})
token = agent["token"]
print("registered")

# Its credential can be verified by anybody, without a server. The keys may be kept for an hour.
keys = client.jwks()
claims = verify_token(token, keys, issuer)
print("verified", claims["sub"] == agent["agentId"])
try:
    verify_token(token[:-86] + "A" * 86, keys, issuer)
except TokenError as error:
    print("forged", error.code)

# A payment: hold, pay over the rail, settle. The key is stored before the first attempt.
# Whoever spends does not say what was spent: a settler settles less than was allowed, and releases.
key = new_key()
payment = {"token": token, "amount": Decimal("100.10"), "hold": {"ttlSeconds": 600}}
verdict = client.screen(payment, idempotency_key=key)
print(verdict["verdict"], verdict["hold"]["state"], verdict["hold"]["amount"])
again = client.screen(payment, idempotency_key=key)  # As after a crash: the same key, the same payment.
print("same", again["txnId"] == verdict["txnId"])
settled = settler.settle(verdict["txnId"], Decimal("99.5"), "wire-4711")
print(settled["state"], settled["amount"])

# What is not made is released.
verdict = client.screen({"token": token, "amount": 20, "hold": {"ttlSeconds": 600}})
print(settler.release(verdict["txnId"], "cancelled by the buyer")["state"])

# A listed wallet: BLOCK, for good.
verdict = client.screen({"token": token, "amount": 100, "chain": "ETH", "cpWallet": "0x098B716B8Aaf21512996dC57EB0615e2383E2f96"})
print(verdict["verdict"], verdict["rule"])

# Above the agent's limit: REVIEW, for an officer.
verdict = client.screen({"token": token, "amount": 6000})
print(verdict["verdict"], verdict["rule"])
client.review(verdict["txnId"], "APPROVED", "carla", "invoice 4711")
print(client.audit(verdict["txnId"])["disposition"])
confirmed = client.confirm(verdict["txnId"], redeem=True)  # Judged once more before it is paid.
print(confirmed["verdict"], confirmed["payment"]["state"])

# Many at once, each by itself.
results = client.batch([{"token": token, "amount": 1}, {"token": token, "amount": 2, "hold": {"ttlSeconds": 1}}])
print(results[0]["verdict"], results[1].code, results[1].param)
print("spent", client.limits(agent["agentId"])["spentUSDC"])

# The end of an agent.
client.revoke(agent["agentId"], "end of the afternoon")
verdict = client.screen({"token": token, "amount": 1})
print(verdict["verdict"], verdict["rule"])
