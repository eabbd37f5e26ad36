// Makes payments for the tests, and dies while it does: by a signal, or, many times in one process, by a
// journal and a network that fail from a drawn moment on. The rail is a file with a line for each payment sent.

import { appendFileSync, existsSync, readFileSync } from "node:fs";

import { openJournal } from "../../../../client/typescript/node.ts";
import type { FileJournal } from "../../../../client/typescript/node.ts";
import { Client, NotSent, newKey } from "../../../../client/typescript/railguard.ts";
import type { Check, Journal, Sent } from "../../../../client/typescript/railguard.ts";

/** What send does: it sends, does not, sends and loses the answer, or loses it before the money moved. */
type Rail = "sent" | "less" | "notSent" | "lost" | "never";

interface Job {
  do: "pay" | "resume" | "random";
  urls: string[];
  key: string;
  settler: string;
  token: string;
  folder: string;
  id: string;
  rail: Rail;
  kill: string; // Before or after a line, such as "before screen"; "": never.
  kills: number;
}

class Dead extends Error {}

const rails: Rail[] = ["sent", "less", "notSent", "lost", "never"];
const amountOf: Record<Rail, string> = { sent: "1", less: "0.25", notSent: "", lost: "1", never: "" };

/** The rail of a folder. */
class Ledger {
  #path: string;
  constructor(folder: string) {
    this.#path = folder + "/rail";
  }

  send(id: string, rail: Rail): Sent {
    if (rail === "notSent") throw new NotSent("the bank refused it");
    if (rail !== "never") appendFileSync(this.#path, `${id} ${amountOf[rail]}\n`);
    if (rail === "lost" || rail === "never") throw new Error("no answer of the bank");
    return rail === "less" ? { railRef: "rail-" + id, amount: "0.25" } : { railRef: "rail-" + id };
  }

  /** The amounts that were sent under an id. */
  sent(id: string): string[] {
    const lines = existsSync(this.#path) ? readFileSync(this.#path, "utf8").trim().split("\n") : [];
    return lines.filter((line) => line.startsWith(id + " ")).map((line) => line.slice(id.length + 1));
  }

  check: Check = ({ id }) => {
    const [amount] = this.sent(id);
    if (amount === undefined) return { state: "notSent", reason: "the bank has no such payment" };
    return amount === "1" ? { state: "sent", railRef: "rail-" + id } : { state: "sent", railRef: "rail-" + id, amount };
  };
}

/** A journal that dies before or after a line, or with the line torn. */
class Dying implements Journal {
  #journal: Journal;
  #die: (when: string, line: string) => Promise<void> | void;
  constructor(journal: Journal, die: (when: string, line: string) => Promise<void> | void) {
    this.#journal = journal;
    this.#die = die;
  }
  read() {
    return this.#journal.read();
  }
  async append(line: string): Promise<void> {
    const step = (JSON.parse(line) as { step: string }).step;
    await this.#die("before " + step, line);
    await this.#journal.append(line);
    await this.#die("after " + step, line);
  }
}

const payment = (token: string) => ({ token, amount: "1", cpName: "Corner Shop" });
const clients = (job: Job, attempts = 3) => ["key" as const, "settler" as const].map((who) => new Client({ addresses: job.urls, key: job[who], attempts })) as [Client, Client];

async function payOnce(job: Job): Promise<unknown> {
  const [client, settler] = clients(job);
  const ledger = new Ledger(job.folder);
  const journal = await openJournal(job.folder + "/journal");
  const dying = new Dying(journal, (when) => {
    if (when === job.kill) process.kill(process.pid, "SIGKILL");
  });
  const paid = await client.pay(payment(job.token), (_, id) => ledger.send(id, job.rail), { journal: dying, key: job.id, settler }).catch((error: Error) => ({ state: error.name }));
  await journal.close();
  return { state: paid.state };
}

async function resumeAll(job: Job, journal: FileJournal, ledger: Ledger): Promise<unknown> {
  const [client, settler] = clients(job);
  const outcomes = await client.resume(journal, ledger.check, { token: () => job.token, settler });
  return outcomes.map(({ id, txnId, state, step, error }) => ({ id, txnId, state, step, error: error === undefined ? "" : String(error) }));
}

/** Dies at a drawn moment of each payment: at a line, in the middle of one, or before or after a call. */
async function dieOften(job: Job): Promise<unknown> {
  const ledger = new Ledger(job.folder);
  const path = job.folder + "/journal";
  const network = globalThis.fetch;
  const rows: unknown[] = [];
  for (let n = 0; n < job.kills; n++) {
    const id = newKey();
    const rail = rails[n % rails.length]!;
    let left = Math.floor(Math.random() * 18);
    let dead = false;
    const step = (): void => {
      if (dead || left-- === 0) {
        dead = true;
        throw new Dead("dead");
      }
    };
    globalThis.fetch = async (...call) => {
      step();
      const answer = await network(...call);
      step();
      return answer;
    };
    const [client, settler] = clients(job, 1);
    const journal = await openJournal(path);
    const dying = new Dying(journal, (when, line) => {
      try {
        step();
      } catch (error) {
        if (when.startsWith("before") && left < 0 && Math.random() < 0.5) appendFileSync(path, line.slice(0, Math.floor(Math.random() * line.length)));
        left = 0; // Torn at most once.
        throw error;
      }
    });
    const send = (_: unknown, key: string): Sent => {
      step();
      const sent = ledger.send(key, rail);
      step();
      return sent;
    };
    await client.pay(payment(job.token), send, { journal: dying, key: id, settler }).catch(() => undefined);
    await journal.close();
    globalThis.fetch = network;
    const again = await openJournal(path);
    const outcomes = await clients(job)[0].resume(again, ledger.check, { token: () => job.token, settler: clients(job)[1] });
    const mine = (await again.read() as string[]).map((text) => JSON.parse(text) as Record<string, string>).filter((told) => told["id"] === id);
    await again.close();
    const error = outcomes.find((outcome) => outcome.id === id)?.error;
    rows.push({
      id, died: dead, sent: ledger.sent(id), error: error === undefined ? "" : String(error),
      state: mine.find((told) => told["step"] === "end")?.["state"] ?? (mine.length === 0 ? "never begun" : "open"),
      txnId: mine.find((told) => told["step"] === "verdict")?.["txnId"] ?? "",
      others: outcomes.filter((outcome) => outcome.id !== id).length,
    });
  }
  return rows;
}

const chunks: string[] = [];
for await (const chunk of process.stdin) chunks.push(String(chunk));
const job = JSON.parse(chunks.join("")) as Job;
let told: unknown;
if (job.do === "pay") told = await payOnce(job);
else if (job.do === "random") told = await dieOften(job);
else {
  const journal = await openJournal(job.folder + "/journal");
  told = await resumeAll(job, journal, new Ledger(job.folder));
  await journal.close();
}
process.stdout.write(JSON.stringify(told));
