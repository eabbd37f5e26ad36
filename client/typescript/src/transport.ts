// Makes one call: addresses in turn, attempts by outcome, bounds of time and size.

import { RailguardError } from "./errors.ts";
import { encode, parse } from "./money.ts";
import type { Verdict } from "./types.ts";

/** Where a service is, and who calls. */
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

/** How one call is made. */
export interface CallOptions {
  key?: string | undefined; // Its Idempotency-Key. Each call that writes draws one if it gets none.
  ifMatch?: string | undefined; // The ETag of the version that is to be changed, and no other.
  minIndex?: number | undefined; // Do not answer from an older state than this index of the log.
  strict?: boolean | undefined; // Of a screening call: refuse any unknown member.
  headers?: Record<string, string> | undefined; // Any further ones.
  deadlineMs?: number | undefined; // In place of the client's, as is attemptTimeoutMs: a call that waits needs more.
  attemptTimeoutMs?: number | undefined;
  signal?: AbortSignal | undefined; // Ends the call: it rejects, with outcome "unknown" if it may have happened.
  onAnswer?: ((head: Head) => void) | undefined; // Sees the headers of the answer.
}

/** A text is the Idempotency-Key alone. */
export type How = string | CallOptions;

/** What stands in the headers of an answer. */
export interface Head {
  status: number;
  etag: string; // The version, for ifMatch; "" if there is none, as for the other texts.
  index: number; // Of the log: what the call changed, or what the node has applied; 0 if it is not told.
  requestId: string; // Give it to support.
  lineage: string; // Of the group, after a recovery or a restored backup.
  attempts: number; // How many it took.
  replayed: boolean; // The Idempotency-Key was used before: this is the answer to that call.
  headers: Headers;
}

/** An answer with its headers. */
export interface Answer<T> extends Head {
  data: T;
}

