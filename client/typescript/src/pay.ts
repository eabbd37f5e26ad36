// Makes payments so that no crash makes one twice, or forgets one.

import type { Client } from "./client.ts";
import { RailguardError } from "./errors.ts";
import { bodyOf, bookOf } from "./journal.ts";
import type { Book, End, Journal, OpenPayment, Step } from "./journal.ts";
import { encode, parse, parseUSD } from "./money.ts";
import { keyOf } from "./proof.ts";
import { newKey } from "./transport.ts";
import type { Payment, Transaction, USD, Verdict } from "./types.ts";

/** What the rail says of a payment that it made. amount is what was paid, if it is not what was asked for. */
export interface Sent {
  railRef: string;
  amount?: USD | undefined;
}

/**
 * Moves the money: called once, on PROCEED alone. It throws NotSent if it is certain that no money moves; after
 * any other error nobody knows, and the payment goes on counting. id is the payment's key, for the rail's own.
 */
export type Send = (verdict: Verdict, id: string) => Promise<Sent> | Sent;

/** Thrown by send: no money has moved, and none will. The message is the reason for the release. */
export class NotSent extends Error {
  override name = "NotSent";
}

/**
 * A payment that did not come to its end. step says how far it came: "send": nobody knows whether money moved;
 * "sent": it did, and is not settled yet; "notSent": it did not, and is not released yet. resume ends it.
 */
export class UnfinishedPayment extends Error {
  override name = "UnfinishedPayment";
  readonly id: string;
  readonly txnId: string;
  readonly step: Step;
  constructor(id: string, txnId: string, step: Step, options: { cause: unknown }) {
    super(step === "send" ? "it is not known whether the payment was made: it goes on counting" : `the payment stands at "${step}"`, options);
    [this.id, this.txnId, this.step] = [id, txnId, step];
  }
}

export interface PayOptions {
  journal: Journal;
  key?: string | undefined; // The payment's Idempotency-Key; drawn without one.
  settler?: Client | undefined; // Says what became of the payment, with a settler's key. Without it this client does.
  signal?: AbortSignal | undefined; // Ends the screening. What comes after send is not broken off.
}

/** What became of a payment. */
export interface Paid {
  id: string;
  state: End;
  verdict: Verdict; // Of a refused one: REVIEW, BLOCK or UNKNOWN.
  transaction?: Transaction;
}

const holdSecondsUsual = 600; // If the payment does not say how long send may take.
const neverSent = "the program ended before it was sent";
const keyMax = 240; // Characters, so that the keys of settle and release fit too.

export async function pay(client: Client, payment: Payment, send: Send, options: PayOptions): Promise<Paid> {
  const { token, hold, ...told } = payment;
  if (told.proof !== undefined && !hold) throw new TypeError("a proof is for the whole payment: it lacks its hold");
  const holdSeconds = hold?.ttlSeconds ?? holdSecondsUsual;
  const members = encode(told, "");
  const id = options.key ?? keyOf(payment) ?? newKey();
  if (id.length > keyMax) throw new RangeError(`the key of a payment has at most ${keyMax} characters here`);
  const book = await bookOf(options.journal);
  if (book.knows(id) || book.active.has(id)) throw new Error(`the journal has a payment ${id}: resume ends it`);
  book.active.add(id);
  try {
    await book.begin(id, members, holdSeconds);
    const verdict = await screen(client, book, id, bodyOf(members, token, holdSeconds), options.signal);
    if (verdict.verdict !== "PROCEED") {
      await book.note(id, "end", { state: "refused" });
      return { id, state: "refused", verdict };
    }
    return await carryOut(options.settler ?? client, book, id, verdict, send);
  } finally {
    book.active.delete(id);
  }
}

/** Screens, and notes the verdict. */
async function screen(client: Client, book: Book, id: string, body: object, signal: AbortSignal | undefined): Promise<Verdict> {
  let usedBefore = false;
  let verdict: Verdict;
  try {
    verdict = await client.call<Verdict>("POST", "/v1/screen", body, {
      key: id, signal, onAnswer: (head) => void (usedBefore = head.replayed && head.attempts === 1),
    });
  } catch (error) {
    // Nothing was recorded. After any other error it may have been, and resume finds out.
    if (error instanceof RailguardError && error.outcome === "none") await book.note(id, "end", { state: "refused" });
    throw error;
  }
  if (usedBefore) { // By a program with another journal, which may have sent the money.
    await book.note(id, "end", { state: "refused" });
    throw new Error(`the key ${id} was used before, and not by this journal: it is not paid again`);
  }
  await book.note(id, "verdict", { verdict: verdict.verdict, txnId: verdict.txnId });
  return verdict;
}

