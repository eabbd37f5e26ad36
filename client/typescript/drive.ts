// Runs the shared cases (client/testdata) for the tests: prints what came of each as JSON.

import {
  Client, FirstUses, PermitError, PermitKeys, RailguardError, TokenError, Verifier, WebhookError,
  buildPay, parseUSD, payHash, verifyPermit, verifyStatus, verifyToken, verifyWebhook,
} from "./railguard.ts";
import type { BatchPayment, Claims, JWKS, Paying, PayStatement, PermitCheck, Verdict, WorkEvent } from "./railguard.ts";

declare const process: { stdin: AsyncIterable<Uint8Array>; stdout: { write(text: string): void }; getActiveResourcesInfo(): string[] };

interface Case {
  name: string;
  call: string;
  key: string;
  urls: string[];
}
interface TokenBook {
  jwks: JWKS;
  issuer: string;
  cases: { token: string; now: number }[];
}

const told = (error: RailguardError) => ({
  status: error.status, code: error.code, param: error.param, requestId: error.requestId,
  outcome: error.outcome, attempts: error.attempts, retryAfter: error.retryAfterMs / 1000,
});

// Money of answers is the text that was sent; here in its shortest form.
const text = (amount: string | null): string | null =>
  amount === null ? null : amount.startsWith("-") ? "-" + parseUSD(amount.slice(1)) : parseUSD(amount);

function verdict(answer: Verdict | RailguardError): Record<string, unknown> {
  if (answer instanceof RailguardError) return { error: { code: answer.code, outcome: answer.outcome, param: answer.param } };
  const result: Record<string, unknown> = { verdict: answer.verdict, txnId: answer.txnId };
  if (answer.hold) result.held = text(answer.hold.amount);
  return result;
}

const work = (answer: WorkEvent) => ({ itemId: answer.itemId, event: answer.event, assignee: answer.assignee ?? "", comment: answer.comment ?? "" });

const casework: Record<string, (client: Client, key?: string) => Promise<unknown>> = {
  async parties(client) {
    const answer = await client.parties({ state: "all", q: "Müller & Söhne", limit: 2, cursor: "c1" });
    return {
      parties: answer.data.map((p) => ({ partyId: p.partyId, entry: p.entry?.name ?? "", wentAhead: text(p.sums.wentAhead.amountUSDC) })),
      next: answer.nextCursor ?? "", complete: answer.complete,
    };
  },
  async party(client) {
    const answer = await client.party("pty_1");
    return {
      name: answer.name, waits: text(answer.sums.waits.amountUSDC), payments: answer.payments.map((p) => p.txnId),
      reviews: answer.reviews.map((r) => r.itemId), closedBy: answer.closed.map((c) => c.closedBy ?? ""),
    };
  },
  async decideParty(client, key) {
    const answer = await client.decideParty("pty_1", { disposition: "REJECTED", reviewedBy: "Carla", notes: "the same man", only: ["txn_1", "txn_2", "txn_3"] }, key);
    return {
      results: answer.results.map((r) => ({ txnId: r.txnId, status: r.status, disposition: r.disposition ?? "", proposedBy: r.proposed?.by ?? "", code: r.code ?? "" })),
      left: answer.left,
    };
  },
  async inbox(client) {
    const answer = await client.inbox({ kind: "review", assignee: "Carla", waitsForMe: true, rule: "R21", partyId: "pty_1", q: "bakery", limit: 5 });
    return {
      items: answer.data.map((i) => ({ itemId: i.itemId, amount: text(i.amount), rank: i.rankParts.reduce((sum, part) => sum + part.points, 0) })),
      open: answer.counts.review,
    };
  },
  claimItem: async (client) => work(await client.claimItem("txn_1", "Carla")),
  releaseItem: async (client) => work(await client.releaseItem("alr_1", "Carla", true)),
  assignItem: async (client) => work(await client.assignItem("case_1", "Emil", "Carla")),
  commentItem: async (client) => work(await client.commentItem("sar_txn_1", "Carla", "seen")),
  itemComments: async (client) => (await client.itemComments("sar_txn_1")).map((c) => ({ by: c.actor, comment: c.comment })),
  async search(client) {
    const answer = await client.search("kadyrow ramzan");
    return { parties: answer.parties.map((p) => ({ name: p.name, like: p.likeness === 1, why: p.why })), transactions: answer.transactions.map((x) => text(x.amount)) };
  },
  async learning(client) {
    const answer = await client.learning({ from: "2026-11-01", to: "2026-11-30" });
    return { decisions: answer.total.decisions, median: answer.total.medianSeconds, officers: answer.officers.map((o) => o.subject) };
  },
};

