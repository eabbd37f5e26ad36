// The calls of the API by their names.

import type {
  Found, InboxList, InboxQuery, ItemComment, Learning, PartyDecided, PartyDecision, PartyList, PartyQuery, WholeParty, WorkEvent,
} from "./casework.ts";
import { RailguardError } from "./errors.ts";
import type { EventList, Webhook, WebhookChange } from "./events.ts";
import type { JWKS } from "./keys.ts";
import type { Journal } from "./journal.ts";
import { readPages } from "./pages.ts";
import type { Lists, Page, Query } from "./pages.ts";
import { pay, resume } from "./pay.ts";
import type { Check, Paid, PayOptions, Resumed, ResumeOptions, Send } from "./pay.ts";
import { keyOf } from "./proof.ts";
import type { Paying } from "./statement.ts";
import { Stream } from "./stream.ts";
import type { Decided, StreamOptions } from "./stream.ts";
import { mayRepeat, newKey, readHow, readResult, Transport } from "./transport.ts";
import type { Answer, CallOptions, How, Options } from "./transport.ts";
import type {
  Agent, Attestation, BatchPayment, Confirm, Confirmation, Delegate, Disposition, DryRun, Health, Limits, Payment, Redemption,
  Registration, StatusChange, Transaction, USD, Verdict,
} from "./types.ts";

/** Calls a cluster. The last argument of each call says how it is made; a text is its Idempotency-Key. */
export class Client {
  #transport: Transport;

  constructor(options: Options) {
    this.#transport = new Transport(options);
  }

  // The integrator's flow. Without an idempotency key each call draws one.

  register(agent: Agent, how?: How): Promise<Registration> {
    return this.#post("/v1/agents/register", agent, how);
  }
  delegate(child: Delegate, how?: How): Promise<Registration> {
    return this.#post("/v1/delegates/create", child, how);
  }
  /** Decides on one payment. Pay on PROCEED and on nothing else; an exception is not a verdict. */
  screen(payment: Payment, how?: How): Promise<Verdict> {
    return this.#post("/v1/screen", payment, how, keyOf(payment));
  }
  dryRun(payment: Payment, how?: How): Promise<DryRun> {
    return this.#post("/v1/screen/dry-run", payment, how, keyOf(payment));
  }
  settle(txnId: string, settlement: { amount?: USD; railRef?: string } = {}, how?: How): Promise<Transaction> {
    return this.#post(`/v1/transactions/${encodeURIComponent(txnId)}/settle`, settlement, how);
  }
  release(txnId: string, reason: string, how?: How): Promise<Transaction> {
    return this.#post(`/v1/transactions/${encodeURIComponent(txnId)}/release`, { reason }, how);
  }
  /** Judges a recorded payment again before it is made. Pay on PROCEED and on nothing else. */
  confirm(txnId: string, asked: Confirm = {}, how?: How): Promise<Confirmation> {
    return this.#post(`/v1/transactions/${encodeURIComponent(txnId)}/confirm`, asked, how, keyOf(asked));
  }
  /**
   * Takes the leave of a permit, once in the whole cluster. Hand over if the state is "redeemed". pay is
   * what you are about to let happen. After an error, the same key tells whether this call took it.
   */
  redeemPermit(permit: string, pay?: Paying, how?: How): Promise<Redemption> {
    return this.#post("/v1/permits/redeem", { permit, pay }, how);
  }
  review(txnId: string, disposition: Disposition, reviewedBy: string, notes?: string, how?: How): Promise<Verdict> {
    return this.#post(`/v1/reviews/${encodeURIComponent(txnId)}`, { disposition, reviewedBy, notes }, how);
  }
  attest(agentId: string, attestedBy: string, note?: string, how?: How): Promise<Attestation> {
    return this.#post(`/v1/agents/${encodeURIComponent(agentId)}/attest`, { attestedBy, note }, how);
  }
  suspend(agentId: string, reason: string, how?: How): Promise<StatusChange> {
    return this.#post(`/v1/agents/${encodeURIComponent(agentId)}/suspend`, { reason }, how);
  }
  reinstate(agentId: string, reason: string, how?: How): Promise<StatusChange> {
    return this.#post(`/v1/agents/${encodeURIComponent(agentId)}/reinstate`, { reason }, how);
  }
  revoke(agentId: string, reason: string, reasonCode?: string, how?: How): Promise<StatusChange> {
    return this.#post(`/v1/agents/${encodeURIComponent(agentId)}/revoke`, { reason, reasonCode }, how);
  }
  audit(txnId: string, how?: How): Promise<Verdict> {
    return this.call("GET", `/v1/audit/${encodeURIComponent(txnId)}`, undefined, how);
  }
  limits(agentId: string, how?: How): Promise<Limits> {
    return this.call("GET", `/v1/agents/${encodeURIComponent(agentId)}/limits`, undefined, how);
  }

  // Who was paid, what waits for an officer, who works on it, and what was decided. For an institution's
  // own tools: role reviewer, or auditor to read, and a key without an operator's scope.

