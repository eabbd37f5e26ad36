// A call whose body and answer are lines, and open at the same time. It needs node:http: no fetch does that.

import { RailguardError } from "./errors.ts";
import { parse } from "./money.ts";
import { answerMax, refusal, unsent } from "./transport.ts";

const silentMs = 30000; // The service says something every ten seconds.

/** One such call. */
export interface Duplex {
  /** Sends whole lines, and waits while the connection takes no more. What becomes of them, lines says. */
  send(lines: string): Promise<void>;
  /** Ends the body. */
  end(): void;
  /** The lines of the answer; it throws a RailguardError when the connection breaks or is silent. */
  lines(): AsyncGenerator<string, void, undefined>;
  close(): void;
}

/**
 * Makes the call. No line is sent before the head of the answer has come, so of a call that is refused nothing
 * happened.
 */
export async function openDuplex(address: string, headers: Headers, timeoutMs: number, signal: AbortSignal): Promise<Duplex> {
  let http: Pick<typeof import("node:http"), "request">;
  try { // No bundler may look for what a browser does not have.
    http = address.startsWith("https:") ? await import(/* webpackIgnore: true */ /* @vite-ignore */ "node:https") : await import(/* webpackIgnore: true */ /* @vite-ignore */ "node:http");
  } catch (cause) {
    throw new TypeError("stream needs node:http: a browser does not send and receive at once; use batch", { cause });
  }
  const request = http.request(address, { method: "POST", headers: Object.fromEntries(headers), agent: false, signal });
  const broke = (cause: unknown): RailguardError => new RailguardError(0, "no_answer", "the stream broke", "unknown", { cause });
  let timer = setTimeout(() => request.destroy(new Error("no answer in time")), timeoutMs);
  let failure: unknown;
  let wake = (): void => {}; // Who waits to send more.
  request.on("drain", () => wake()).on("close", () => wake()).on("error", (error) => (failure ??= error));
  const close = (): void => {
    clearTimeout(timer);
    request.destroy();
  };
  let answer: import("node:http").IncomingMessage;
  try {
    answer = await new Promise((answered, failed) => {
      request.on("response", answered).on("error", failed).on("close", () => failed(failure));
      request.flushHeaders();
    });
    if (answer.statusCode !== 200) {
      const text = await readAll(answer);
      throw refusal(answer.statusCode ?? 0, parse(text), (name) => String(answer.headers[name.toLowerCase()] ?? "") || null);
    }
  } catch (cause) {
    close();
    if (cause instanceof RailguardError) throw cause;
    throw unsent({ cause }) ? new RailguardError(0, "unreachable", "no connection", "none", { cause }) : new RailguardError(0, "no_answer", "no answer", "none", { cause });
  }
  answer.on("error", (error) => (failure ??= error));
  clearTimeout(timer);
  return {
    async send(lines) {
      if (!request.destroyed && !request.write(lines) && !request.destroyed) await new Promise<void>((done) => (wake = done));
    },
    end: () => void request.end(),
    async *lines() {
      const silence = (): void => {
        clearTimeout(timer);
        timer = setTimeout(() => request.destroy(new Error("the other side is silent")), silentMs);
      };
      const decoder = new TextDecoder();
      let rest = "";
      try {
        silence();
        for await (const piece of answer) {
          silence();
          const parts = (rest + decoder.decode(piece as Uint8Array, { stream: true })).split("\n");
          rest = parts.pop()!;
          if (rest.length > answerMax) break;
          yield* parts;
        }
      } catch (cause) {
        throw broke(failure ?? cause);
      } finally {
        clearTimeout(timer);
      }
      throw broke(failure);
    },
    close,
  };
}

async function readAll(answer: AsyncIterable<unknown>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of answer) {
    text += decoder.decode(piece as Uint8Array, { stream: true });
    if (text.length > answerMax) break;
  }
  return text;
}
