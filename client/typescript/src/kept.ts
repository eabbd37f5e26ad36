// Values that a service publishes, kept while they are good.

import { RailguardError } from "./errors.ts";

/** A fetched value. It is fetched anew from fresh on, and serves until end (Unix seconds). */
export interface Known<T> {
  value: T;
  fresh: number;
  end: number;
}

/**
 * A value that one fetch brings to all who need it. What is known serves until its end while it is fetched
 * anew, and while that fails. Behind its end there is nothing: fail closed. No caller waits longer than its
 * own signal allows, and none ends the fetch of the others.
 */
export class Kept<T> {
  #fetch: (now: number) => Promise<Known<T>>;
  #now: () => number;
  #known: (Known<T> & { read: number }) | null = null; // read: when its fetch began.
  #flight: Promise<void> | null = null;

  constructor(fetch: (now: number) => Promise<Known<T>>, now: () => number) {
    this.#fetch = fetch;
    this.#now = now;
  }

  /** The value, and when its fetch began: the known one at once, else the fetched one. */
  async get(signal?: AbortSignal): Promise<{ value: T; read: number }> {
    for (let joined = false; ; joined = true) {
      const now = this.#now();
      if (this.#known && now < this.#known.end) {
        if (now >= this.#known.fresh) this.#start().catch(() => undefined); // It serves whatever comes of that.
        return this.#known;
      }
      const under = this.#flight !== null;
      await waitFor(this.#start(), signal);
      // What a fetch brought that had begun earlier may be over by now; then one more is made.
      if (this.#known && (this.#now() < this.#known.end || !under || joined)) return this.#known;
    }
  }

  /** Fetches the value anew, although one is known that was read at a time. If another one is known meanwhile, it returns that one. */
  async renew(read: number, signal?: AbortSignal): Promise<{ value: T; read: number }> {
    if (this.#known?.read === read) await waitFor(this.#start(), signal);
    return this.#known!;
  }

  #start(): Promise<void> {
    const read = this.#now();
    this.#flight ??= this.#fetch(read).then(
      (known) => void (this.#known = { ...known, read }),
    ).finally(() => {
      this.#flight = null;
    });
    return this.#flight;
  }
}

/** Waits for a promise no longer than a signal allows; the promise goes on. */
export function waitFor<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return promise;
  return new Promise((done, fail) => {
    const abort = (): void => fail(new RailguardError(0, "no_answer", "no answer within the caller's time", "none", { cause: signal.reason }));
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(done, fail).finally(() => signal.removeEventListener("abort", abort));
  });
}