/** Draws an Idempotency-Key. Store it before the first attempt of what must survive a restart. */
export function newKey(): string {
  const raw = crypto.getRandomValues(new Uint8Array(16));
  return "rgc_" + Array.from(raw, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export const readHow = (how: How | undefined): CallOptions => (typeof how === "string" ? { key: how } : (how ?? {}));

export const answerMax = 16 << 20;
const backoffFirstMs = 100;
const backoffMostMs = 2000;
const retryAfterMax = 24 * 60 * 60;

/** One call, as it is sent to each address. */
interface Call {
  method: string;
  path: string;
  raw: string | undefined;
  how: CallOptions;
  plain: boolean; // The answer is a text and no JSON object.
  end: number;
}

/** Sends calls to a service of several addresses. */
export class Transport {
  readonly addresses: readonly string[];
  #key: string;
  #attempts: number;
  #attemptTimeout: number;
  #deadline: number;
  #wait: ((ms: number) => Promise<void>) | undefined;
  #jitter: () => number;
  at = 0; // The address that answered last.

  constructor(options: Options) {
    if (!Array.isArray(options.addresses) || options.addresses.length === 0) throw new TypeError("no address");
    this.addresses = options.addresses.map((address) => {
      const url = new URL(address);
      if (!/^https?:$/.test(url.protocol) || url.search || url.username) throw new TypeError("an address is http://host or https://host");
      return address.replace(/\/+$/, "");
    });
    this.#key = options.key;
    this.#attempts = options.attempts ?? 8;
    this.#attemptTimeout = options.attemptTimeoutMs ?? 5000;
    this.#deadline = options.deadlineMs ?? 20000;
    this.#wait = options.wait;
    this.#jitter = options.jitter ?? Math.random;
  }

  get attempts(): number {
    return this.#attempts;
  }

  /** When a call that begins now has to end. */
  end(how: CallOptions): number {
    return performance.now() + (how.deadlineMs ?? this.#deadline);
  }

  // Once an attempt's outcome is unknown, the call's is, until an answer settles it:
  // that a later attempt did nothing says nothing of the first.
  async send<T>(method: string, path: string, body: unknown, how: CallOptions, repeatable: boolean, end = this.end(how), plain = false): Promise<Answer<T>> {
    const call: Call = { method, path, raw: body === undefined ? undefined : encode(body, ""), how, plain, end };
    const first = this.at;
    let unknown = false;
    let waits = 0;
    for (let attempt = 1; ; attempt++) {
      const at = (first + attempt - 1) % this.addresses.length;
      let failure: RailguardError;
      try {
        const answer = { ...(await this.#attempt(this.addresses[at]!, call)), attempts: attempt };
        this.at = at;
        how.onAnswer?.(answer);
        return answer as Answer<T>;
      } catch (error) {
        if (!(error instanceof RailguardError)) throw error;
        failure = error;
      }
      if (method === "GET") failure.outcome = "none";
      const blind = failure.outcome === "unknown" && !repeatable;
      unknown ||= failure.outcome === "unknown";
      if (unknown) failure.outcome = "unknown";
      failure.attempts = attempt;
      failure.idempotencyKey = how.key ?? "";
      if (blind || !mayRepeat(failure) || attempt >= this.#attempts || performance.now() >= end || how.signal?.aborted) throw failure;
      // Nothing happened there: the next address may be asked at once, each of them once.
      if (!unknown && failure.status !== 429 && attempt < this.addresses.length) continue;
      const pause = Math.max(failure.retryAfterMs, this.backoff(waits++));
      if (!(await this.pause(pause, end, how.signal))) throw failure;
    }
  }

  backoff(waits: number): number {
    return Math.min(backoffFirstMs * 2 ** Math.min(waits, 10), backoffMostMs) * (0.5 + this.#jitter() / 2);
  }

  /** Waits; false: the time does not suffice, or the caller has gone. */
  async pause(ms: number, end: number, signal?: AbortSignal): Promise<boolean> {
    if (end - performance.now() <= ms || signal?.aborted) return false;
    await (this.#wait ? this.#wait(ms) : sleep(ms, signal));
    return !signal?.aborted;
  }

  async #attempt(address: string, call: Call): Promise<Answer<unknown>> {
    const { how } = call;
    if (how.signal?.aborted) throw new RailguardError(0, "no_answer", "the caller ended the call", "none", { cause: how.signal.reason });
    const stop = new AbortController();
    const abort = (): void => stop.abort(how.signal?.reason);
    const timer = setTimeout(() => stop.abort(), Math.max(1, Math.min(this.attemptTimeout(how), call.end - performance.now())));
    how.signal?.addEventListener("abort", abort, { once: true });
    let answer: Response;
    let text: string;
    try {
      answer = await fetch(address + call.path, {
        method: call.method, headers: this.headers(how, call.raw === undefined ? undefined : "application/json"), body: call.raw ?? null, redirect: "manual", cache: "no-store", signal: stop.signal,
      });
      text = await readText(answer);
    } catch (cause) {
      if (unsent(cause)) throw new RailguardError(0, "unreachable", "no connection", "none", { cause });
      throw new RailguardError(0, "no_answer", how.signal?.aborted ? "the caller ended the call" : "no answer", "unknown", { cause });
    } finally {
      clearTimeout(timer);
      how.signal?.removeEventListener("abort", abort);
    }
    if (!answer.ok || text.length > answerMax) {
      throw refusal(answer.status, parse(text), (name) => answer.headers.get(name));
    }
    const head = readHead(answer);
    if (answer.status === 204) return { ...head, data: {} };
    if (call.plain) return { ...head, data: text };
    const data = parse(text);
    if (data === undefined) {
      const failure = new RailguardError(answer.status, "bad_answer", "not a JSON object", "unknown");
      failure.requestId = head.requestId;
      throw failure;
    }
    return { ...head, data };
  }

  /** How long a connection may take until it answers. */
  attemptTimeout(how: CallOptions): number {
    return how.attemptTimeoutMs ?? this.#attemptTimeout;
  }

  headers(how: CallOptions, type: string | undefined): Headers {
    const headers = new Headers(how.headers);
    headers.set("Authorization", "Bearer " + this.#key);
    if (type) headers.set("Content-Type", type);
    if (how.key) headers.set("Idempotency-Key", how.key);
    if (how.ifMatch !== undefined) headers.set("If-Match", how.ifMatch);
    if (how.minIndex !== undefined) headers.set("X-Railguard-Min-Index", String(how.minIndex));
    if (how.strict !== undefined) headers.set("X-Railguard-Strict", String(how.strict));
    return headers;
  }
}

function readHead(answer: Response): Head {
  const text = (name: string): string => answer.headers.get(name) ?? "";
  return {
    status: answer.status, etag: text("ETag"), index: Number(text("X-Railguard-Index")) || 0, requestId: text("X-Request-Id"),
    lineage: text("X-Railguard-Lineage"), replayed: text("Idempotent-Replayed") === "true", headers: answer.headers, attempts: 1,
  };
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const wake = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", wake);
      done();
    };
    const timer = setTimeout(wake, ms);
    signal?.addEventListener("abort", wake, { once: true });
  });
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
export function unsent(error: unknown): boolean {
  const code = (error as { cause?: { code?: string } })?.cause?.code ?? "";
  return ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"].includes(code);
}

export function mayRepeat(failure: RailguardError): boolean {
  return failure.status === 0 || failure.status >= 500 || failure.status === 429 || ["bad_answer", "idempotency_in_flight"].includes(failure.code);
}

export function refusal(status: number, body: Record<string, unknown> | undefined, header: (name: string) => string | null): RailguardError {
  const code = typeof body?.["code"] === "string" ? body["code"] : "";
  const settled = status < 500 || (status === 503 && header("X-Railguard-Outcome") === "none");
  let failure: RailguardError;
  if (body === undefined || code === "") {
    failure = new RailguardError(status, "bad_answer", "not an answer of the service", "unknown");
  } else {
    failure = new RailguardError(status, code, String(body["message"] ?? ""), settled && code !== "idempotency_in_flight" ? "none" : "unknown");
    failure.param = String(body["param"] ?? "");
    failure.details = (body["details"] as RailguardError["details"]) ?? [];
    failure.txnId = String(body["txnId"] ?? "");
    failure.requestId = String(body["requestId"] ?? "");
    failure.body = body;
  }
  failure.requestId ||= header("X-Request-Id") ?? "";
  const after = header("Retry-After") ?? "";
  if (/^[0-9]{1,9}$/.test(after)) failure.retryAfterMs = Math.min(Number(after), retryAfterMax) * 1000;
  return failure;
}

/** One result of a batch, or of a stream. */
export function readResult(raw: Record<string, unknown>): Verdict | RailguardError {
  const status = typeof raw?.["status"] === "number" ? raw["status"] : 0;
  if (status === 200) return raw as unknown as Verdict;
  if (status < 400) return new RailguardError(status, "bad_answer", "not a result", "unknown");
  return refusal(status, raw, (name) => (name === "X-Railguard-Outcome" ? (raw["outcome"] as string) : null));
}
