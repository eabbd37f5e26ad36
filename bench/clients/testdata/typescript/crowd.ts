// Many callers of one Verifier at once, while the service answers and while it does not.

import { Client, TokenError, Verifier } from "../../../../client/typescript/railguard.ts";

const chunks: string[] = [];
for await (const chunk of process.stdin) chunks.push(String(chunk));
const job = JSON.parse(chunks.join("")) as { url: string; issuer: string; token: string; callers: number; patienceMs: number; times: number[] };

let now = 0;
const verifier = new Verifier(new Client({ addresses: [job.url], key: "", attempts: 1 }), job.issuer, () => now);

/** What all callers are told, and after how long the last of them knew. */
async function ask(at: number, ends: boolean): Promise<{ told: string[]; ms: number }> {
  now = at;
  await fetch(job.url + "/next", { method: "POST" }); // The service goes on to its next mood.
  const began = performance.now();
  const told = await Promise.all(Array.from({ length: job.callers }, () =>
    verifier.verify(job.token, ends ? { signal: AbortSignal.timeout(job.patienceMs) } : {}).then(
      () => "valid",
      (error: unknown) => (error instanceof TokenError ? error.code : String(error)),
    )));
  return { told: [...new Set(told)], ms: performance.now() - began };
}

const rounds: unknown[] = [];
for (const [n, at] of job.times.entries()) rounds.push(await ask(at, n === job.times.length - 1));
process.stdout.write(JSON.stringify(rounds));
process.exit(0); // The service still hangs.
