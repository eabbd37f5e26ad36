// The integrator's afternoon: RAILGUARD_URL (several, comma-separated), RAILGUARD_KEY and RAILGUARD_SETTLER_KEY say where.

import { Client, RailguardError, TokenError, newKey, verifyToken } from "./railguard.ts";

declare const process: { env: Record<string, string | undefined> };

const issuer = `did:kya:${process.env["RAILGUARD_ISSUER"] ?? "railguard"}`; // A sandbox's is railguard-sandbox.
const addresses = (process.env["RAILGUARD_URL"] ?? "http://127.0.0.1:8080").split(",");
const client = new Client({ addresses, key: process.env["RAILGUARD_KEY"] ?? "" });
const settler = new Client({ addresses, key: process.env["RAILGUARD_SETTLER_KEY"] ?? "" });

// An agent that may pay up to 5,000 dollars at once.
const agent = await client.register({
  agentName: "buyer", agentType: "supervised", operatorLegalName: "Acme Robotics Inc", purpose: "pay invoices",
  spendPolicy: { maxSingleTxUSDC: "5000", dailyLimitUSDC: "20000" },
});
const token = agent.token;
console.log("registered");

// Its credential can be verified by anybody, without a server. The keys may be kept for an hour.
const keys = await client.jwks();
const claims = await verifyToken(token, keys, issuer);
console.log("verified", claims.sub === agent.agentId);
try {
  await verifyToken(token.slice(0, -86) + "A".repeat(86), keys, issuer);
} catch (error) {
  console.log("forged", (error as TokenError).code);
}

// A payment: hold, pay over the rail, settle. The key is stored before the first attempt.
// Whoever spends does not say what was spent: a settler settles less than was allowed, and releases.
const key = newKey();
const payment = { token, amount: "100.10", hold: { ttlSeconds: 600 } };
let verdict = await client.screen(payment, key);
console.log(verdict.verdict, verdict.hold?.state, verdict.hold?.amount);
const again = await client.screen(payment, key); // As after a crash: the same key, the same payment.
console.log("same", again.txnId === verdict.txnId);
const settled = await settler.settle(verdict.txnId, { amount: "99.5", railRef: "wire-4711" });
console.log(settled.state, settled.amount);

// What is not made is released.
verdict = await client.screen({ token, amount: "20", hold: { ttlSeconds: 600 } });
console.log((await settler.release(verdict.txnId, "cancelled by the buyer")).state);

// A listed wallet: BLOCK, for good.
verdict = await client.screen({ token, amount: "100", chain: "ETH", cpWallet: "0x098B716B8Aaf21512996dC57EB0615e2383E2f96" });
console.log(verdict.verdict, verdict.rule);

// Above the agent's limit: REVIEW, for an officer.
verdict = await client.screen({ token, amount: "6000" });
console.log(verdict.verdict, verdict.rule);
await client.review(verdict.txnId, "APPROVED", "carla", "invoice 4711");
console.log((await client.audit(verdict.txnId)).disposition);
const confirmed = await client.confirm(verdict.txnId, { redeem: true }); // Judged once more before it is paid.
console.log(confirmed.verdict, confirmed.payment.state);

// Many at once, each by itself.
const [first, second] = await client.batch([{ token, amount: "1" }, { token, amount: "2", hold: { ttlSeconds: 1 } }]);
if (first && !(first instanceof RailguardError) && second instanceof RailguardError) console.log(first.verdict, second.code, second.param);
console.log("spent", (await client.limits(agent.agentId)).spentUSDC);

// The end of an agent.
await client.revoke(agent.agentId, "end of the afternoon");
verdict = await client.screen({ token, amount: "1" });
console.log(verdict.verdict, verdict.rule);
