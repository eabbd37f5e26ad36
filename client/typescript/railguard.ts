// Calls Railguard. One file without dependencies: fetch and WebCrypto of the
// platform. Node 22.18 and later, Deno and Bun run it as it stands; for browsers and
// older Nodes strip the types with any tool.
//
// Every call that changes something carries an Idempotency-Key, fails over between
// addresses and is made again by what X-Railguard-Outcome says. Money is a decimal
// string, never a number: the members `amount` and those that end in `USDC`.

/** An amount as a decimal string: "100", "0.10". */
export type USD = string;
export type Outcome = "none" | "unknown";
export type Disposition = "APPROVED" | "REJECTED" | "ESCALATE_SAR";

export interface SpendPolicy {
  maxSingleTxUSDC?: USD;
  dailyLimitUSDC?: USD;
  allowedChains?: string[];
  allowedRails?: string[];
  counterpartyScreening?: "OFAC" | "OFAC+CONS";
  noMixerProtocols?: boolean;
}

export interface Agent {
  agentName: string;
  agentType: "autonomous" | "supervised";
  operatorLegalName: string;
  operatorId?: string; // Which operator of this name; "new": another one.
  purpose: string;
  spendPolicy?: SpendPolicy;
  underlyingModel?: string;
  agentFramework?: string;
  operatorWallet?: string;
  operatorEIN?: string;
  fleetId?: string;
  metadata?: Record<string, unknown>;
}

export interface Delegate {
  agentName: string;
  parentAgentId?: string;
  parentToken?: string;
  agentType?: string;
  purpose?: string;
  expiresAt?: string;
  spendPolicy?: SpendPolicy;
}

export interface Registration {
  operatorId: string;
  similarOperators?: { operatorId: string; operatorLegalName: string }[];
  agentId: string;
  token: string;
  credential: unknown;
  credentialVersion: number;
  warnings: { code: string; message: string; param?: string }[];
  eventId: string;
}

export interface Payment {
  token: string;
  amount: USD;
  chain?: string;
  rail?: string;
  cpWallet?: string;
  payerWallet?: string;
  wallets?: { role: "payer" | "payee" | "intermediary" | "fee"; address: string }[];
  cpName?: string;
  cpType?: string;
  cpCountry?: string;
  cpDateOfBirth?: string;
  cpAddress?: string;
  cpRegion?: string;
  originCountry?: string;
  cpIdentifiers?: { type: "bic" | "iban" | "lei" | "tax_id" | "registration" | "national_id" | "passport" | "imo" | "mmsi" | "aircraft_tail" | "email" | "website" | "phone" | "duns" | "account"; value: string; country?: string }[];
  memo?: string;
  protocol?: string;
  underlyingModel?: string;
  userToken?: string;
  travelRuleRef?: string;
  paymentRef?: string;
  hold?: { ttlSeconds: number };
}

/** A payment of a batch; a key that is missing is drawn and written here. */
export type BatchPayment = Payment & { idempotencyKey?: string };

export interface Verdict {
  verdict: "PROCEED" | "REVIEW" | "BLOCK" | "UNKNOWN";
  txnId: string;
  rule: string | null;
  reason: string;
  agentId?: string;
  screenedAt: string;
  hold?: { state: string; amount: USD; expiresAt: string };
  disposition?: string;
  payBy?: string;
  payable?: boolean;
  payableReason?: string;
  reviewedBy?: string;
  replayed?: boolean;
  [member: string]: unknown;
}

export interface Transaction {
  txnId: string;
  state: string;
  amountUSDC: USD;
  countedUSDC: USD;
  late?: boolean;
  overLimit?: boolean;
  notAllowed?: boolean;
  forwarded?: boolean;
  eventId: string;
}

export interface Limits {
  agentId: string;
  date: string;
  dailyLimitUSDC: USD | null;
  spentUSDC: USD;
  heldUSDC: USD;
  remainingUSDC: USD | null;
  maxSingleTxUSDC: USD | null;
  availableUSDC: USD | null;
}

export interface StatusChange {
  agentId: string;
  previousStatus: string;
  credentialStatus: string;
  eventId: string;
}

export interface JWK {
  kty: string;
  crv: string;
  kid: string;
  x: string;
  y: string;
  [member: string]: unknown;
}
export interface JWKS {
  keys: JWK[];
}

export interface Claims {
  iss: string;
  sub: string;
  jti: string;
  iat: number;
  nbf: number;
  exp: number;
  vc: Record<string, unknown>;
  status?: { status_list: { idx: number; uri: string } };
}