  /** Counterparties with what they hit: those with open work, or with state "all" every one. */
  parties(query: PartyQuery = {}, how?: How): Promise<PartyList> {
    return this.#read("/v1/parties", { ...query }, how);
  }
  /** Everything about one party: paid, tried, waiting, decided and closed. */
  party(partyId: string, how?: How): Promise<WholeParty> {
    return this.call("GET", `/v1/parties/${encodeURIComponent(partyId)}`, undefined, how);
  }
  /** One decision about all open reviews of a party, or about only those. Each stands in its own record: look at every one of the results. */
  decideParty(partyId: string, decision: PartyDecision, how?: How): Promise<PartyDecided> {
    return this.#post(`/v1/parties/${encodeURIComponent(partyId)}/decide`, decision, how);
  }
  /** What waits for an officer, the highest rank first. */
  inbox(query: InboxQuery = {}, how?: How): Promise<InboxList> {
    return this.#read("/v1/inbox", { ...query, waitsForMe: query.waitsForMe || undefined }, how);
  }
  /** Leases an item of the inbox to a person for ten minutes. */
  claimItem(itemId: string, assignee: string, how?: How): Promise<WorkEvent> {
    return this.#post(`/v1/inbox/${encodeURIComponent(itemId)}/claim`, { assignee }, how);
  }
  /** Gives a claim back. With force it may be somebody else's. */
  releaseItem(itemId: string, by: string, force?: boolean, how?: How): Promise<WorkEvent> {
    return this.#post(`/v1/inbox/${encodeURIComponent(itemId)}/release`, { by, force }, how);
  }
  assignItem(itemId: string, assignee: string, by?: string, how?: How): Promise<WorkEvent> {
    return this.#post(`/v1/inbox/${encodeURIComponent(itemId)}/assign`, { assignee, by }, how);
  }
  commentItem(itemId: string, by: string, comment: string, how?: How): Promise<WorkEvent> {
    return this.#post(`/v1/inbox/${encodeURIComponent(itemId)}/comment`, { by, comment }, how);
  }
  /** The comments on an item, oldest first. */
  async itemComments(itemId: string, how?: How): Promise<ItemComment[]> {
    return (await this.call<{ data: ItemComment[] }>("GET", `/v1/inbox/${encodeURIComponent(itemId)}/comments`, undefined, how)).data;
  }
  /** Finds by a part of a name in any order, another spelling or an id. The text stands in the body, so that no balancer logs it. */
  search(q: string, how?: How): Promise<Found> {
    return this.#ask("/v1/search", { q }, how);
  }
  /** Counts the decisions of a period of times or dates; without one, of the 30 days that end now. */
  learning(period: { from?: string; to?: string } = {}, how?: How): Promise<Learning> {
    return this.#read("/v1/learning", { ...period }, how);
  }
  /** What happened behind a cursor (none: the oldest; "latest"); types are names or groups ("hold.*"), wait whole seconds. */
  events(query: { after?: string; types?: string[]; wait?: number; limit?: number } = {}, how?: How): Promise<EventList> {
    return this.#read("/v1/events", { ...query, types: query.types?.join(",") }, how);
  }
  /** Has events sent to a URL; the answer has the secret, once. Role admin. */
  createWebhook(webhook: Webhook, how?: How): Promise<WebhookChange> {
    return this.#post("/v1/webhooks", webhook, how);
  }
  /** Has one event sent again, or all that were given up. */
  redeliver(webhookId: string, eventId?: string, how?: How): Promise<WebhookChange> {
    return this.#post(`/v1/webhooks/${encodeURIComponent(webhookId)}/redeliver`, eventId ? { eventId } : { all: true }, how);
  }
  /** The keys for verifyToken. Keep them for an hour; read them again, at most once a minute, for a new kid. */
  jwks(how?: How): Promise<JWKS> {
    return this.call("GET", "/v1/.well-known/jwks.json", undefined, how);
  }
  /** The text of the status list at a path; a Verifier reads it. */
  async statusList(path: string, how?: How): Promise<string> {
    const options = readHow(how);
    return (await this.#transport.send<string>("GET", path, undefined, options, true, this.#transport.end(options), true)).data;
  }
  health(how?: How): Promise<Health> {
    return this.call("GET", "/v1/health", undefined, how);
  }

  /**
   * Decides on up to 256 payments, each by itself: a verdict or an error each, in
   * order. What the service could not take is sent again, alone, within attempts
   * and deadline.
   */
  async batch(payments: BatchPayment[], how?: Omit<CallOptions, "key">): Promise<(Verdict | RailguardError)[]> {
    for (const payment of payments) if (!payment.proof) payment.idempotencyKey ||= newKey();
    const options = readHow(how);
    const end = this.#transport.end(options);
    const results: (Verdict | RailguardError)[] = [];
    let pending = payments.map((_, i) => i);
    for (let turn = 0; ; ) {
      let given: Record<string, unknown>[];
      try {
        const told = await this.#transport.send<{ results: Record<string, unknown>[] }>("POST", "/v1/screen/batch", { payments: pending.map((i) => payments[i]) }, options, true, end);
        given = told.data.results;
        if (!Array.isArray(given) || given.length !== pending.length) {
          throw new RailguardError(200, "bad_answer", "not a result for each payment", "unknown");
        }
      } catch (failure) {
        if (turn === 0 || !(failure instanceof RailguardError)) throw failure;
        return results;
      }
      const again: number[] = [];
      pending.forEach((i, n) => {
        const result = readResult(given[n]!);
        const before = results[i];
        if (result instanceof RailguardError) {
          result.idempotencyKey = payments[i]!.idempotencyKey ?? keyOf(payments[i]!) ?? "";
          if (before instanceof RailguardError && before.outcome === "unknown") result.outcome = "unknown";
          if (mayRepeat(result)) again.push(i);
        }
        results[i] = result;
      });
      pending = again;
      turn++;
      if (pending.length === 0 || turn >= this.#transport.attempts || !(await this.#transport.pause(this.#transport.backoff(turn - 1), end, options.signal))) return results;
    }
  }

  /**
   * Decides on payments as they come, over one open connection: each payment once, with what batch gives for one,
   * in the order of decision. It reads the source at most `window` payments ahead of what it yielded. What the
   * service could not take, and what a broken connection left unanswered, is sent again with its key, within
   * attempts and deadline. If no connection can be had, every payment that was read is yielded with that error,
   * and no more are read. An error of the source is thrown behind the results of the payments before it. It needs
   * Node: a browser does not send and receive at once.
   */
  stream<P extends BatchPayment>(payments: Iterable<P> | AsyncIterable<P>, how: StreamOptions = {}): AsyncGenerator<Decided<P>, void, undefined> {
    return new Stream(this.#transport, "/v1/screen/stream", payments, how).run();
  }

  /** Makes any call of the API. A POST without a key is never made again after an unknown outcome. */
  async call<T>(method: string, path: string, body?: unknown, how?: How): Promise<T> {
    return (await this.answer<T>(method, path, body, how)).data;
  }

  /** As call, with what stands in the headers of the answer: version, index, request id. */
  answer<T>(method: string, path: string, body?: unknown, how?: How): Promise<Answer<T>> {
    const options = readHow(how);
    const repeatable = method === "GET" || (method === "POST" && !!options.key);
    return this.#transport.send<T>(method, path, body, options, repeatable);
  }

  /**
   * Reads a list, page after page, to its end: any list of the API that has a cursor. limit of the query
   * is the size of a page. Of the events it reads those that there are now.
   */
  pages<P extends keyof Lists>(path: P, query?: Query, how?: How): AsyncGenerator<Page<Lists[P]>, void, undefined>;
  pages<Row>(path: string, query?: Query, how?: How): AsyncGenerator<Page<Row>, void, undefined>;
  pages(path: string, query: Query = {}, how?: How): AsyncGenerator<Page<unknown>, void, undefined> {
    return readPages((method, at, body) => (method === "POST" ? this.#ask(at, body, how) : this.#read(at, body, how)), path, query);
  }

  /** Reads a list to its end, row by row. */
  rows<P extends keyof Lists>(path: P, query?: Query, how?: How): AsyncGenerator<Lists[P], void, undefined>;
  rows<Row>(path: string, query?: Query, how?: How): AsyncGenerator<Row, void, undefined>;
  async *rows(path: string, query: Query = {}, how?: How): AsyncGenerator<unknown, void, undefined> {
    for await (const page of this.pages<unknown>(path, query, how)) yield* page.data;
  }

  /**
   * Makes one payment: screens it with a hold, calls send on PROCEED alone, and settles what send says was paid.
   * Each step stands in the journal before it is taken, so that resume ends what a crash left.
   */
  pay(payment: Payment, send: Send, options: PayOptions): Promise<Paid> {
    return pay(this, payment, send, options);
  }

  /** Ends the payments that a crash left open in the journal. It never sends money. */
  resume(journal: Journal, check: Check, options: ResumeOptions): Promise<Resumed[]> {
    return resume(this, journal, check, options);
  }

  #post<T>(path: string, body: unknown, how?: How, proven?: string): Promise<T> {
    const options = readHow(how);
    return this.call("POST", path, body, { ...options, key: options.key || proven || newKey() });
  }

  /** A POST that only reads: it may be made again. */
  async #ask<T>(path: string, body: unknown, how?: How): Promise<T> {
    return (await this.#transport.send<T>("POST", path, body, readHow(how), true)).data;
  }

  #read<T>(path: string, query: Record<string, unknown>, how?: How): Promise<T> {
    const given = Object.entries(query).filter(([, value]) => value !== undefined);
    const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
    return this.call("GET", path + (text && "?" + text), undefined, how);
  }
}
