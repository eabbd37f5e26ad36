// Payments over one open connection: lines out, and lines in as each is decided.

import { openDuplex } from "./duplex.ts";
import type { Duplex } from "./duplex.ts";
import { RailguardError } from "./errors.ts";
import { encode, parse } from "./money.ts";
import { keyOf } from "./proof.ts";
import { isObject } from "./strict.ts";
import { mayRepeat, newKey, readResult } from "./transport.ts";
import type { CallOptions, Transport } from "./transport.ts";
import type { BatchPayment, Verdict } from "./types.ts";

const windowDefault = 256;
const aliveMs = 10000; // After so long without a line an empty one keeps the connection open.
const pieceMost = 1 << 16; // Characters after which lines are sent without waiting for more.

/** How a stream is made. deadlineMs is that of one payment with all its attempts. */
export interface StreamOptions extends Omit<CallOptions, "key" | "ifMatch" | "minIndex" | "onAnswer"> {
  window?: number | undefined; // Payments that are read and not yielded yet, at most; 256.
}

/** A payment and what was decided: a verdict, or why there is none. */
export type Decided<P extends BatchPayment> = [payment: P, result: Verdict | RailguardError];

/** A payment on its way. */
interface Item<P> {
  payment: P;
  key: string;
  line: string; // It stays: a key binds its bytes.
  end: number; // It is not sent again after this.
  due: number; // It is not sent before this.
  attempts: number;
  unknown: boolean; // An attempt's outcome is unknown.
}

/** One use of Client.stream. Three loops share it: one reads the source, one connections, and one writes each of these. */
export class Stream<P extends BatchPayment> {
  #transport: Transport;
  #payments: Iterable<P> | AsyncIterable<P>;
  #how: StreamOptions;
  #path: string;
  #window: number;
  #stop = new AbortController(); // Nothing more is read or sent.
  #at: number; // The address in use.
  #fails = 0; // Connections in a row that brought no answer.
  #waiting: Item<P>[] = []; // To be sent.
  #decided: Decided<P>[] = []; // To be yielded.
  #open = 0; // Read, and not yielded.
  #ended = false; // The source has.
  #finished = false; // All is decided.
  #failures: unknown[] = []; // Of the source, or of the caller.
  #wakers = new Set<() => void>();