async function make(client: Client, one: Case): Promise<unknown> {
  if (one.call in casework) return casework[one.call](client, one.key || undefined);
  const payment = { token: "t", amount: "0.1" };
  switch (one.call) {
    case "screen":
      return verdict(await client.screen(payment, one.key));
    case "screenUnkeyed":
      return verdict(await client.call<Verdict>("POST", "/v1/screen", payment));
    case "limits": {
      const answer = await client.limits("agt_1");
      return { spent: text(answer.spentUSDC), remaining: text(answer.remainingUSDC), available: text(answer.availableUSDC) };
    }
    case "settle": {
      const answer = await client.settle("txn_1", { amount: "99.5", railRef: "rail" }, one.key);
      return { state: answer.state, counted: text(answer.countedUSDC) };
    }
    case "confirm": {
      const answer = await client.confirm("txn_1", { permit: { ttlSeconds: 60, aud: "https://pay.example.org" }, token: "t", redeem: true }, one.key);
      return { verdict: answer.verdict, permit: answer.permit ?? "", payment: answer.payment.state, amount: text(answer.payment.amount) };
    }
    case "redeem": {
      const answer = await client.redeemPermit("p.e.r", { amount: "99.5", chain: "BASE", payee: "0x1" }, one.key);
      return { state: answer.state, txnId: answer.txnId };
    }
  }
  const payments = [{ token: "t", amount: "1", idempotencyKey: "b1" }, { token: "t", amount: "2", idempotencyKey: "b2" }];
  return (await client.batch(payments)).map(verdict);
}

async function runCase(one: Case) {
  const waits: number[] = [];
  const client = new Client({
    addresses: one.urls, key: "rg_test", attempts: 4, attemptTimeoutMs: 500, jitter: () => 1,
    wait: async (ms) => void waits.push(Math.round(ms)),
  });
  try {
    return { name: one.name, answer: await make(client, one), waits };
  } catch (error) {
    if (error instanceof RailguardError) return { name: one.name, error: told(error), waits };
    throw error;
  }
}

function runMoney(pair: string[]): string | null {
  try {
    return parseUSD(pair[0]);
  } catch {
    return null;
  }
}

async function runToken(one: { token: string; now: number }, book: TokenBook): Promise<string> {
  try {
    return (await verifyToken(one.token, book.jwks, book.issuer, one.now)).sub;
  } catch (error) {
    if (error instanceof TokenError) return error.code;
    throw error;
  }
}

interface Message {
  secret: string;
  headers: Record<string, string>;
  body: string;
  now: number;
}

async function runWebhook(one: Message): Promise<string> {
  const bytes = new TextEncoder().encode(one.body);
  const told: string[] = [];
  for (const attempt of [
    () => verifyWebhook(one.secret, one.headers, bytes, one.now),
    () => verifyWebhook(one.secret, new Headers(one.headers), one.body, one.now),
  ]) {
    try {
      told.push((await attempt()).id ?? "");
    } catch (error) {
      if (!(error instanceof WebhookError)) throw error;
      told.push(error.code);
    }
  }
  return told[0] === told[1] ? told[0] : told.join(" or ");
}

/** Screens many payments, each with a key of its own, and prints what became of them. */
async function storm(job: { urls: string[]; key: string; token: string; prefix: string; payments: number }) {
  const client = new Client({ addresses: job.urls, key: job.key, deadlineMs: 60000, attempts: 200 });
  const transactions: string[] = [];
  for (let n = 0; n < job.payments; n++) {
    const answer = await client.screen({ token: job.token, amount: "0.1" }, `${job.prefix}-${n}`);
    transactions.push(answer.verdict + " " + answer.txnId);
  }
  return transactions;
}

async function seen(call: () => Promise<Verdict | RailguardError>): Promise<string> {
  const answer = await call().catch((error) => error);
  if (answer instanceof RailguardError) return `${answer.status} ${answer.code} ${answer.outcome} after ${answer.attempts}`;
  if (answer instanceof Error) throw answer;
  return `${answer.verdict} ${answer.rule ?? "-"}`;
}