export interface Options {
  /** ["https://a.example", ...]; any node serves every call. */
  addresses: string[];
  key: string;
  attempts?: number;
  attemptTimeoutMs?: number;
  deadlineMs?: number;
  /** For tests: sleeps, and draws from 0 to 1. */
  wait?: (ms: number) => Promise<void>;
  jitter?: () => number;
}

/** Why a call failed. `code` is the service's, or unreachable, no_answer or bad_answer. */
export class RailguardError extends Error {
  status: number; // 0 without an answer.
  code: string;
  param = "";
  details: { param?: string; message: string }[] = [];
  requestId = "";
  txnId = "";
  /** "unknown": make the call again with idempotencyKey, or do not pay. */
  outcome: Outcome;
  retryAfterMs = 0;
  attempts = 1;
  idempotencyKey = "";
  body: Record<string, unknown> = {};

  constructor(status: number, code: string, message: string, outcome: Outcome, options?: { cause?: unknown }) {
    super(message);
    this.name = "RailguardError";
    this.status = status;
    this.code = code;
    this.outcome = outcome;
    if (options?.cause !== undefined) (this as { cause?: unknown }).cause = options.cause;
  }
}

/** Why a token is not good: malformed, unknown_key, bad_signature, wrong_issuer, expired, not_yet_valid. */
export class TokenError extends Error {
  code: string;
  constructor(code: string) {
    super(code);
    this.name = "TokenError";
    this.code = code;
  }
}

/**
 * Why a credential's status does not let it pass: revoked or suspended; no_status,
 * wrong_list or out_of_range; status_unknown (the list cannot be had: the only one that
 * may pass by itself).
 */
export class StatusError extends TokenError {}

/** Why a message of a webhook is not good: bad_secret, malformed, too_old, bad_signature. */
export class WebhookError extends Error {
  code: string;
  constructor(code: string) {
    super(code);
    this.name = "WebhookError";
    this.code = code;
  }
}

/** What happened: a message of a webhook, or one of events(). Drop those whose id you had. */
export interface Event {
  id: string;
  seq: number;
  type: string;
  time: string;
  tenant: string | null;
  data: Record<string, unknown>;
  leafHash: string;
}

export interface Webhook {
  name?: string;
  url: string;
  types?: string[];
  sarAllowed?: boolean;
  secret?: string;
}

export interface WebhookChange {
  webhookId: string;
  op: string;
  secret?: string;
  count?: number;
  webhook?: Webhook & { webhookId: string; state: string; publicKeys: string[] };
}

