// A program of somebody who has installed the package. It compiles under the strictest settings, and what must not compile does not.

import { Client, NotSent, RailguardError, Verifier, newKey, verifyToken } from "railguard";
import type { Answer, Journal, Paid, Payment, Verdict } from "railguard";
import { JournalInUse, openJournal } from "railguard/node";

declare const process: { argv: string[] };

const [, , url = "", key = "", settlerKey = "", folder = ""] = process.argv;
const client = new Client({ addresses: [url], key });
const settler = new Client({ addresses: [url], key: settlerKey });
const agent = await client.register({ agentName: "consumer", agentType: "supervised", operatorLegalName: "Acme Robotics Inc", purpose: "tests" });
const { token } = agent;

// What is wrong is told by the compiler.
export const wrong = (): unknown[] => [
  // @ts-expect-error An amount is a text.
  client.screen({ token, amount: 25 }),
  // @ts-expect-error There is no such member.
  client.screen({ token, amount: "25", reference: "inv-1" }),
  // @ts-expect-error A payment has an amount.
  client.screen({ token }),
  // @ts-expect-error These are the dispositions.
  client.review("txn_1", "approved", "carla"),
  // @ts-expect-error No such option.
  client.settle("txn_1", {}, { ifmatch: "1" }),
  // @ts-expect-error send says what the rail calls the payment.
  client.pay({ token, amount: "1" }, () => ({ amount: "1" }), { journal: {} as Journal }),
  // @ts-expect-error A rule may be absent.
  (verdict: Verdict): string => verdict.rule,
];

// Headers of the call, and of its answer.
let strict = "";
try {
  const odd: Payment & { colour: string } = { token, amount: "1", colour: "red" };
  await client.screen(odd, { strict: true });
} catch (error) {
  strict = error instanceof RailguardError ? `${error.code} ${error.param}` : String(error);
}
const policy: Answer<Record<string, unknown>> = await client.answer("GET", "/v1/policy");
const refused = await client.call("PUT", "/v1/policy", policy.data, { ifMatch: '"999"' }).catch((error: unknown) => (error as RailguardError).code);
let index = 0;
const verdict = await client.screen({ token, amount: "25.50", paymentRef: newKey(), hold: { ttlSeconds: 600 } }, { key: newKey(), onAnswer: (head) => void (index = head.index) });
const limits = await client.limits(agent.agentId, { minIndex: verdict.index });
const later = await client.limits(agent.agentId, { minIndex: verdict.index + 1_000_000, deadlineMs: 1000, headers: { "X-Railguard-Timeout-Ms": "300" } }).catch(
  (error: unknown) => ["overloaded", "no_answer"].includes((error as RailguardError).code) && "not yet",
);
console.log("headers", strict, policy.etag !== "", policy.requestId !== "", refused, index === verdict.index, limits.heldUSDC, later);
console.log("verdict", verdict.verdict, verdict.warnings ?? "none", typeof verdict.listVersion, (await client.audit(verdict.txnId)).leafHash?.length);

// Lists, page after page.
for (let n = 0; n < 4; n++) await client.dryRun({ token, amount: "1" });
for (let n = 0; n < 4; n++) await client.register({ agentName: `other ${n}`, agentType: "supervised", operatorLegalName: "Acme Robotics Inc", purpose: "tests" });
let pages = 0;
for await (const page of client.pages<{ agentId: string }>("/v1/agents", { limit: 2 })) pages += page.data.length > 0 ? 1 : 0;
const agents: string[] = [];
for await (const one of client.rows<{ agentId: string }>("/v1/agents", { limit: 2 })) agents.push(one.agentId);
const types = new Set<string>();
for await (const event of client.rows("/v1/events", { limit: 2, types: "agent.*" })) types.add(event.type);
const found: string[] = [];
for await (const record of client.rows("/v1/audit/search", { limit: 1, agentId: agent.agentId })) found.push(record.txnId);
console.log("lists", pages > 2, new Set(agents).size === agents.length && agents.length > 4, types.has("agent.registered"), found.includes(verdict.txnId));

// A payment, made once.
const journal = await openJournal(folder + "/journal");
const busy = await openJournal(folder + "/journal").catch((error: unknown) => error instanceof JournalInUse);
const paid: Paid = await client.pay({ token, amount: "3" }, (told, id) => ({ railRef: `${told.verdict} ${id.slice(0, 4)}` }), { journal, settler });
const released = await client.pay({ token, amount: "4" }, () => { throw new NotSent("no funds"); }, { journal, settler });
await journal.close();
console.log("paid", busy, paid.state, paid.transaction?.railRef, paid.transaction?.countedUSDC, released.state, released.transaction?.reason);

// Credentials.
const issuer = (await verifyToken(token, await client.jwks(), "did:kya:railguard-sandbox")).iss;
const verifier = new Verifier(client, issuer);
console.log("verified", (await verifier.verify(token, { signal: AbortSignal.timeout(5000) })).sub === agent.agentId);
const stop = new AbortController();
const stopped = client.events({ after: "latest", types: ["hold.expired"], wait: 20 }, { attemptTimeoutMs: 25_000, deadlineMs: 30_000, signal: stop.signal }).catch((error: unknown) => (error as RailguardError).code);
setTimeout(() => stop.abort(), 100);
const began = Date.now();
console.log("stopped", await stopped, Date.now() - began < 3000);
