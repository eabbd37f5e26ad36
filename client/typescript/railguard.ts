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
  publicKey?: JsonWebKey; // Ed25519 or P-256: the agent's own key, for signProof.
  possession?: "off" | "review" | "required";
}

export interface Delegate {
  agentName: string;
  parentAgentId?: string;
  parentToken?: string;
  agentType?: string;
  purpose?: string;
  expiresAt?: string;
  spendPolicy?: SpendPolicy;
  publicKey?: JsonWebKey; // It inherits none.
  possession?: "off" | "review" | "required";
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
  publicKeyThumbprint?: string; // RFC 7638.
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
  permit?: { ttlSeconds?: number; aud?: string };
  proof?: string; // signProof of the rest, for screen or dry_run.
}

/** A payment of a batch; a key that is missing is drawn and written here. One with a proof has its. */
export type BatchPayment = Payment & { idempotencyKey?: string };

export interface Verdict {
  verdict: "PROCEED" | "REVIEW" | "BLOCK" | "UNKNOWN";
  txnId: string;
  rule: string | null;
  reason: string;
  agentId?: string;
  screenedAt: string;
  hold?: { state: string; amount: USD; expiresAt: string };
  permit?: string;
  permitExpiresAt?: string;
  disposition?: string;
  approval?: Approval;
  payment?: Ending;
  payBy?: string;
  confirmable?: boolean;
  confirmableReason?: string;
  reviewedBy?: string;
  replayed?: boolean;
  [member: string]: unknown;
}

export interface Approval {
  state: string; // open, redeemed or lapsed.
  until?: string;
}

/** What became of a recorded payment: held (it was confirmed), redeemed, settled, released, expired or unresolved. */
export interface Ending {
  state: string;
  amountUSDC: USD;
  countedUSDC?: USD;
  railRef?: string;
  reason?: string;
  late?: boolean;
  overLimit?: boolean;
  notAllowed?: boolean;
  forwarded?: boolean;
  unpermitted?: boolean;
  redeemed?: boolean; // Of an unresolved one: it was redeemed.
  verdict?: string; // Of a confirmation.
  expiredAt?: string;
  eventId: string;
  time: string;
}

/** What a confirmation asks. With redeem the leave is taken at once. */
export interface Confirm {
  permit?: { ttlSeconds?: number; aud?: string };
  token?: string;
  proof?: string; // signProof of the rest, for confirm: and the txnId; it needs token.
  redeem?: boolean;
}

/** What a recorded payment is now. Pay on PROCEED and on nothing else. */
export interface Confirmation {
  verdict: "PROCEED" | "REVIEW" | "BLOCK" | "UNKNOWN";
  txnId: string;
  rule: string | null;
  reason: string;
  confirmedAt: string;
  permit?: string;
  permitExpiresAt?: string;
  payment: { state: "held" | "redeemed" | "released"; amountUSDC: USD; until?: string };
  approval?: Approval;
  policyVersion: number;
  listVersion: number;
  index: number;
}

