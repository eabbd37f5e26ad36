// The journal of payments: what was about to be done, one line of JSON each. The clients of all languages
// write the same lines, so that each can end what another one began.

import { parse, Written } from "./money.ts";
import { whole } from "./strict.ts";
import type { USD, VerdictWord } from "./types.ts";

/**
 * Keeps lines in the order in which they were appended. openJournal of railguard/node keeps them in a file;
 * a browser or a database gives its own. At any time one process alone may use it.
 */
export interface Journal {
  /** Every line, the oldest first. */
  read(): Iterable<string> | AsyncIterable<string> | Promise<Iterable<string>>;
  /** Resolves once no crash can take the line away. If it rejects, the line must not appear later. */
  append(line: string): Promise<void>;
  /** Whether it takes no new payments any more; those that it has can still be ended. */
  readonly full?: boolean;
}

export type End = "settled" | "released" | "refused";
export type Step = "screen" | "verdict" | "send" | "sent" | "notSent";

/** A payment that has begun and not ended, by its lines. */
export interface OpenPayment {
  id: string; // Its Idempotency-Key.
  at: string; // When it began.
  step: Step; // The last that was about to be taken, or that was taken.
  payment: string; // The body of the screening call without token and hold, byte for byte.
  holdSeconds: number;
  verdict?: VerdictWord;
  txnId?: string;
  railRef?: string;
  amount?: USD;
  reason?: string;
}

/** The steps that may follow a step; "" is before the first. */
const followers: Record<string, string[]> = {
  "": ["screen"], screen: ["verdict", "end"], verdict: ["send", "end"], send: ["sent", "notSent"], sent: ["end"], notSent: ["end"],
};
const lineMax = 256 << 10; // Characters.
const ends = ["settled", "released", "refused"];

/** What one journal says, read once and kept up to date by what this process appends. */
export class Book {
  readonly open = new Map<string, OpenPayment>();
  readonly active = new Set<string>(); // Payments that this process is about to make or end.
  #ended = new Set<string>();
  #journal: Journal;

  private constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** Reads a journal. A last line that is torn was never written to its end: its step was not begun. */
  static async read(journal: Journal): Promise<Book> {
    const book = new Book(journal);
    let torn: Error | null = null;
    let number = 0;
    for await (const line of await journal.read()) {
      number++;
      if (torn) throw torn;
      try {
        book.#take(line);
      } catch (cause) {
        torn = new Error(`line ${number} of the journal cannot be read`, { cause });
      }
    }
    return book;
  }

  knows(id: string): boolean {
    return this.open.has(id) || this.#ended.has(id);
  }

  /** Notes that a payment begins; payment is the JSON that is sent, without token and hold. */
  begin(id: string, payment: string, holdSeconds: number): Promise<void> {
    return this.#append(id, "screen", `,"payment":${payment},"holdSeconds":${holdSeconds}`);
  }

  note(id: string, step: Step | "end", members: Record<string, string | undefined>): Promise<void> {
    return this.#append(id, step, JSON.stringify(members).slice(1, -1).replace(/^(?=.)/, ","));
  }

  async #append(id: string, step: string, members: string): Promise<void> {
    if (step === "screen" && this.#journal.full) throw new Error("the journal is full: begin another one");
    const line = `{"v":1,"id":${JSON.stringify(id)},"at":${JSON.stringify(new Date().toISOString())},"step":"${step}"${members}}`;
    if (line.length > lineMax) throw new RangeError(`a line of the journal has at most ${lineMax} characters`);
    await this.#journal.append(line);
    this.#take(line);
  }

  #take(line: string): void {
    const told = parse(line);
    const text = (name: string): string => {
      const value = told?.[name];
      if (typeof value !== "string") throw new TypeError(`"${name}" is no text`);
      return value;
    };
    if (told?.["v"] !== 1) throw new TypeError("not a line of version 1");
    const [id, step] = [text("id"), text("step")];
    const one = this.open.get(id);
    const before = one?.step ?? (this.#ended.has(id) ? "end" : "");
    if (!followers[before]?.includes(step)) throw new TypeError(`step "${step}" behind "${before}"`);
    if (!one) {
      const holdSeconds = told["holdSeconds"];
      if (!whole(holdSeconds) || holdSeconds === 0) throw new TypeError('"holdSeconds" is no number of seconds');
      this.open.set(id, { id, at: text("at"), step: "screen", payment: sentOf(line), holdSeconds });
      return;
    }
    switch (step) {
      case "end":
        if (!ends.includes(text("state"))) throw new TypeError("no state to end in");
        this.open.delete(id);
        this.#ended.add(id);
        return;
      case "verdict":
        [one.verdict, one.txnId] = [text("verdict") as VerdictWord, text("txnId")];
        break;
      case "send":
        one.txnId = text("txnId");
        break;
      case "sent":
        one.railRef = text("railRef");
        if (told["amount"] !== undefined) one.amount = text("amount");
        break;
      case "notSent":
        one.reason = told["reason"] === undefined ? "" : text("reason");
        break;
    }
    one.step = step as Step;
  }
}

/** The member payment of a line as it stands there: another order or spelling would be another request. */
function sentOf(line: string): string {
  const [begin, end] = [line.indexOf(',"payment":{') + 11, line.lastIndexOf(',"holdSeconds":')];
  const payment = line.slice(begin, end);
  if (begin < 11 || end < begin || parse(payment) === undefined) throw new TypeError('"payment" is no object');
  return payment;
}

/**
 * The body of the screening call: the token, the members as they stand in the journal, the hold. Whoever sends
 * it again sends the same bytes, because an Idempotency-Key binds them.
 */
export function bodyOf(payment: string, token: string, holdSeconds: number): Written {
  const members = payment.trim().slice(1, -1).trim();
  return new Written(`{"token":${JSON.stringify(token)},${members && members + ","}"hold":{"ttlSeconds":${holdSeconds}}}`);
}

const books = new WeakMap<Journal, Promise<Book>>();

/** The book of a journal, the same for all who use the journal in this process. */
export function bookOf(journal: Journal): Promise<Book> {
  let book = books.get(journal);
  if (!book) {
    book = Book.read(journal);
    book.catch(() => books.delete(journal));
    books.set(journal, book);
  }
  return book;
}
