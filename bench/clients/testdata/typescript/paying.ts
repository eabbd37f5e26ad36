// Makes payments with a journal, or ends what a crash left: the same as TestPayProgram.

import { appendFileSync, existsSync, readFileSync } from "node:fs";

import { openJournal } from "../../../../client/typescript/node.ts";
import { Client, NotSent } from "../../../../client/typescript/railguard.ts";
import type { Checked, Journal, Sent } from "../../../../client/typescript/railguard.ts";

const job = JSON.parse(process.env["PAY_JOB"] ?? "") as {
  url: string; journal: string; rail: string; resume: boolean; ids: string[]; send: "sent" | "notSent" | "unknown"; kill: string;
};
const token = "a <token> of Zoë";

const dieAt = (moment: string): void => {
  if (job.kill === moment) process.kill(process.pid, "SIGKILL");
};

const file = await openJournal(job.journal);
let lines = 0;
const journal: Journal = {
  read: () => file.read(),
  async append(line) {
    lines++;
    dieAt(`before ${lines}`);
    await file.append(line);
    dieAt(`after ${lines}`);
  },
};

const send = (id: string): Sent => {
  dieAt("sending");
  if (job.send === "notSent") throw new NotSent("no funds");
  appendFileSync(job.rail, id + "\n");
  dieAt("sent");
  if (job.send === "unknown") throw new Error("the line was cut");
  return { railRef: "rail-" + id, amount: "0.5" };
};

const check = ({ id }: { id: string }): Checked => {
  if (job.send === "unknown") throw new Error("the rail does not answer");
  const known = existsSync(job.rail) && readFileSync(job.rail, "utf8").split("\n").includes(id);
  return known ? { state: "sent", railRef: "rail-" + id } : { state: "notSent", reason: "the rail has none" };
};

const client = new Client({ addresses: [job.url], key: "screener", attempts: 2 });
const settler = new Client({ addresses: [job.url], key: "settler", attempts: 2 });
const told: unknown[] = [];
if (job.resume) {
  for (const one of await client.resume(journal, check, { token: () => token, settler })) {
    told.push({ ID: one.id, State: one.state, TxnID: one.txnId ?? "", RailRef: "", Reason: "", Failed: one.error !== undefined });
  }
} else {
  for (const id of job.ids) {
    const payment = { token, amount: "1", cpName: `Müller & Söhne <${id}>`, hold: { ttlSeconds: 60 } };
    const paid = await client.pay(payment, () => send(id), { journal, key: id, settler }).catch(() => null);
    told.push({ ID: id, State: paid?.state ?? "open", TxnID: paid?.verdict.txnId ?? "", RailRef: "", Reason: "", Failed: paid === null });
  }
}
await file.close();
process.stdout.write("TOLD " + JSON.stringify(told) + "\n");