/** Asks a sandbox for each of its answers, in every way there is to screen a payment. */
async function sandbox(job: { urls: string[]; key: string; token: string; prefix: string; names: string[] }) {
  const hasty = new Client({ addresses: job.urls, key: job.key, attempts: 1 });
  const patient = new Client({ addresses: job.urls, key: job.key, attempts: 2, wait: async () => {} });
  const rows: string[][] = [];
  for (const name of job.names) {
    const payment = { token: job.token, amount: "0.1", cpName: name };
    const key = job.prefix + name;
    rows.push([
      await seen(() => hasty.screen(payment, key)),
      await seen(() => hasty.screen(payment, key)),
      await seen(() => patient.screen(payment)),
      await seen(() => hasty.dryRun(payment)),
      await seen(async () => (await hasty.batch([{ ...payment }]))[0]),
      await seen(async () => (await patient.batch([{ ...payment }]))[0]),
    ]);
  }
  return rows;
}

/** Works on the one open review of a party at a real server, from the list to the decision. */
async function desk(job: { urls: string[]; key: string; name: string }) {
  const client = new Client({ addresses: job.urls, key: job.key });
  const party = (await client.parties({ q: job.name })).data[0];
  const txn = (await client.party(party.partyId)).reviews[0].txnId!;
  const lines = [`${party.name} open ${party.open} waits ${text(party.sums.waits.amountUSDC)}`];
  for (const step of [await client.claimItem(txn, "Carla"), await client.commentItem(txn, "Carla", "seen"), await client.releaseItem(txn, "Carla"), await client.assignItem(txn, "Carla", "Emil")]) {
    lines.push(`${step.event} ${step.actor}`);
  }
  lines.push((await client.itemComments(txn)).map((c) => `${c.actor}: ${c.comment}`).join(" "));
  lines.push(`inbox ${(await client.inbox({ partyId: party.partyId, kind: "review", limit: 5 })).data.length}`);
  const found = (await client.search(job.name)).parties[0];
  lines.push(`${found.name} ${found.why}`);
  const decided = await client.decideParty(party.partyId, { disposition: "APPROVED", reviewedBy: "Carla", notes: "a bakery", only: [txn] });
  for (const one of decided.results) lines.push(`${one.status} ${one.disposition}`);
  const whole = await client.party(party.partyId);
  lines.push(`${whole.payments[0].state} ${whole.reviews.length} ${whole.closed.length}`);
  lines.push((await client.learning()).total.approved > 0 ? "learned" : "nothing");
  return lines;
}

interface StatusJob {
  jwks: JWKS;
  issuer: string;
  urls: string[];
  cases: { claims: Claims; list: string; now: number }[] | null;
  steps: { token: string; now: number }[];
}

/** Reads status lists, and verifies credentials one after the other with one Verifier. */
async function statuses(job: StatusJob) {
  const code = (error: unknown): string => {
    if (error instanceof TokenError) return error.code;
    throw error;
  };
  const cases: string[] = [];
  for (const one of job.cases ?? []) cases.push(await verifyStatus(one.claims, one.list, job.jwks, one.now).then(() => "valid", code));
  let now = 0;
  const verifier = new Verifier(new Client({ addresses: job.urls, key: "", attempts: 1 }), job.issuer, () => now);
  const steps: string[] = [];
  for (const step of job.steps) {
    now = step.now;
    steps.push(await verifier.verify(step.token).then((claims) => claims.sub, code));
  }
  return { cases, steps };
}

type PermitCase = Omit<PermitCheck, "keys"> & { permit: string; now: number };

interface PermitJob {
  jwks: JWKS;
  urls: string[];
  most: number;
  statements: PayStatement[];
  pays: { jti: string; paying: Paying }[];
  cases: PermitCase[];
  steps: PermitCase[];
}

/** Builds statements, and verifies permits: each by itself, and one after the other with kept keys and ids. */
async function permits(job: PermitJob) {
  // What came of a check: a permit's reason, or why it could not be made.
  const code = (error: unknown): string => {
    if (error instanceof PermitError || error instanceof RailguardError) return error.code;
    if (error instanceof RangeError && error.message.endsWith("full")) return "full";
    if (error instanceof TypeError || error instanceof RangeError) return "error";
    throw error;
  };
  let now = 0;
  const keys = new PermitKeys(new Client({ addresses: job.urls, key: "", attempts: 1 }), () => now);
  const uses = new FirstUses(job.most, () => now);
  const steps: string[] = [];
  for (const step of job.steps) {
    now = step.now;
    steps.push(await verifyPermit(step.permit, { ...step, keys, firstUse: uses.first }).then((claims) => claims.jti, code));
  }
  const cases: string[] = [];
  for (const one of job.cases) cases.push(await verifyPermit(one.permit, { ...one, keys: job.jwks }).then((claims) => claims.jti, code));
  const statements: string[] = [];
  for (const one of job.statements) statements.push(await payHash(one).catch(code));
  const pays: unknown[] = [];
  for (const one of job.pays) pays.push(await buildPay(one.paying, one.jti).catch(code));
  return { statements, pays, cases, steps };
}

