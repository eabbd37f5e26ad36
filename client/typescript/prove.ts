// Makes proofs for the tests: prints each, or null where none can be made, as JSON.

import { signProof } from "./railguard.ts";

declare const process: { stdin: AsyncIterable<Uint8Array>; stdout: { write(text: string): void } };

interface Case {
  alg: string;
  jwk: JsonWebKey;
  request: string; // Money is text.
  audience: string;
  key: string;
  act: string;
  at: number;
}

async function prove(one: Case): Promise<string | null> {
  const algorithm = one.alg === "EdDSA" ? { name: "Ed25519" } : { name: "ECDSA", namedCurve: "P-256" };
  const key = await crypto.subtle.importKey("jwk", one.jwk, algorithm, false, ["sign"]);
  try {
    return await signProof(key, JSON.parse(one.request), { audience: one.audience, key: one.key, act: one.act, issuedAt: one.at });
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

const chunks: Uint8Array[] = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const cases = JSON.parse(await new Blob(chunks as BlobPart[]).text()) as Case[];
process.stdout.write(JSON.stringify(await Promise.all(cases.map(prove))));