/** Draws an Idempotency-Key. Store it before the first attempt of what must survive a restart. */
export function newKey(): string {
  const raw = crypto.getRandomValues(new Uint8Array(16));
  return "rgc_" + Array.from(raw, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const answerMax = 16 << 20;
const backoffFirstMs = 100;
const backoffMostMs = 2000;
const retryAfterMax = 24 * 60 * 60;

/** Calls a cluster. */
export class Client {
  #addresses: string[];
  #key: string;
  #attempts: number;
  #attemptTimeout: number;
  #deadline: number;
  #wait: (ms: number) => Promise<void>;
  #jitter: () => number;
  #at = 0; // The address that answered last.

  constructor(options: Options) {
    if (!Array.isArray(options.addresses) || options.addresses.length === 0) throw new TypeError("no address");
    this.#addresses = options.addresses.map((address) => {
      const url = new URL(address);
      if (!/^https?:$/.test(url.protocol) || url.search || url.username) throw new TypeError("an address is http://host or https://host");
      return address.replace(/\/+$/, "");
    });
    this.#key = options.key;
    this.#attempts = options.attempts ?? 8;
    this.#attemptTimeout = options.attemptTimeoutMs ?? 5000;
    this.#deadline = options.deadlineMs ?? 20000;
    this.#wait = options.wait ?? ((ms) => new Promise((done) => setTimeout(done, ms)));
    this.#jitter = options.jitter ?? Math.random;
  }

  // The integrator's flow. Without an idempotency key each call draws one.

  register(agent: Agent, key?: string): Promise<Registration> {
    return this.#post("/v1/agents/register", agent, key);
  }
  delegate(child: Delegate, key?: string): Promise<Registration> {
    return this.#post("/v1/delegates/create", child, key);
  }
  /** Decides on one payment. Pay on PROCEED and on nothing else; an exception is not a verdict. */
  screen(payment: Payment, key?: string): Promise<Verdict> {
    return this.#post("/v1/screen", payment, key);
  }
  dryRun(payment: Payment, key?: string): Promise<Verdict> {
    return this.#post("/v1/screen/dry-run", payment, key);
  }
  settle(txnId: string, settlement: { amount?: USD; railRef?: string } = {}, key?: string): Promise<Transaction> {
    return this.#post(`/v1/transactions/${encodeURIComponent(txnId)}/settle`, settlement, key);
  }
  release(txnId: string, reason: string, key?: string): Promise<Transaction> {
    return this.#post(`/v1/transactions/${encodeURIComponent(txnId)}/release`, { reason }, key);
  }
  review(txnId: string, disposition: Disposition, reviewedBy: string, notes?: string, key?: string): Promise<Verdict> {
    return this.#post(`/v1/reviews/${encodeURIComponent(txnId)}`, { disposition, reviewedBy, notes }, key);
  }
  attest(agentId: string, attestedBy: string, note?: string, key?: string): Promise<Record<string, unknown>> {
    return this.#post(`/v1/agents/${encodeURIComponent(agentId)}/attest`, { attestedBy, note }, key);
  }
  suspend(agentId: string, reason: string, key?: string): Promise<StatusChange> {
    return this.#post(`/v1/agents/${encodeURIComponent(agentId)}/suspend`, { reason }, key);
  }
  reinstate(agentId: string, reason: string, key?: string): Promise<StatusChange> {
    return this.#post(`/v1/agents/${encodeURIComponent(agentId)}/reinstate`, { reason }, key);
  }
  revoke(agentId: string, reason: string, reasonCode?: string, key?: string): Promise<StatusChange> {
    return this.#post(`/v1/agents/${encodeURIComponent(agentId)}/revoke`, { reason, reasonCode }, key);
  }
  audit(txnId: string): Promise<Verdict> {
    return this.call("GET", `/v1/audit/${encodeURIComponent(txnId)}`);
  }
  limits(agentId: string): Promise<Limits> {
    return this.call("GET", `/v1/agents/${encodeURIComponent(agentId)}/limits`);
  }
  /** What happened behind a cursor (none: the oldest; "latest"); types are names or groups ("hold.*"), wait whole seconds. */
  events(query: { after?: string; types?: string[]; wait?: number; limit?: number } = {}): Promise<{ data: Event[]; nextCursor: string }> {
    const given = Object.entries({ ...query, types: query.types?.join(",") }).filter(([, value]) => value !== undefined);
    const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
    return this.call("GET", "/v1/events" + (text && "?" + text));
  }
  /** Has events sent to a URL; the answer has the secret, once. Role admin. */
  createWebhook(webhook: Webhook, key = newKey()): Promise<WebhookChange> {
    return this.call("POST", "/v1/webhooks", webhook, key);
  }
  /** Has one event sent again, or all that were given up. */
  redeliver(webhookId: string, eventId?: string, key = newKey()): Promise<WebhookChange> {
    return this.call("POST", `/v1/webhooks/${encodeURIComponent(webhookId)}/redeliver`, eventId ? { eventId } : { all: true }, key);
  }
  /** The keys for verifyToken. Keep them for an hour; read them again, at most once a minute, for a new kid. */
  jwks(): Promise<JWKS> {
    return this.call("GET", "/v1/.well-known/jwks.json");
  }
  /** The text of the status list at a path; a Verifier reads it. */
  statusList(path: string): Promise<string> {
    return this.#persist("GET", path, undefined, "", true, performance.now() + this.#deadline, true) as unknown as Promise<string>;
  }
  health(): Promise<Record<string, unknown>> {
    return this.call("GET", "/v1/health");
  }

  /**
   * Decides on up to 256 payments, each by itself: a verdict or an error each, in
   * order. What the service could not take is sent again, alone, within attempts
   * and deadline.
   */
  async batch(payments: BatchPayment[]): Promise<(Verdict | RailguardError)[]> {
    for (const payment of payments) payment.idempotencyKey ||= newKey();
    const end = performance.now() + this.#deadline;
    const results: (Verdict | RailguardError)[] = [];
    let pending = payments.map((_, i) => i);
    for (let turn = 0; ; ) {
      let given: Record<string, unknown>[];
      try {
        const told = await this.#persist("POST", "/v1/screen/batch", { payments: pending.map((i) => payments[i]) }, "", true, end);
        given = told.results as Record<string, unknown>[];
        if (!Array.isArray(given) || given.length !== pending.length) {
          throw new RailguardError(200, "bad_answer", "not a result for each payment", "unknown");
        }
      } catch (failure) {
        if (turn === 0 || !(failure instanceof RailguardError)) throw failure;
        return results;
      }
      const again: number[] = [];
      pending.forEach((i, n) => {
        const result = readResult(given[n]);
        const before = results[i];
        if (result instanceof RailguardError) {
          result.idempotencyKey = payments[i].idempotencyKey ?? "";
          if (before instanceof RailguardError && before.outcome === "unknown") result.outcome = "unknown";
          if (mayRepeat(result)) again.push(i);
        }
        results[i] = result;
      });
      pending = again;
      turn++;
      if (pending.length === 0 || turn >= this.#attempts || !(await this.#pause(this.#backoff(turn - 1), end))) return results;
    }
  }

  /** Makes any call of the API. A POST without a key is never made again after an unknown outcome. */
  async call<T>(method: string, path: string, body?: unknown, key = ""): Promise<T> {
    const repeatable = method === "GET" || (method === "POST" && key !== "");
    return (await this.#persist(method, path, body, key, repeatable, performance.now() + this.#deadline)) as T;
  }

  #post<T>(path: string, body: unknown, key?: string): Promise<T> {
    return this.call("POST", path, body, key || newKey());
  }

  // Once an attempt's outcome is unknown, the call's is, until an answer settles it:
  // that a later attempt did nothing says nothing of the first.
  async #persist(method: string, path: string, body: unknown, key: string, repeatable: boolean, end: number, plain = false): Promise<Record<string, unknown>> {
    const raw = body === undefined ? undefined : encode(body, "");
    const first = this.#at;
    let unknown = false;
    let waits = 0;
    for (let attempt = 1; ; attempt++) {
      const at = (first + attempt - 1) % this.#addresses.length;
      let failure: RailguardError;
      try {
        const answer = await this.#attempt(this.#addresses[at], method, path, raw, key, end, plain);
        this.#at = at;
        return answer;
      } catch (error) {
        if (!(error instanceof RailguardError)) throw error;
        failure = error;
      }
      if (method === "GET") failure.outcome = "none";
      const blind = failure.outcome === "unknown" && !repeatable;
      unknown ||= failure.outcome === "unknown";
      if (unknown) failure.outcome = "unknown";
      failure.attempts = attempt;
      failure.idempotencyKey = key;
      if (blind || !mayRepeat(failure) || attempt >= this.#attempts || performance.now() >= end) throw failure;
      // Nothing happened there: the next address may be asked at once, each of them once.
      if (!unknown && failure.status !== 429 && attempt < this.#addresses.length) continue;
      const pause = Math.max(failure.retryAfterMs, this.#backoff(waits++));
      if (!(await this.#pause(pause, end))) throw failure;
    }
  }

  #backoff(waits: number): number {
    return Math.min(backoffFirstMs * 2 ** Math.min(waits, 10), backoffMostMs) * (0.5 + this.#jitter() / 2);
  }

  async #pause(ms: number, end: number): Promise<boolean> {
    if (end - performance.now() <= ms) return false;
    await this.#wait(ms);
    return true;
  }

  async #attempt(address: string, method: string, path: string, raw: string | undefined, key: string, end: number, plain: boolean): Promise<Record<string, unknown>> {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), Math.max(1, Math.min(this.#attemptTimeout, end - performance.now())));
    const headers: Record<string, string> = { Authorization: "Bearer " + this.#key };
    if (raw !== undefined) headers["Content-Type"] = "application/json";
    if (key) headers["Idempotency-Key"] = key;
    let answer: Response;
    let text: string;
    try {
      answer = await fetch(address + path, { method, headers, body: raw, redirect: "manual", cache: "no-store", signal: stop.signal });
      text = await readText(answer);
    } catch (cause) {
      if (unsent(cause)) throw new RailguardError(0, "unreachable", "no connection", "none", { cause });
      throw new RailguardError(0, "no_answer", "no answer", "unknown", { cause });
    } finally {
      clearTimeout(timer);
    }
    if (!answer.ok || text.length > answerMax) {
      throw refusal(answer.status, parse(text), (name) => answer.headers.get(name));
    }
    if (answer.status === 204) return {};
    if (plain) return text as unknown as Record<string, unknown>;
    const told = parse(text);
    if (told === undefined) {
      const failure = new RailguardError(answer.status, "bad_answer", "not a JSON object", "unknown");
      failure.requestId = answer.headers.get("X-Request-Id") ?? "";
      throw failure;
    }
    return told;
  }
}

async function readText(answer: Response): Promise<string> {
  if (!answer.body) return "";
  const decoder = new TextDecoder();
  const reader = answer.body.getReader();
  let text = "";
  while (text.length <= answerMax) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
  }
  await reader.cancel();
  return text;
}

// A browser does not tell why; then it is as if the call had been sent.
function unsent(error: unknown): boolean {
  const code = (error as { cause?: { code?: string } })?.cause?.code ?? "";
  return ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"].includes(code);
}

function mayRepeat(failure: RailguardError): boolean {
  return failure.status === 0 || failure.status >= 500 || failure.status === 429 || ["bad_answer", "idempotency_in_flight"].includes(failure.code);
}

function readResult(raw: Record<string, unknown>): Verdict | RailguardError {
  const status = typeof raw?.status === "number" ? raw.status : 0;
  if (status === 200) return raw as unknown as Verdict;
  if (status < 400) return new RailguardError(status, "bad_answer", "not a result", "unknown");
  return refusal(status, raw, (name) => (name === "X-Railguard-Outcome" ? (raw.outcome as string) : null));
}

function refusal(status: number, body: Record<string, unknown> | undefined, header: (name: string) => string | null): RailguardError {
  const code = typeof body?.code === "string" ? body.code : "";
  const settled = status < 500 || (status === 503 && header("X-Railguard-Outcome") === "none");
  let failure: RailguardError;
  if (body === undefined || code === "") {
    failure = new RailguardError(status, "bad_answer", "not an answer of the service", "unknown");
  } else {
    failure = new RailguardError(status, code, String(body.message ?? ""), settled && code !== "idempotency_in_flight" ? "none" : "unknown");
    failure.param = String(body.param ?? "");
    failure.details = (body.details as RailguardError["details"]) ?? [];
    failure.txnId = String(body.txnId ?? "");
    failure.requestId = String(body.requestId ?? "");
    failure.body = body;
  }
  failure.requestId ||= header("X-Request-Id") ?? "";
  const after = header("Retry-After") ?? "";
  if (/^[0-9]{1,9}$/.test(after)) failure.retryAfterMs = Math.min(Number(after), retryAfterMax) * 1000;
  return failure;
}

const isMoney = (member: string): boolean => member === "amount" || member.endsWith("USDC");
const literal = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?$/;

/** Reads an amount from 0 to 1e12 dollars into its shortest decimal; more than six decimals are rounded up. */
export function parseUSD(text: string): USD {
  const parts = text.length <= 64 ? literal.exec(text) : null;
  if (!parts || text.startsWith("-")) throw new RangeError("not an amount from 0 to 1e12 dollars");
  const fraction = (parts[2] ?? ".").slice(1);
  const shift = 6 + Number((parts[3] ?? "e0").slice(1)) - fraction.length;
  let micros = BigInt(parts[1] + fraction);
  if (shift >= 0) micros *= 10n ** BigInt(shift);
  else {
    const unit = 10n ** BigInt(-shift);
    micros = (micros + unit - 1n) / unit;
  }
  if (micros > 10n ** 18n) throw new RangeError("not an amount from 0 to 1e12 dollars");
  const digits = micros.toString().padStart(7, "0");
  return (digits.slice(0, -6) + "." + digits.slice(-6)).replace(/\.?0+$/, "");
}

/** JSON in which money is a number literal made from its string. */
function encode(value: unknown, member: string): string {
  if (isMoney(member) && value !== null) {
    if (typeof value !== "string") throw new TypeError(`${member} is a decimal string such as "0.10"`);
    if (!literal.test(value)) throw new RangeError(`${member} is not a decimal`);
    return value;
  }
  if (Array.isArray(value)) return "[" + value.map((element) => encode(element, "")).join(",") + "]";
  if (value === null || typeof value !== "object" || member === "metadata") return JSON.stringify(value) ?? "null";
  const members = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return "{" + members.map(([name, inner]) => JSON.stringify(name) + ":" + encode(inner, name)).join(",") + "}";
}

const tokens = /"((?:[^"\\]|\\.)*)"(\s*:)?|-?[0-9][0-9.eE+-]*|[[\]{},]/g;

