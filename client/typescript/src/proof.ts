// Proofs that a call is of whoever has an agent's own key.

import { base64URL } from "./base64.ts";
import { encode } from "./money.ts";

/** The Idempotency-Key of a request with a proof. */
export function keyOf(request: { proof?: string }): string | undefined {
  try {
    const claims: { jti?: unknown } = JSON.parse(atob(request.proof!.split(".")[1]!.replace(/-/g, "+").replace(/_/g, "/")));
    return typeof claims.jti === "string" ? claims.jti : undefined;
  } catch {
    return undefined;
  }
}

/** What a proof is for. */
export interface ProofOf {
  audience: string; // The public URL of the service.
  key: string; // The call's Idempotency-Key, of 16 to 64 of A-Z, a-z, 0-9, - and _; newKey draws one.
  act?: string; // screen (unless said otherwise), dry_run, x402 or confirm:txn_…
  issuedAt?: number; // Unix seconds; now. A proof is good for two minutes, unless the policy says otherwise.
}

const proofDigits = 15; // More than that a number does not keep.

/**
 * Makes the proof that a request is of whoever has an agent's private key; it goes into the request's
 * member `proof`. request is what is then sent. key is a WebCrypto key that signs, Ed25519 or ECDSA on P-256.
 */
export async function signProof(key: CryptoKey, request: object, of: ProofOf): Promise<string> {
  const edwards = key.algorithm.name === "Ed25519";
  if (!edwards && (key.algorithm.name !== "ECDSA" || (key.algorithm as EcKeyAlgorithm).namedCurve !== "P-256")) {
    throw new TypeError("the key is neither Ed25519 nor P-256");
  }
  if (!/^[A-Za-z0-9_-]{16,64}$/.test(of.key)) throw new RangeError("the key of a proven call has 16 to 64 of A-Z, a-z, 0-9, - and _");
  const sent = encode({ ...request, proof: undefined }, "");
  for (const [number] of sent.matchAll(/"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*/g)) {
    if (number.startsWith('"')) continue;
    const digits = number.replace(/[eE].*$/, "").replace(/[-.]/g, "").replace(/^0+|0+$/g, "");
    const size = Math.abs(Number(number));
    if (digits.length > proofDigits || (digits !== "" && !(size >= 1e-300 && size <= 1e299))) {
      throw new RangeError(`a number of a proven request has at most ${proofDigits} digits`);
    }
  }
  const utf8 = new TextEncoder();
  const digest = await crypto.subtle.digest("SHA-256", utf8.encode(canonical(JSON.parse(sent) as unknown)));
  const claims = { aud: of.audience, act: of.act ?? "screen", iat: Math.floor(of.issuedAt ?? Date.now() / 1000), jti: of.key, rqh: base64URL(new Uint8Array(digest)) };
  const header = { alg: edwards ? "EdDSA" : "ES256", typ: "railguard-proof+jwt" };
  const signed = [header, claims].map((part) => base64URL(utf8.encode(JSON.stringify(part)))).join(".");
  const signature = await crypto.subtle.sign(edwards ? "Ed25519" : { name: "ECDSA", hash: "SHA-256" }, key, utf8.encode(signed));
  return signed + "." + base64URL(new Uint8Array(signature));
}

/** Canonical JSON (RFC 8785): this language's own texts and numbers, with the members by name. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return "[" + value.map(canonical).join(",") + "]";
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return "{" + members.map(([name, inner]) => canonical(name) + ":" + canonical(inner)).join(",") + "}";
  }
  if (typeof value === "string" && /\p{Surrogate}/u.test(value)) throw new RangeError("a text has half a character");
  return JSON.stringify(value);
}