interface StreamJob {
  urls: string[];
  key: string;
  token: string;
  prefix: string;
  payments: number;
  attempts: number;
  window: number;
  stopAfter: number;
  alive: boolean;
  fail: boolean;
}

/** Streams payments, every second one without a key, and tells what came of each and how far ahead they were read. */
async function stream(job: StreamJob) {
  hurry(job.alive ? 20 : 1);
  const client = new Client({ addresses: job.urls, key: job.key, attempts: job.attempts, wait: async () => {}, attemptTimeoutMs: 100000 });
  const read: BatchPayment[] = [];
  const rows: unknown[] = [];
  let ahead = 0;
  async function* source(): AsyncGenerator<BatchPayment> {
    for (let n = 0; n < job.payments; n++) {
      const payment: BatchPayment = { token: job.token, amount: "0.1", cpName: String(n) };
      if (n % 2 === 0) payment.idempotencyKey = `${job.prefix}-${n}`;
      read.push(payment);
      yield payment;
    }
    if (job.fail) throw new SyntaxError("the source failed");
  }
  let failed = "";
  try {
    for await (const [payment, answer] of client.stream(source(), { window: job.window })) {
      ahead = Math.max(ahead, read.length - rows.length - 1);
      if (!read.includes(payment)) throw new Error("another payment");
      const good = !(answer instanceof RailguardError);
      rows.push({
        n: Number(payment.cpName), told: good ? answer.verdict : answer.code, outcome: good ? "" : answer.outcome, attempts: good ? 0 : answer.attempts,
        key: payment.idempotencyKey, txnId: good ? answer.txnId : "",
      });
      if (rows.length === job.stopAfter) break;
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    failed = "source";
  }
  const used = () => process.getActiveResourcesInfo().filter((one) => one === "TCPSocketWrap" || one === "TLSWrap" || one === "Timeout").length;
  for (let turn = 0; turn < 200 && used() > 0; turn++) await new Promise((done) => setImmediate(done));
  return { rows, read: read.length, ahead, left: used(), failed };
}

declare function setImmediate(then: (value: unknown) => void): void;

const wait = globalThis.setTimeout;
const clock = performance.now.bind(performance);

/** Makes the time of this program pass so many times as fast. */
function hurry(times: number) {
  globalThis.setTimeout = ((then: () => void, ms = 0) => wait(then, ms / times)) as typeof setTimeout;
  performance.now = () => clock() * times;
}

let input = "";
const decoder = new TextDecoder();
for await (const chunk of process.stdin) input += decoder.decode(chunk, { stream: true });
const job = JSON.parse(input);
if (job.do === "storm") {
  process.stdout.write(JSON.stringify(await storm(job)));
} else if (job.do === "status") {
  process.stdout.write(JSON.stringify(await statuses(job)));
} else if (job.do === "stream") {
  const streams: unknown[] = [];
  for (const one of job.jobs) streams.push(await stream(one));
  process.stdout.write(JSON.stringify(streams));
} else if (job.do === "permits") {
  process.stdout.write(JSON.stringify(await permits(job)));
} else if (job.do === "desk") {
  process.stdout.write(JSON.stringify(await desk(job)));
} else if (job.do === "sandbox") {
  process.stdout.write(JSON.stringify(await sandbox(job)));
} else {
  const cases: unknown[] = [];
  for (const one of job.cases) cases.push(await runCase(one));
  const tokens: string[] = [];
  for (const one of job.tokens.cases) tokens.push(await runToken(one, job.tokens));
  const webhooks: string[] = [];
  for (const one of job.webhooks) webhooks.push(await runWebhook(one));
  process.stdout.write(JSON.stringify({ cases, money: job.money.map(runMoney), tokens, webhooks }));
}