/** Reads an object in which money stays the text that it was. */
function parse(text: string): Record<string, unknown> | undefined {
  let member = "";
  const quoted = text.replace(tokens, (token, name, colon) => {
    if (colon) {
      member = name;
      return token;
    }
    const money = isMoney(member) && /^[-0-9]/.test(token);
    member = "";
    return money ? `"${token}"` : token;
  });
  try {
    JSON.parse(text); // Quoting must not make JSON of what is none.
    const value = JSON.parse(quoted);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What a proof is for. */
export interface ProofOf {
  audience: string; // The public URL of the service.
  key: string; // The call's Idempotency-Key, of 16 to 64 of A-Z, a-z, 0-9, - and _; newKey draws one.
  act?: string; // screen (unless said otherwise), dry_run, x402 or confirm:txn_…
  issuedAt?: number; // Unix seconds; now. A proof is good for two minutes, unless the policy says otherwise.
}

const proofDigits = 15; // More than that a number does not keep.

/**
 * Makes the proof that a request is of whoever has an agent's private key; it goes into the request's
 * member `proof`. request is what is then sent. key is a WebCrypto key that signs, Ed25519 or ECDSA on P-256.
 */
export async function signProof(key: CryptoKey, request: object, of: ProofOf): Promise<string> {
  const edwards = key.algorithm.name === "Ed25519";
  if (!edwards && (key.algorithm.name !== "ECDSA" || (key.algorithm as EcKeyAlgorithm).namedCurve !== "P-256")) {
    throw new TypeError("the key is neither Ed25519 nor P-256");
  }
  if (!/^[A-Za-z0-9_-]{16,64}$/.test(of.key)) throw new RangeError("the key of a proven call has 16 to 64 of A-Z, a-z, 0-9, - and _");
  const sent = encode({ ...request, proof: undefined }, "");
  for (const [number] of sent.matchAll(/"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*/g)) {
    if (number.startsWith('"')) continue;
    const digits = number.replace(/[eE].*$/, "").replace(/[-.]/g, "").replace(/^0+|0+$/g, "");
    const size = Math.abs(Number(number));
    if (digits.length > proofDigits || (digits !== "" && !(size >= 1e-300 && size <= 1e299))) {
      throw new RangeError(`a number of a proven request has at most ${proofDigits} digits`);
    }
  }
  const utf8 = new TextEncoder();
  const digest = await crypto.subtle.digest("SHA-256", utf8.encode(canonical(JSON.parse(sent))));
  const claims = { aud: of.audience, act: of.act ?? "screen", iat: Math.floor(of.issuedAt ?? Date.now() / 1000), jti: of.key, rqh: base64URL(new Uint8Array(digest)) };
  const header = { alg: edwards ? "EdDSA" : "ES256", typ: "railguard-proof+jwt" };
  const signed = [header, claims].map((part) => base64URL(utf8.encode(JSON.stringify(part)))).join(".");
  const signature = await crypto.subtle.sign(edwards ? "Ed25519" : { name: "ECDSA", hash: "SHA-256" }, key, utf8.encode(signed));
  return signed + "." + base64URL(new Uint8Array(signature));
}

/** Canonical JSON (RFC 8785): this language's own texts and numbers, with the members by name. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return "[" + value.map(canonical).join(",") + "]";
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return "{" + members.map(([name, inner]) => canonical(name) + ":" + canonical(inner)).join(",") + "}";
  }
  if (typeof value === "string" && /\p{Surrogate}/u.test(value)) throw new RangeError("a text has half a character");
  return JSON.stringify(value);
}

const base64URL = (raw: Uint8Array): string => btoa(String.fromCharCode(...raw)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

const tokenMax = 8192;
const leewaySeconds = 5; // That clocks may differ at the beginning of a token.

/**
 * Checks a credential without a server: form, key, signature (ES256 only), issuer
 * (such as did:kya:railguard) and time (Unix seconds; default: now). The claims do
 * not say whether the agent is suspended or revoked: a Verifier asks the list that they
 * name, screen() the service.
 */
export async function verifyToken(token: string, keys: JWKS, issuer: string, now = Date.now() / 1000): Promise<Claims> {
  const claims = object(await openToken(token, tokenMax, "JWT", keys)) as unknown as Claims;
  const dated = [claims.iat, claims.nbf, claims.exp].every(Number.isInteger);
  if (!claims.sub || typeof claims.sub !== "string" || typeof claims.iss !== "string" || !dated || typeof claims.vc !== "object" || claims.vc === null) {
    throw new TokenError("malformed");
  }
  now = Math.floor(now);
  if (claims.iss !== issuer) throw new TokenError("wrong_issuer");
  if (now >= claims.exp) throw new TokenError("expired");
  if (now + leewaySeconds < claims.nbf) throw new TokenError("not_yet_valid");
  return claims;
}

/** Checks form, key and signature of a token of one typ; returns the bytes of what it says. */
async function openToken(token: string, most: number, typ: string, keys: JWKS): Promise<Uint8Array> {
  const parts = token.split(".");
  if (token.length > most || parts.length !== 3) throw new TokenError("malformed");
  const [headerRaw, payload, signature] = parts.map(segment);
  const header = object(headerRaw);
  if (Object.keys(header).sort().join() !== "alg,kid,typ" || header.alg !== "ES256" || header.typ !== typ || typeof header.kid !== "string" || !header.kid) {
    throw new TokenError("malformed");
  }
  const key = await findKey(keys, header.kid);
  if (signature.length !== 64) throw new TokenError("malformed");
  const signed = new TextEncoder().encode(parts[0] + "." + parts[1]);
  if (!(await crypto.subtle.verify({ name: "ECDSA", hash: "SHA-256" }, key, signature, signed))) throw new TokenError("bad_signature");
  return payload;
}

function segment(text: string): Uint8Array<ArrayBuffer> {
  if (!/^[A-Za-z0-9_-]+$/.test(text) || text.length % 4 === 1) throw new TokenError("malformed");
  const raw = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  if (btoa(raw).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "") !== text) throw new TokenError("malformed"); // Bits behind the last byte.
  return Uint8Array.from(raw, (c) => c.charCodeAt(0));
}

function object(raw: Uint8Array): Record<string, unknown> {
  try {
    const value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(raw));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Told below.
  }
  throw new TokenError("malformed");
}

async function findKey(keys: JWKS, kid: string): Promise<CryptoKey> {
  const found = keys.keys.find((key) => key.kid === kid && key.kty === "EC" && key.crv === "P-256");
  if (!found) throw new TokenError("unknown_key");
  try {
    return await crypto.subtle.importKey("jwk", { kty: "EC", crv: "P-256", x: found.x, y: found.y }, { name: "ECDSA", namedCurve: "P-256" }, false, ["verify"]);
  } catch {
    throw new TokenError("unknown_key");
  }
}

const listMax = 256 << 10; // Of a status list token.
const bitsMax = 1 << 20; // Of a status list, unpacked.
const keysKeptSeconds = 3600;
const keysPauseSeconds = 60; // Between two readings of the keys for a kid that they lack.
const listsMost = 64;

interface StatusList {
  bits: Uint8Array;
  ttl: number;
  exp: number;
}

/**
 * Reads what a status list token says of a credential whose claims verifyToken returned.
 * Makes no call. Resolves for VALID; rejects with a StatusError, or with a TokenError for a
 * list that is not good. now in Unix seconds.
 */
export async function verifyStatus(claims: Claims, list: string, keys: JWKS, now = Date.now() / 1000): Promise<void> {
  readStatus(claims, await openStatusList(claims, list, keys, now));
}

function reference(claims: Claims): { idx: number; uri: string } {
  const entry = claims.status?.status_list;
  if (!Number.isInteger(entry?.idx) || typeof entry?.uri !== "string" || !entry.uri) throw new StatusError("no_status");
  return entry;
}

async function openStatusList(claims: Claims, list: string, keys: JWKS, now: number): Promise<StatusList> {
  const { uri } = reference(claims);
  const told = object(await openToken(list, listMax, "statuslist+jwt", keys));
  const [iat, exp, ttl] = [told.iat, told.exp, told.ttl] as number[];
  const inner = told.status_list as { bits?: unknown; lst?: unknown } | null;
  if (![iat, exp, ttl].every(Number.isInteger) || ttl <= 0 || typeof inner !== "object" || inner === null) throw new TokenError("malformed");
  if (told.sub !== uri || inner.bits !== 2) throw new StatusError("wrong_list");
  now = Math.floor(now);
  if (now >= exp) throw new TokenError("expired");
  if (now + leewaySeconds < iat) throw new TokenError("not_yet_valid");
  if (typeof inner.lst !== "string") throw new TokenError("malformed");
  return { bits: await unpack(segment(inner.lst)), ttl, exp };
}

async function unpack(packed: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate")).getReader();
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new TokenError("malformed");
    });
    if (done) break;
    parts.push(value);
    if ((size += value.length) > bitsMax) {
      await reader.cancel().catch(() => undefined);
      throw new TokenError("malformed");
    }
  }
  const bits = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    bits.set(part, at);
    at += part.length;
  }
  return bits;
}

