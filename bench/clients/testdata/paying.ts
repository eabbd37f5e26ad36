// Makes payments with a journal, or ends what a crash left: the same as TestPayProgram.
import { appendFileSync, existsSync, readFileSync } from "node:fs";

import { openJournal } from "CLIENT/node.ts";
import { Client, NotSent } from "CLIENT/railguard.ts";

const job = JSON.parse(process.env["PAY_JOB"]!);
const token = "a <token> of Zo\u00eb";
const client = new Client({ addresses: [job.url], key: "screener", attempts: 2 });
const settler = new Client({ addresses: [job.url], key: "settler", attempts: 2 });

function die(): Promise<never> {
  process.kill(process.pid, "SIGKILL");
  return new Promise(() => {});
}

const file = await openJournal(job.journal);
let lines = 0;
const journal = {
  read: () => file.read(),
  async append(line: string) {
    lines++;
    if (job.kill === `before ${lines}`) await die();
    await file.append(line);
    if (job.kill === `after ${lines}`) await die();
  },
};

async function send(_: unknown, id: string) {
  if (job.kill === "sending") await die();
  if (job.send === "notSent") throw new NotSent("no funds");
  appendFileSync(job.rail, id + "\n");
  if (job.kill === "sent") await die();
  return { railRef: "rail-" + id, amount: "0.5" };
}

const told = [];
if (job.resume) {
  const check = ({ id }: { id: string }) =>
    existsSync(job.rail) && readFileSync(job.rail, "utf8").split("\n").includes(id) ? { state: "sent" as const, railRef: "rail-" + id } : { state: "notSent" as const };
  for (const one of await client.resume(journal, check, { token: () => token, settler })) {
    told.push({ ID: one.id, State: one.state, TxnID: one.txnId ?? "", Failed: one.error !== undefined });
  }
} else {
  for (const id of job.ids) {
    const payment = { token, amount: "1", cpName: `M\u00fcller & S\u00f6hne <${id}>`, hold: { ttlSeconds: 60 } };
    const paid = await client.pay(payment, send, { journal, key: id, settler });
    told.push({ ID: id, State: paid.state, TxnID: "", Failed: false });
  }
}
console.log("TOLD " + JSON.stringify(told));
await file.close();
