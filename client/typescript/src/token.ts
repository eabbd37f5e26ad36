// Credentials, checked without a server.

import { fromBase64URL } from "./base64.ts";
import { TokenError } from "./errors.ts";
import type { Claims, JWKS } from "./keys.ts";
import { isObject } from "./strict.ts";

const tokenMax = 8192;
export const leewaySeconds = 5; // That clocks may differ at the beginning of a token.

/**
 * Checks a credential without a server: form, key, signature (ES256 only), issuer
 * (such as did:kya:railguard) and time (Unix seconds; default: now). The claims do
 * not say whether the agent is suspended or revoked: a Verifier asks the list that they
 * name, screen() the service.
 */
export async function verifyToken(token: string, keys: JWKS, issuer: string, now = Date.now() / 1000): Promise<Claims> {
  const claims = object(await openToken(token, tokenMax, "JWT", keys)) as unknown as Claims;
  const dated = [claims.iat, claims.nbf, claims.exp].every(Number.isInteger);
  if (!claims.sub || typeof claims.sub !== "string" || typeof claims.iss !== "string" || !dated || typeof claims.vc !== "object" || claims.vc === null) {
    throw new TokenError("malformed");
  }
  now = Math.floor(now);
  if (claims.iss !== issuer) throw new TokenError("wrong_issuer");
  if (now >= claims.exp) throw new TokenError("expired");
  if (now + leewaySeconds < claims.nbf) throw new TokenError("not_yet_valid");
  return claims;
}

/** Checks form, key and signature of a token of one typ; returns the bytes of what it says. */
export async function openToken(token: string, most: number, typ: string, keys: JWKS): Promise<Uint8Array> {
  const parts = token.split(".");
  if (token.length > most || parts.length !== 3) throw new TokenError("malformed");
  const [headerRaw, payload, signature] = parts.map(segment) as [Uint8Array, Uint8Array, Uint8Array<ArrayBuffer>];
  const header = object(headerRaw);
  if (Object.keys(header).sort().join() !== "alg,kid,typ" || header["alg"] !== "ES256" || header["typ"] !== typ || typeof header["kid"] !== "string" || !header["kid"]) {
    throw new TokenError("malformed");
  }
  const key = await findKey(keys, header["kid"]);
  if (signature.length !== 64) throw new TokenError("malformed");
  const signed = new TextEncoder().encode(parts[0] + "." + parts[1]);
  if (!(await crypto.subtle.verify({ name: "ECDSA", hash: "SHA-256" }, key, signature, signed))) throw new TokenError("bad_signature");
  return payload;
}

export function segment(text: string): Uint8Array<ArrayBuffer> {
  const raw = fromBase64URL(text);
  if (raw === null) throw new TokenError("malformed");
  return raw;
}

export function object(raw: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(raw));
    if (isObject(value)) return value;
  } catch {
    // Told below.
  }
  throw new TokenError("malformed");
}

export async function findKey(keys: JWKS, kid: string): Promise<CryptoKey> {
  const found = keys.keys.find((key) => key.kid === kid && key.kty === "EC" && key.crv === "P-256");
  if (!found) throw new TokenError("unknown_key");
  try {
    return await crypto.subtle.importKey("jwk", { kty: "EC", crv: "P-256", x: found.x, y: found.y }, { name: "ECDSA", namedCurve: "P-256" }, false, ["verify"]);
  } catch {
    throw new TokenError("unknown_key");
  }
}