function readStatus(claims: Claims, list: StatusList): void {
  const { idx } = reference(claims);
  if (idx < 0 || idx >= list.bits.length * 4) throw new StatusError("out_of_range");
  const value = (list.bits[Math.floor(idx / 4)] >> ((idx % 4) * 2)) & 3;
  if (value !== 0) throw new StatusError(value === 2 ? "suspended" : "revoked"); // A value that has no meaning is no VALID.
}

/**
 * Verifies credentials and their status, and keeps keys and lists as long as it may: most
 * verifications ask nobody. No API key is needed for either.
 */
export class Verifier {
  #client: Client;
  #issuer: string;
  #now: () => number;
  #keys: JWKS | null = null;
  #keysAt = 0;
  #lists = new Map<string, { list: StatusList; until: number }>();

  /** now in Unix seconds. */
  constructor(client: Client, issuer: string, now = () => Date.now() / 1000) {
    this.#client = client;
    this.#issuer = issuer;
    this.#now = now;
  }

  /** The claims of a credential that is good and neither revoked nor suspended; any rejection means that it may not be relied on. */
  async verify(token: string): Promise<Claims> {
    const claims = await this.#withKeys((keys) => verifyToken(token, keys, this.#issuer, this.#now()));
    readStatus(claims, await this.#list(claims));
    return claims;
  }

  async #withKeys<T>(act: (keys: JWKS) => Promise<T>): Promise<T> {
    const keys = this.#keys === null || this.#now() - this.#keysAt >= keysKeptSeconds ? await this.#readKeys() : this.#keys;
    try {
      return await act(keys);
    } catch (error) {
      if (!(error instanceof TokenError) || error.code !== "unknown_key" || this.#now() - this.#keysAt < keysPauseSeconds) throw error;
    }
    return act(await this.#readKeys());
  }

  async #readKeys(): Promise<JWKS> {
    const keys = await this.#client.jwks();
    this.#keys = keys;
    this.#keysAt = this.#now();
    return keys;
  }

  async #list(claims: Claims): Promise<StatusList> {
    const { uri } = reference(claims);
    const held = this.#lists.get(uri);
    if (held && this.#now() < held.until) return held.list;
    this.#lists.delete(uri);
    const path = /\/status-lists\/[0-9]{1,19}$/.exec(uri); // The number alone is the credential's to say: no other host is asked.
    if (!path) throw new StatusError("wrong_list");
    let text: string;
    try {
      text = await this.#client.statusList(path[0]);
    } catch {
      throw new StatusError("status_unknown");
    }
    const list = await this.#withKeys((keys) => openStatusList(claims, text, keys, this.#now()));
    if (this.#lists.size >= listsMost) this.#lists.clear();
    this.#lists.set(uri, { list, until: Math.min(this.#now() + list.ttl, list.exp) });
    return list;
  }
}

const webhookTolerance = 300; // Seconds.

/**
 * Checks a message of a webhook as Standard Webhooks says and returns its event. body is
 * what came, before anything parsed it; the secret is the shared one (whsec_…) or the
 * public key (whpk_…); now in Unix seconds.
 */
export async function verifyWebhook(
  secret: string, headers: Headers | Record<string, string | string[] | undefined>, body: string | Uint8Array, now = Date.now() / 1000,
): Promise<Event> {
  const header = (name: string): string => {
    if (headers instanceof Headers) return headers.get(name) ?? "";
    const found = Object.entries(headers).find(([known]) => known.toLowerCase() === name)?.[1];
    return typeof found === "string" ? found : "";
  };
  const [id, at, signatures] = [header("webhook-id"), header("webhook-timestamp"), header("webhook-signature")];
  if (!id || !/^(0|-?[1-9][0-9]{0,14})$/.test(at) || !signatures) throw new WebhookError("malformed");
  const raw = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const head = new TextEncoder().encode(`${id}.${at}.`);
  const signed = new Uint8Array(head.length + raw.length);
  signed.set(head);
  signed.set(raw, head.length);
  const [key, algorithm, version] = await webhookKey(secret);
  let good = false;
  for (const signature of signatures.split(/\s+/)) {
    const comma = signature.indexOf(",");
    const bytes = comma < 0 || signature.slice(0, comma) !== version ? null : fromBase64(signature.slice(comma + 1));
    if (bytes && (await crypto.subtle.verify(algorithm, key, bytes, signed))) good = true;
  }
  if (!good) throw new WebhookError("bad_signature");
  if (Math.abs(now - Number(at)) > webhookTolerance) throw new WebhookError("too_old");
  try {
    const event = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(raw));
    if (typeof event === "object" && event !== null && !Array.isArray(event)) return event;
  } catch {
    // Told below.
  }
  throw new WebhookError("malformed");
}

async function webhookKey(secret: string): Promise<[CryptoKey, string, string]> {
  const raw = fromBase64(secret.slice(secret.indexOf("_") + 1));
  if (secret.startsWith("whsec_") && raw?.length) {
    return [await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]), "HMAC", "v1"];
  }
  if (secret.startsWith("whpk_") && raw?.length === 32) {
    return [await crypto.subtle.importKey("raw", raw, { name: "Ed25519" }, false, ["verify"]), "Ed25519", "v1a"];
  }
  throw new WebhookError("bad_secret");
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0 ? Uint8Array.from(atob(text), (c) => c.charCodeAt(0)) : null;
  } catch {
    return null;
  }
}