/** What became of a permit. Hand over if its state is "redeemed" and on nothing else. */
export interface Redemption {
  state: "redeemed" | "refused";
  verdict: "PROCEED" | "REVIEW" | "BLOCK" | "UNKNOWN";
  txnId: string;
  redeemedAt?: string;
  index: number;
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
  unpermitted?: boolean;
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

/** Which part of a list to read: at most limit rows behind a cursor. */
export interface Portion {
  limit?: number;
  cursor?: string;
}
export interface PartyQuery extends Portion {
  state?: "open" | "all";
  q?: string; // A part of a name, another spelling, a wallet, or an identifier as type:value.
}
export interface InboxQuery extends Portion {
  kind?: string;
  assignee?: string;
  waitsForMe?: boolean; // What another person proposed and the caller may sign.
  rule?: string;
  partyId?: string;
  q?: string;
}

/** The listed party that payments hit. */
export interface ListedEntry {
  uid: string;
  list: string;
  name: string;
  type?: string;
  entryId?: string;
  programs: string[];
  listedNow?: boolean;
}
export interface PaymentSum {
  count: number;
  amountUSDC: USD;
}
/** Sums by what became of the money. */
export interface PaymentSums {
  tried: PaymentSum;
  wentAhead: PaymentSum;
  waits: PaymentSum;
  blocked: PaymentSum;
  rejected: PaymentSum;
  returned: PaymentSum;
}

/** A counterparty together with whom or which place its payments hit. */
export interface PartyHead {
  partyId: string;
  name: string | null;
  side: "payee" | "operator" | "payer" | "user";
  entry: ListedEntry | null;
  place: string | null;
}
export interface PartySummary extends PartyHead {
  open: number;
  sums: PaymentSums;
  newestAt: string;
  moneyGone: boolean;
}
/** complete: it rests on all of retention, else on what the node has read since then. */
export interface PartyList {
  data: PartySummary[];
  complete: boolean;
  since: string | null;
  nextCursor: string | null;
}
export interface PartyPayment {
  txnId: string;
  screenedAt: string;
  verdict: Verdict["verdict"];
  rule: string | null;
  reason: string;
  rules: string[]; // All that fired.
  amount: USD;
  agentId?: string;
  agentName?: string;
  operatorLegalName?: string;
  cpName: string | null;
  cpWallet: string | null;
  state: "wentAhead" | "waits" | "blocked" | "rejected" | "returned";
  own: boolean; // false: it stands here because its payee is like the party or the entry.
  partyId?: string;
}
/** An alert, a hit, a sanctions case or a report that waits for nobody any more. */
export interface ClosedItem {
  itemId: string;
  kind: string;
  txnId: string | null;
  caseId?: string;
  alertId?: string;
  alert?: string;
  state: string;
  own: boolean;
  amount: USD;
  openedAt: string;
  closedAt: string | null;
  closedBy: string | null;
  keyId: string | null;
  reason: string | null;
  persons: string[];
}
/** One party whole. payments has the newest 200, the sums all. */
export interface WholeParty extends PartyHead {
  listedSince: boolean;
  entryNames: string[];
  sums: PaymentSums;
  ownSums: PaymentSums;
  payments: PartyPayment[];
  paymentsLeft: number;
  reviews: InboxItem[];
  cases: InboxItem[];
  alerts: InboxItem[];
  retroHits: InboxItem[];
  reports: InboxItem[];
  closed: ClosedItem[];
  closedLeft: number;
  complete: boolean;
  since: string | null;
}
/** One decision about all open reviews of a party, or about only those. Of a party that hit nobody they have to be named. */
export interface PartyDecision {
  disposition: Disposition;
  reviewedBy: string;
  notes?: string;
  only?: string[];
}
/** What became of one review: its disposition, a proposal that waits for a second person, or, if status is not 200, why it was refused. */
export interface Decided {
  status: number;
  txnId: string;
  disposition?: string | null;
  proposed?: Proposed;
  reviewedBy?: string;
  code?: string;
  message?: string;
}
export interface Proposed {
  disposition: string;
  by: string;
  at: string;
  notes?: string;
}
export interface PartyDecided {
  partyId: string;
  results: Decided[];
  left: number;
}

/** A piece of work; rankParts add up to rank. */
export interface InboxItem {
  itemId: string;
  kind: "review" | "block" | "alert" | "retro" | "report";
  txnId: string | null;
  caseId?: string;
  alertId?: string;
  partyId: string | null;
  rule?: string | null;
  rules: string[];
  alert?: string;
  text: string | null;
  agentId: string | null;
  agentName: string | null;
  operatorLegalName: string | null;
  cpName: string | null;
  entry: ListedEntry | null;
  place: string | null;
  amount: USD;
  moneyGone: boolean;
  openedAt: string;
  dueAt: string | null;
  overdue: boolean;
  assignee: string | null;
  leaseUntil: string | null;
  comments: number;
  waitsForMySignature: boolean;
  rank: number;
  rankParts: { part: string; points: number; why: string }[];
}
export interface InboxCounts {
  review: number;
  block: number;
  alert: number;
  retro: number;
  report: number;
  waitsForMe: number;
}
export interface InboxList {
  data: InboxItem[];
  counts: InboxCounts;
  complete: boolean;
  since: string | null;
  nextCursor: string | null;
}
/** A step in who works on an item. */
export interface WorkEvent {
  itemId?: string;
  txnId?: string;
  alertId?: string;
  caseId?: string;
  eventId?: string;
  time: string;
  event: string;
  assignee?: string | null;
  leaseUntil?: string | null;
  by: string | null;
  comment?: string;
}
export interface ItemComment {
  at: string;
  eventId: string;
  by: string;
  comment: string;
}

/** How like what was asked something is, 1 being the same, and why. */
export interface Likeness {
  likeness: number;
  why: string;
}
export interface Found {
  agents: ({ agentId: string; agentName: string; operatorLegalName: string } & Likeness)[];
  parties: (PartyHead & { sums: PaymentSums; newestAt: string } & Likeness)[];
  transactions: ({ txnId: string; screenedAt: string; verdict: string; rule: string | null; agentId?: string; agentName?: string; amount: USD; cpName: string | null } & Likeness)[];
  wallets: ({ wallet: string; names: string[] } & Likeness)[];
  identifiers: ({ identifier: string; names: string[] } & Likeness)[];
  complete: boolean;
  since: string | null;
}

/** Decisions by their outcome. medianSeconds is from screening to decision. */
export interface LearningCounts {
  decisions: number;
  approved: number;
  rejected: number;
  escalated: number;
  medianSeconds: number | null;
}
/** What officers decided. Where complete is false, to is earlier than asked: the next call begins a millisecond after it. */
export interface Learning {
  from: string;
  to: string;
  complete: boolean;
  total: LearningCounts & { twoPersons: number };
  officers: (LearningCounts & {
    subject: string;
    name: string | null;
    agreement: { seconded: number; confirmed: number; withdrawn: number };
    reversals: { withdrawn: number; rejudged: number; reopened: number };
    rules: LearningRule[];
  })[];
  rules: LearningRule[];
  entries: (LearningCounts & { uid: string; list: string | null; name: string | null; notTheParty: number; falsePositives: number })[];
  operators: (LearningCounts & { operatorId: string; name: string | null; falsePositives: number })[];
  days: (LearningCounts & { day: string; opened: number })[];
}
export interface LearningRule extends LearningCounts {
  rule: string;
  falsePositives: number;
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
    return this.#post("/v1/screen", payment, key ?? keyOf(payment));
  }
  dryRun(payment: Payment, key?: string): Promise<Verdict> {
    return this.#post("/v1/screen/dry-run", payment, key ?? keyOf(payment));
  }
  settle(txnId: string, settlement: { amount?: USD; railRef?: string } = {}, key?: string): Promise<Transaction> {
    return this.#post(`/v1/transactions/${encodeURIComponent(txnId)}/settle`, settlement, key);
  }
  release(txnId: string, reason: string, key?: string): Promise<Transaction> {
    return this.#post(`/v1/transactions/${encodeURIComponent(txnId)}/release`, { reason }, key);
  }
  /** Judges a recorded payment again before it is made. Pay on PROCEED and on nothing else. */
  confirm(txnId: string, asked: Confirm = {}, key?: string): Promise<Confirmation> {
    return this.#post(`/v1/transactions/${encodeURIComponent(txnId)}/confirm`, asked, key ?? keyOf(asked));
  }
  /**
   * Takes the leave of a permit, once in the whole cluster. Hand over if the state is "redeemed". pay is
   * what you are about to let happen. After an error, the same key tells whether this call took it.
   */
  redeemPermit(permit: string, pay?: Paying, key?: string): Promise<Redemption> {
    return this.#post("/v1/permits/redeem", { permit, pay }, key);
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

  // Who was paid, what waits for an officer, who works on it, and what was decided. For an institution's
  // own tools: role reviewer, or auditor to read, and a key without an operator's scope.

  /** Counterparties with what they hit: those with open work, or with state "all" every one. */
  parties(query: PartyQuery = {}): Promise<PartyList> {
    return this.#read("/v1/parties", { ...query });
  }
  /** Everything about one party: paid, tried, waiting, decided and closed. */
  party(partyId: string): Promise<WholeParty> {
    return this.call("GET", `/v1/parties/${encodeURIComponent(partyId)}`);
  }
  /** One decision about all open reviews of a party, or about only those. Each stands in its own record: look at every one of the results. */
  decideParty(partyId: string, decision: PartyDecision, key?: string): Promise<PartyDecided> {
    return this.#post(`/v1/parties/${encodeURIComponent(partyId)}/decide`, decision, key);
  }
  /** What waits for an officer, the highest rank first. */
  inbox(query: InboxQuery = {}): Promise<InboxList> {
    return this.#read("/v1/inbox", { ...query, waitsForMe: query.waitsForMe || undefined });
  }
  /** Leases an item of the inbox to a person for ten minutes. */
  claimItem(itemId: string, assignee: string, key?: string): Promise<WorkEvent> {
    return this.#post(`/v1/inbox/${encodeURIComponent(itemId)}/claim`, { assignee }, key);
  }
  /** Gives a claim back. With force it may be somebody else's. */
  releaseItem(itemId: string, by: string, force?: boolean, key?: string): Promise<WorkEvent> {
    return this.#post(`/v1/inbox/${encodeURIComponent(itemId)}/release`, { by, force }, key);
  }
  assignItem(itemId: string, assignee: string, by?: string, key?: string): Promise<WorkEvent> {
    return this.#post(`/v1/inbox/${encodeURIComponent(itemId)}/assign`, { assignee, by }, key);
  }
  commentItem(itemId: string, by: string, comment: string, key?: string): Promise<WorkEvent> {
    return this.#post(`/v1/inbox/${encodeURIComponent(itemId)}/comment`, { by, comment }, key);
  }
  /** The comments on an item, oldest first. */
  async itemComments(itemId: string): Promise<ItemComment[]> {
    return (await this.call<{ data: ItemComment[] }>("GET", `/v1/inbox/${encodeURIComponent(itemId)}/comments`)).data;
  }
  /** Finds by a part of a name in any order, another spelling or an id. The text stands in the body, so that no balancer logs it. */
  search(q: string): Promise<Found> {
    return this.#persist("POST", "/v1/search", { q }, "", true, performance.now() + this.#deadline) as unknown as Promise<Found>;
  }
  /** Counts the decisions of a period of times or dates; without one, of the 30 days that end now. */
  learning(period: { from?: string; to?: string } = {}): Promise<Learning> {
    return this.#read("/v1/learning", { ...period });
  }
  /** What happened behind a cursor (none: the oldest; "latest"); types are names or groups ("hold.*"), wait whole seconds. */
  events(query: { after?: string; types?: string[]; wait?: number; limit?: number } = {}): Promise<{ data: Event[]; nextCursor: string }> {
    return this.#read("/v1/events", { ...query, types: query.types?.join(",") });
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
    for (const payment of payments) if (!payment.proof) payment.idempotencyKey ||= newKey();
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
          result.idempotencyKey = payments[i].idempotencyKey ?? keyOf(payments[i]) ?? "";
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

  #read<T>(path: string, query: Record<string, unknown>): Promise<T> {
    const given = Object.entries(query).filter(([, value]) => value !== undefined);
    const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
    return this.call("GET", path + (text && "?" + text));
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

/** The Idempotency-Key of a request with a proof. */
function keyOf(request: { proof?: string }): string | undefined {
  try {
    const claims = JSON.parse(atob(request.proof!.split(".")[1].replace(/-/g, "+").replace(/_/g, "/")));
    return typeof claims.jti === "string" ? claims.jti : undefined;
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

/** The keys that a service publishes, kept for an hour, and read again before that, at most once a minute, if one is missing. */
class Published {
  #client: Client;
  #now: () => number;
  #keys: JWKS | null = null;
  #at = 0;

  constructor(client: Client, now: () => number) {
    this.#client = client;
    this.#now = now;
  }

  /** Calls act with the keys, and once more with new ones if they lack one. */
  async use<T>(act: (keys: JWKS) => Promise<T>): Promise<T> {
    const keys = this.#keys === null || this.#now() - this.#at >= keysKeptSeconds ? await this.#read() : this.#keys;
    try {
      return await act(keys);
    } catch (error) {
      if (!(error instanceof TokenError) || error.code !== "unknown_key" || this.#now() - this.#at < keysPauseSeconds) throw error;
    }
    return act(await this.#read());
  }

  async #read(): Promise<JWKS> {
    const keys = await this.#client.jwks();
    this.#keys = keys;
    this.#at = this.#now();
    return keys;
  }
}

/**
 * Verifies credentials and their status, and keeps keys and lists as long as it may: most
 * verifications ask nobody. No API key is needed for either.
 */
export class Verifier {
  #client: Client;
  #issuer: string;
  #now: () => number;
  #published: Published;
  #lists = new Map<string, { list: StatusList; until: number }>();

  /** now in Unix seconds. */
  constructor(client: Client, issuer: string, now = () => Date.now() / 1000) {
    this.#client = client;
    this.#issuer = issuer;
    this.#now = now;
    this.#published = new Published(client, now);
  }

  /** The claims of a credential that is good and neither revoked nor suspended; any rejection means that it may not be relied on. */
  async verify(token: string): Promise<Claims> {
    const claims = await this.#published.use((keys) => verifyToken(token, keys, this.#issuer, this.#now()));
    readStatus(claims, await this.#list(claims));
    return claims;
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
    const list = await this.#published.use((keys) => openStatusList(claims, text, keys, this.#now()));
    if (this.#lists.size >= listsMost) this.#lists.clear();
    this.#lists.set(uri, { list, until: Math.min(this.#now() + list.ttl, list.exp) });
    return list;
  }
}

export type PermitReason =
  | "malformed" | "algorithm" | "type" | "key" | "signature" | "issuer" | "audience"
  | "expired" | "early" | "lifetime" | "verdict" | "payment" | "list" | "used";

/** Why a permit is not good: the first reason that holds. */
export class PermitError extends Error {
  code: PermitReason;
  constructor(code: PermitReason) {
    super(code);
    this.name = "PermitError";
    this.code = code;
  }
}

/** What a permit says of the payment that it permits. It has no members but these. */
export interface PayStatement {
  amount: USD; // Shortest decimal.
  currency: string; // USD.
  asset?: string; // CAIP-19, of an x402 payment, as are units and nonce.
  chain?: string; // Upper case, as is rail.
  nonce?: string;
  payee?: string; // Canonical wallet, as is payer.
  payeeIds?: string[]; // In place of a wallet: sorted hashes of name and identifiers.
  payer?: string;
  rail?: string;
  ref?: string; // The request's paymentRef.
  units?: string;
}

/**
 * What one is about to pay, in the words of the screening request. A payee is required: a
 * wallet, or else a name or identifiers. What was not told when the payment was screened must
 * not be told here, and the other way round.
 */
export interface Paying {
  amount: USD;
  chain?: string;
  rail?: string;
  payee?: string; // Wallet; with it name and identifiers do not count.
  payer?: string; // Wallet.
  name?: string; // Of the payee.
  identifiers?: NonNullable<Payment["cpIdentifiers"]>;
  ref?: string; // paymentRef.
  asset?: string; // x402: the token (CAIP-19), its smallest units, and the authorization's nonce.
  units?: string;
  nonce?: string;
}

export interface PermitClaims {
  iss: string;
  sub: string;
  aud: string;
  jti: string; // The txnId, the same in every permit of a payment.
  iat: number;
  exp: number;
  verdict: "PROCEED";
  pay: PayStatement;
  pay_hash: string;
  lists: { age: number; maxAge: number; [member: string]: unknown };
  cnf?: { jkt: string };
  [member: string]: unknown;
}

/** Remembers an id until a time (Unix seconds), and returns whether it is new. */
export type FirstUse = (jti: string, until: number) => boolean | Promise<boolean>;

export interface PermitCheck {
  keys: JWKS | PermitKeys;
  issuer: string; // The public URL of the guard that you trust.
  audience: string; // You, as the permit's author names you.
  pay?: PayStatement; // What you are about to let happen, never what the permit says.
  paying?: Paying; // In place of pay; the statement is built with the permit's jti.
  now?: number; // Unix seconds.
  maxListAge?: number; // Seconds; without it the permit's own bound counts alone.
  firstUse?: FirstUse; // Without it nobody remembers that the permit was used. FirstUses has one.
  sandbox?: boolean; // Whether permits of a sandbox are good too.
}

const permitMax = 4096;
const permitType = "railguard-permit+jwt";
const permitAhead = 60; // Seconds by which iat may be ahead of this clock.
const permitLifetime = 300; // Seconds.
const permitKept = 60; // Seconds behind exp for which a used id is remembered.
const ownKeys = ["jwk", "jku", "x5c", "x5t", "x5t#S256", "x5u"];

/**
 * Checks a permit: form, key, signature (ES256 only), issuer, audience, time, verdict, your
 * payment, the list's age, and first use at last. Rejects with a PermitError, or with another
 * error if it cannot tell: keys or first use cannot be read, or the check itself is incomplete.
 * After any rejection do not let the payment happen.
 */
export async function verifyPermit(permit: string, check: PermitCheck): Promise<PermitClaims> {
  if (!check.keys || !check.issuer || !check.audience || (check.pay === undefined) === (check.paying === undefined)) {
    throw new TypeError("a permit is checked with keys, issuer, audience, and either pay or paying");
  }
  let mine = await payHash(check.pay ?? (await buildPay(check.paying!, ""))); // What the caller got wrong is told whatever the permit says.
  const claims = strictObject(await openPermit(permit, check)) as PermitClaims;
  const { iat, exp, jti } = claims;
  if (!whole(iat) || !whole(exp) || typeof jti !== "string" || !jti) throw new PermitError("malformed");
  const now = Math.floor(check.now ?? Date.now() / 1000);
  if (claims.iss !== check.issuer) throw new PermitError("issuer");
  if (claims.aud !== check.audience) throw new PermitError("audience");
  if (!(exp > now)) throw new PermitError("expired");
  if (!(iat <= now + permitAhead)) throw new PermitError("early");
  if (exp <= iat || exp - iat > permitLifetime) throw new PermitError("lifetime");
  if (claims.verdict !== "PROCEED") throw new PermitError("verdict");
  if (check.paying) mine = await payHash(await buildPay(check.paying, jti));
  const said = await payHash(claims.pay).catch(() => "");
  if (said !== claims.pay_hash || mine !== claims.pay_hash) throw new PermitError("payment");
  const { age, maxAge } = (isObject(claims.lists) ? claims.lists : {}) as { age?: unknown; maxAge?: unknown };
  if (!whole(age) || !whole(maxAge) || age > maxAge || (check.maxListAge !== undefined && age > check.maxListAge)) throw new PermitError("list");
  if (check.firstUse && !(await check.firstUse(jti, exp + permitKept))) throw new PermitError("used");
  return claims;
}

/** Checks form, header, key and signature; returns the bytes of what the permit says. */
async function openPermit(permit: string, check: PermitCheck): Promise<Uint8Array> {
  const parts = typeof permit === "string" && permit.length <= permitMax ? permit.split(".") : [];
  if (parts.length !== 3) throw new PermitError("malformed");
  const [headerRaw, payload, signature] = parts.map((part) => {
    try {
      return part === "" ? new Uint8Array() : segment(part);
    } catch {
      throw new PermitError("malformed");
    }
  });
  const kid = readPermitHeader(strictObject(headerRaw), check.sandbox ?? false);
  const key = await (check.keys instanceof PermitKeys ? check.keys.find(kid) : findKey(check.keys, kid)).catch((error: unknown) => {
    throw error instanceof TokenError ? new PermitError("key") : error;
  });
  const signed = new TextEncoder().encode(parts[0] + "." + parts[1]);
  if (signature.length !== 64 || !(await crypto.subtle.verify({ name: "ECDSA", hash: "SHA-256" }, key, signature, signed))) throw new PermitError("signature");
  return payload;
}

function readPermitHeader(header: Record<string, unknown>, sandbox: boolean): string {
  const kid = header.kid;
  if (header.alg !== "ES256") throw new PermitError("algorithm");
  if (header.typ !== permitType) throw new PermitError("type");
  if (typeof kid !== "string" || !/^(sandbox-)?pm-v[0-9]+$/.test(kid) || (kid.startsWith("sandbox-") && !sandbox)) throw new PermitError("key");
  if (ownKeys.some((name) => Object.hasOwn(header, name))) throw new PermitError("key");
  if (Object.keys(header).length !== 3) throw new PermitError("malformed");
  return kid;
}

/** The keys of one issuer, read with a client and kept for an hour; no API key is needed. */
export class PermitKeys {
  #published: Published;

  /** The client's address is the issuer of the permits, or another address of the same service. now in Unix seconds. */
  constructor(client: Client, now = () => Date.now() / 1000) {
    this.#published = new Published(client, now);
  }

  find(kid: string): Promise<CryptoKey> {
    return this.#published.use((keys) => findKey(keys, kid));
  }
}

/** Remembers used permits in memory: within one process, until it ends. `first` is a FirstUse. */
export class FirstUses {
  #most: number;
  #now: () => number;
  #until = new Map<string, number>();
  #swept = -Infinity;

  /** With more than most ids it throws a RangeError, as it could not promise to know another one. now in Unix seconds. */
  constructor(most = 100_000, now = () => Date.now() / 1000) {
    this.#most = most;
    this.#now = now;
  }

  /** Whether an id is new; remembers it until a time, the later one if it comes again. */
  first = (jti: string, until: number): boolean => {
    const now = this.#now();
    const known = this.#until.get(jti);
    if (known !== undefined && now < known) {
      this.#until.set(jti, Math.max(known, until));
      return false;
    }
    this.#until.delete(jti);
    if (this.#until.size >= this.#most && Math.abs(now - this.#swept) >= 1) {
      for (const [one, end] of this.#until) if (now >= end) this.#until.delete(one);
      this.#swept = now;
    }
    if (this.#until.size >= this.#most) throw new RangeError("the store of used permits is full");
    this.#until.set(jti, until);
    return true;
  };
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
const whole = (value: unknown): value is number => Number.isInteger(value) && (value as number) >= 0 && (value as number) < 1e15;
const strictDepth = 16;
const strictToken = /[\t\n\r ]*(?:([[\]{},:])|("(?:[^"\\]|\\.)*")|([^[\]{},:"\t\n\r ]+))/y;

/**
 * Reads a JSON object in which no member stands twice, at any depth, as JSON.parse does not. A
 * whole number that is not written as one (1.0, 1e3, -0) or is too long is read as NaN.
 */
function strictObject(raw: Uint8Array): Record<string, unknown> {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(raw);
    JSON.parse(text); // From here on it is known to be JSON.
  } catch {
    throw new PermitError("malformed");
  }
  if (/\\u[dD][89a-fA-F]/.test(text)) throw new PermitError("malformed"); // The escape of half of a character: no permit needs one.
  let at = 0;
  const next = (): RegExpExecArray => {
    strictToken.lastIndex = at;
    const token = strictToken.exec(text)!;
    at = strictToken.lastIndex;
    return token;
  };
  const value = (token: RegExpExecArray, depth: number): unknown => {
    const [, sign, quoted, word] = token;
    if (quoted) return JSON.parse(quoted);
    if (word) return /^[-0-9]/.test(word) ? strictNumber(word) : JSON.parse(word);
    if (depth === 0) throw new PermitError("malformed");
    const list: unknown[] = [];
    const members: Record<string, unknown> = Object.create(null);
    for (let token = next(); token[1] !== "]" && token[1] !== "}"; token = next()) {
      if (token[1] === ",") token = next();
      if (sign === "[") {
        list.push(value(token, depth - 1));
        continue;
      }
      const name = JSON.parse(token[2]) as string;
      if (name in members) throw new PermitError("malformed");
      next(); // The colon.
      members[name] = value(next(), depth - 1);
    }
    return sign === "[" ? list : members;
  };
  const object = value(next(), strictDepth);
  if (!isObject(object)) throw new PermitError("malformed");
  return object;
}

function strictNumber(word: string): number {
  const number = Number(word);
  return Number.isInteger(number) && !/^(0|-?[1-9][0-9]{0,14})$/.test(word) ? NaN : number;
}

const payMembers = ["amount", "asset", "chain", "currency", "nonce", "payee", "payeeIds", "payer", "rail", "ref", "units"];

/** The value that binds a payment: b64url(SHA-256(JCS(pay))). */
export async function payHash(pay: PayStatement): Promise<string> {
  const texts = (value: unknown): value is string[] => Array.isArray(value) && value.every((text) => typeof text === "string");
  const members = Object.entries(isObject(pay) ? pay : {}).filter(([, value]) => value !== undefined);
  const closed = members.every(([name, value]) => payMembers.includes(name) && (name === "payeeIds" ? texts(value) : typeof value === "string"));
  if (members.length === 0 || !closed) throw new TypeError("a payment's statement has texts, of its members alone");
  members.sort(([one], [other]) => (one < other ? -1 : 1));
  return hashText(JSON.stringify(Object.fromEntries(members))); // With texts alone this is RFC 8785.
}

async function hashText(text: string): Promise<string> {
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return btoa(String.fromCharCode(...sum)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

// The letters of ASCII alone, so that all clients do the same.
const upper = (text: string): string => text.replace(/[a-z]/g, (c) => c.toUpperCase());
const lower = (text: string): string => text.replace(/[A-Z]/g, (c) => c.toLowerCase());
/** Addresses of EVM chains and in bech32 in lower case; those in base58 stay as they are. */
const canonicalWallet = (text: string): string => (/^0[xX][0-9a-fA-F]{40}$/.test(text) || text.startsWith("BC1") ? lower(text) : text);

/**
 * Builds the statement of the payment. jti is that of the permit, the payment's txnId: it salts
 * the hashes of name and identifiers.
 */
export async function buildPay(paying: Paying, jti: string): Promise<PayStatement> {
  const { asset = "", units = "", nonce = "", name = "", identifiers = [] } = paying;
  if (units && !/^(0|[1-9][0-9]*)$/.test(units)) throw new RangeError("units are a whole number");
  const pay: PayStatement = { amount: parseUSD(paying.amount), currency: "USD" };
  const add = (member: "asset" | "chain" | "nonce" | "payee" | "payer" | "rail" | "ref" | "units", text: string): void => {
    if (text) pay[member] = text;
  };
  add("chain", upper(paying.chain ?? ""));
  add("rail", upper(paying.rail ?? ""));
  add("payee", canonicalWallet(paying.payee ?? ""));
  add("payer", canonicalWallet(paying.payer ?? ""));
  add("ref", paying.ref ?? "");
  add("units", units);
  add("asset", asset.startsWith("eip155:") ? lower(asset) : asset);
  add("nonce", /^0[xX][0-9a-fA-F]+$/.test(nonce) ? lower(nonce) : nonce);
  if (pay.payee) return pay;
  const known = identifiers.map(({ type, value }) => [type as string, identifierForm(type, value)]);
  const blanks = /^[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+|[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+$/g;
  const written = name.replace(blanks, "").normalize("NFC");
  if (written) known.push(["name", written]);
  if (known.length === 0) throw new RangeError("a payment without a payee: it would be any payee's");
  pay.payeeIds = (await Promise.all(known.map(([type, value]) => hashText(`${jti}\n${type}\n${value}`)))).sort();
  return pay;
}

// Words that people write before a number.
const writtenWords: Record<string, string[]> = { iban: ["IBAN"], imo: ["IMONO", "IMO"], mmsi: ["MMSI"], lei: ["LEI"], duns: ["DUNS"] };
const documents = ["bic", "iban", "lei", "tax_id", "registration", "national_id", "passport", "imo", "mmsi", "aircraft_tail", "duns", "account"];

/** The normal form of an identifier, in which two spellings are the same. It reads ASCII alone. */
function identifierForm(type: string, text: string): string {
  if (/[^\x00-\x7f]/.test(text)) throw new RangeError("not an identifier in ASCII");
  let form: string;
  if (type === "email") form = emailForm(text);
  else if (type === "website") form = hostForm(hostOf(text));
  else if (type === "phone") form = phoneForm(text);
  else if (documents.includes(type)) form = documentForm(type, text);
  else throw new RangeError("not a type of identifier");
  if (!form) throw new RangeError("not an identifier in ASCII");
  return form;
}

/** Letters and digits, in upper case. A BIC of a main office has eleven characters. */
function documentForm(type: string, text: string): string {
  let form = upper(text.replace(/[^A-Za-z0-9]/g, ""));
  for (const word of writtenWords[type] ?? []) {
    const rest = form.slice(word.length);
    if (form.startsWith(word) && rest && (rest[0] <= "9" || form.length > 15)) form = rest;
  }
  if (type === "bic" && form.length === 12) return form.slice(0, 8) + form.slice(9); // The ninth character is a terminal's.
  return type === "bic" && form.length === 8 ? form + "XXX" : form;
}

const trimSigns = (text: string): string => text.replace(/^[ \t\r\n"'<>,;]+|[ \t\r\n"'<>,;]+$/g, "");

/** An address as people write it, with a name before it or "mailto:". */
function emailForm(text: string): string {
  text = trimSigns(text);
  if (text.includes("<")) text = trimSigns(text.slice(text.lastIndexOf("<")));
  if (text.length > 7 && lower(text.slice(0, 7)) === "mailto:") text = text.slice(7);
  if (text.indexOf("?") > 0) text = text.slice(0, text.indexOf("?"));
  const at = text.lastIndexOf("@");
  const host = hostForm(text.slice(at + 1));
  if (at <= 0 || !host) return "";
  return lower(text.slice(0, at).replace(/[\x00-\x20]/g, "")) + "@" + (host === "googlemail.com" ? "gmail.com" : host);
}

/** The host of an address of the web. */
function hostOf(text: string): string {
  text = trimSigns(text);
  if (/^[^:]+:[/\\]/.test(text)) text = text.slice(text.indexOf(":") + 1).replace(/^[/\\]+/, "");
  text = text.replace(/^[/\\ ]+/, "").split(/[/\\?#]/, 1)[0];
  text = text.slice(text.lastIndexOf("@") + 1);
  return text.split(":").length === 2 ? text.slice(0, text.indexOf(":")) : text;
}

function hostForm(host: string): string {
  const form = lower(host).replace(/[\x00-\x20[\]()]/g, "").replace(/\.+$/, "");
  return form.startsWith("www.") && form.indexOf(".", 4) > 4 ? form.slice(4) : form;
}

/** The digits of a telephone number (E.164), without "(0)", "00" and an extension. */
function phoneForm(text: string): string {
  let form = "";
  for (let at = 0; at < text.length; at++) {
    if (form && text.startsWith("(0)", at)) at += 2;
    else if (/[0-9]/.test(text[at])) form += text[at];
    else if (form.length > 5 && "xXeE#;".includes(text[at])) break;
  }
  return form.length > 2 && form.startsWith("00") ? form.slice(2) : form;
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