  constructor(transport: Transport, path: string, payments: Iterable<P> | AsyncIterable<P>, how: StreamOptions) {
    this.#window = how.window ?? windowDefault;
    if (!(this.#window >= 1)) throw new RangeError("window is at least 1");
    this.#transport = transport;
    this.#path = path;
    this.#payments = payments;
    this.#how = how;
    this.#at = transport.at;
  }

  async *run(): AsyncGenerator<Decided<P>, void, undefined> {
    const abort = (): void => this.#halt();
    this.#how.signal?.addEventListener("abort", abort, { once: true });
    if (this.#how.signal?.aborted) this.#halt();
    try {
      void this.#feed();
      void this.#drive();
      for (;;) {
        const one = this.#decided.shift();
        if (one) {
          this.#open--;
          this.#wake();
          yield one;
        } else if (this.#finished) break;
        else await this.#changed();
      }
    } finally {
      this.#halt();
      this.#how.signal?.removeEventListener("abort", abort);
    }
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  #halt(): void {
    this.#stop.abort();
    this.#wake();
  }

  #wake(): void {
    const wakers = [...this.#wakers];
    this.#wakers.clear();
    for (const wake of wakers) wake();
  }

  /** Waits until something has changed, or for a while. */
  #changed(ms?: number): Promise<void> {
    return new Promise((done) => {
      const timer = ms === undefined ? undefined : setTimeout(() => this.#wakers.delete(wake) && done(), ms);
      const wake = (): void => {
        clearTimeout(timer);
        done();
      };
      this.#wakers.add(wake);
    });
  }

  async #feed(): Promise<void> {
    try {
      for await (const payment of this.#payments) {
        if (this.#stop.signal.aborted) return;
        if (!payment.proof) payment.idempotencyKey ||= newKey();
        const key = payment.idempotencyKey ?? keyOf(payment) ?? "";
        this.#waiting.push({ payment, key, line: encode(payment, "") + "\n", end: this.#transport.end(this.#how), due: 0, attempts: 0, unknown: false });
        this.#open++;
        this.#wake();
        while (this.#open >= this.#window && !this.#stop.signal.aborted) await this.#changed();
      }
    } catch (error) {
      this.#failures.push(error);
    } finally {
      this.#ended = true;
      this.#wake();
    }
  }

  /** Opens connections until all is decided. */
  async #drive(): Promise<void> {
    try {
      for (;;) {
        while (this.#waiting.length === 0 && !this.#ended && !this.#stop.signal.aborted) await this.#changed();
        if (this.#waiting.length === 0) return;
        const failure = await this.#connect();
        if (failure && !(await this.#retry(failure))) return this.#giveUp(failure);
      }
    } catch (error) {
      this.#failures.push(error);
    } finally {
      this.#finished = true;
      this.#wake();
    }
  }

  /** Waits for the next connection, at the next address; false: this failure is final. */
  async #retry(failure: RailguardError): Promise<boolean> {
    const transport = this.#transport;
    this.#fails++;
    if (!mayRepeat(failure) || this.#fails >= transport.attempts || this.#stop.signal.aborted) return false;
    this.#at = (this.#at + 1) % transport.addresses.length;
    // Nothing happened there: the next address may be asked at once, each of them once.
    if (failure.outcome === "none" && failure.status !== 429 && this.#fails < transport.addresses.length) return true;
    return transport.pause(Math.max(failure.retryAfterMs, transport.backoff(this.#fails - 1)), transport.end(this.#how), this.#stop.signal);
  }

  /** Decides all that have no result: there is none. */
  #giveUp(failure: RailguardError): void {
    this.#halt();
    for (const item of this.#waiting.splice(0)) {
      const last = new RailguardError(failure.status, failure.code, failure.message, item.unknown ? "unknown" : "none", { cause: failure });
      last.param = failure.param;
      last.details = failure.details;
      last.requestId = failure.requestId;
      last.retryAfterMs = failure.retryAfterMs;
      last.body = failure.body;
      last.attempts = item.attempts;
      last.idempotencyKey = item.key;
      this.#decided.push([item.payment, last]);
    }
  }

  /** Takes what an attempt brought: it is yielded, or the attempt is made again. */
  #settle(item: Item<P>, result: Verdict | RailguardError): void {
    item.attempts++;
    if (result instanceof RailguardError) {
      item.unknown ||= result.outcome === "unknown";
      if (item.unknown) result.outcome = "unknown";
      result.attempts = item.attempts;
      result.idempotencyKey = item.key;
      item.due = performance.now() + Math.max(result.retryAfterMs, this.#transport.backoff(item.attempts - 1));
      if (mayRepeat(result) && item.attempts < this.#transport.attempts && item.due < item.end && !this.#stop.signal.aborted) {
        this.#waiting.push(item);
        return this.#wake();
      }
    }
    this.#decided.push([item.payment, result]);
    this.#wake();
  }

  /** Uses one connection until all is decided (undefined) or it ends. */
  async #connect(): Promise<RailguardError | undefined> {
    const transport = this.#transport;
    const headers = transport.headers(this.#how, "application/x-ndjson");
    const under = new Map<number, Item<P>>(); // Sent and not answered, by line.
    let failure: RailguardError | undefined;
    let taken: number | undefined; // Lines that the service has taken, if it said so.
    let duplex: Duplex;
    try {
      duplex = await openDuplex(transport.addresses[this.#at]! + this.#path, headers, transport.attemptTimeout(this.#how), this.#stop.signal);
    } catch (error) {
      if (error instanceof RailguardError) return error;
      throw error;
    }
    const link = { duplex, under, lines: 0, done: false };
    const writing = this.#write(link);
    try {
      for await (const raw of duplex.lines()) {
        if (raw.trim() === "") continue;
        const { line, result, end } = readLine(raw);
        if (end) {
          taken = line;
          failure = link.done && under.size === 0 ? undefined : end;
          break;
        }
        const item = under.get(line);
        if (!item) throw new RailguardError(200, "bad_answer", "an answer to no line", "unknown");
        under.delete(line);
        this.#fails = 0;
        transport.at = this.#at;
        this.#settle(item, result);
      }
    } catch (error) {
      if (!(error instanceof RailguardError)) throw error;
      failure = error;
    } finally {
      link.done = true;
      duplex.close();
      this.#wake();
      await writing;
    }
    for (const [line, item] of under) {
      if (taken !== undefined && line > taken) this.#waiting.push(item); // Of these nothing happened.
      else this.#settle(item, new RailguardError(0, "no_answer", "the stream ended before an answer", "unknown", { cause: failure }));
    }
    return failure;
  }

  /** Sends what is due, and ends the body when all is decided. */
  async #write(link: { duplex: Duplex; under: Map<number, Item<P>>; lines: number; done: boolean }): Promise<void> {
    let alive = performance.now() + aliveMs;
    while (!link.done) {
      const now = performance.now();
      let [text, next] = this.#take(link, now);
      if (text === "" && now >= alive) {
        text = "\n";
        link.lines++;
      }
      if (text !== "") {
        await link.duplex.send(text);
        alive = performance.now() + aliveMs;
      } else if (this.#ended && this.#waiting.length === 0 && link.under.size === 0) {
        link.done = true;
        link.duplex.end();
      } else await this.#changed(Math.max(0, Math.min(next, alive) - now));
    }
  }

  /** The lines that are due, counted, and when the next one is. */
  #take(link: { under: Map<number, Item<P>>; lines: number }, now: number): [text: string, next: number] {
    let text = "";
    let next = Infinity;
    this.#waiting = this.#waiting.filter((item) => {
      if (item.due > now || text.length >= pieceMost) {
        next = Math.min(next, item.due);
        return true;
      }
      link.under.set(++link.lines, item);
      text += item.line;
      return false;
    });
    return [text, next];
  }
}

/** The line of an answer and its result; or why the stream ended, and behind which line. */
function readLine(raw: string): { line: number; result: Verdict | RailguardError; end?: undefined } | { line: number; result?: undefined; end: RailguardError } {
  const told = parse(raw);
  const end = told?.["end"];
  if (isObject(end) && typeof end["lines"] === "number") {
    return { line: end["lines"], end: new RailguardError(0, String(end["code"] || "bad_answer"), String(end["message"] ?? ""), "none") };
  }
  const line = told?.["line"];
  if (!told || typeof line !== "number") throw new RailguardError(200, "bad_answer", "not a line of an answer", "unknown");
  delete told["line"];
  return { line, result: readResult(told) };
}