/** Sends the money, and says what became of it. */
async function carryOut(settler: Client, book: Book, id: string, verdict: Verdict, send: Send): Promise<Paid> {
  const { txnId } = verdict;
  await book.note(id, "send", { txnId });
  try {
    const { railRef, amount } = await send(verdict, id);
    if (typeof railRef !== "string") throw new TypeError("send says no railRef");
    await book.note(id, "sent", { railRef, amount: amount === undefined ? undefined : parseUSD(amount) });
  } catch (cause) {
    if (!(cause instanceof NotSent)) throw new UnfinishedPayment(id, txnId, "send", { cause });
    await book.note(id, "notSent", { reason: cause.message || "not sent" });
  }
  const one = book.open.get(id)!;
  try {
    const [state, transaction] = await tell(settler, book, one);
    return { id, state, verdict, transaction };
  } catch (cause) {
    throw new UnfinishedPayment(id, txnId, one.step, { cause });
  }
}

/** Settles what was sent, releases what was not, and notes the end. Said again, with the same key, it changes nothing. */
async function tell(settler: Client, book: Book, one: OpenPayment): Promise<[End, Transaction]> {
  let said: Transaction;
  if (one.step === "sent") {
    const settlement: { amount?: USD; railRef?: string } = {}; // In this order: the keys bind the bytes.
    if (one.amount !== undefined) settlement.amount = one.amount;
    if (one.railRef) settlement.railRef = one.railRef;
    said = await settler.settle(one.txnId!, settlement, one.id + ".settle");
  } else {
    said = await settler.release(one.txnId!, one.step === "notSent" ? one.reason || "not sent" : neverSent, one.id + ".release");
  }
  const state = one.step === "sent" ? "settled" : "released";
  await book.note(one.id, "end", { state });
  return [state, said];
}

/** What the rail says of a payment, of which nobody knows whether it was made. */
export type Checked = ({ state: "sent" } & Sent) | { state: "notSent"; reason?: string } | { state: "unknown" };

/** Asks the rail. What is not certain is "unknown". */
export type Check = (asked: { id: string; txnId: string; at: string; payment: Record<string, unknown> }) => Promise<Checked> | Checked;

export interface ResumeOptions {
  /** The token of a payment that may not have been screened, by its key; journals keep none. */
  token?: (id: string) => string | Promise<string>;
  settler?: Client | undefined;
  signal?: AbortSignal | undefined;
}

/** What resume made of a payment. An open one stays as it was: error says why, or the rail does not know. */
export interface Resumed {
  id: string;
  txnId?: string;
  state: End | "open";
  step: Step; // Where it stood.
  error?: unknown;
}

export async function resume(client: Client, journal: Journal, check: Check, options: ResumeOptions): Promise<Resumed[]> {
  const book = await bookOf(journal);
  const outcomes: Resumed[] = [];
  for (const one of [...book.open.values()]) {
    if (book.active.has(one.id)) continue; // pay is at it.
    options.signal?.throwIfAborted();
    book.active.add(one.id);
    const outcome: Resumed = { id: one.id, state: "open", step: one.step };
    try {
      outcome.state = await endOne(client, book, one, check, options);
    } catch (error) {
      outcome.error = error;
    } finally {
      book.active.delete(one.id);
    }
    if (one.txnId !== undefined) outcome.txnId = one.txnId;
    outcomes.push(outcome);
  }
  return outcomes;
}

async function endOne(client: Client, book: Book, one: OpenPayment, check: Check, options: ResumeOptions): Promise<End | "open"> {
  if (one.step === "screen") await screenAgain(client, book, one, options);
  if (one.step === "verdict" && one.verdict !== "PROCEED") {
    await book.note(one.id, "end", { state: "refused" });
    return "refused";
  }
  if (one.step === "send") {
    const asked = { id: one.id, txnId: one.txnId!, at: one.at, payment: parse(one.payment)! };
    const told = await check(asked);
    if (told.state === "sent") await book.note(one.id, "sent", { railRef: told.railRef, amount: told.amount === undefined ? undefined : parseUSD(told.amount) });
    else if (told.state === "notSent") await book.note(one.id, "notSent", { reason: told.reason || "not sent" });
    else return "open";
  }
  return (await tell(options.settler ?? client, book, one))[0];
}

const keyKeptMs = 24 * 60 * 60 * 1000; // How long the service knows a key.
const keyMarginMs = 10 * 60 * 1000;

/** Learns the transaction of a payment whose verdict never came: by its key and the same bytes. */
async function screenAgain(client: Client, book: Book, one: OpenPayment, options: ResumeOptions): Promise<void> {
  if (!(Date.now() - Date.parse(one.at) < keyKeptMs - keyMarginMs)) {
    throw new Error("its key is too old to be asked about: look for the payment in the audit, and release it");
  }
  if (!options.token) throw new Error("it needs the credential: give token");
  const body = bodyOf(one.payment, await options.token(one.id), one.holdSeconds);
  const verdict = await client.call<Verdict>("POST", "/v1/screen", body, { key: one.id, signal: options.signal });
  await book.note(one.id, "verdict", { verdict: verdict.verdict, txnId: verdict.txnId });
}
