// Permits, checked without a call to the guard.

import type { Client } from "./client.ts";
import { PermitError, TokenError } from "./errors.ts";
import type { JWKS } from "./keys.ts";
import { buildPay, payHash } from "./statement.ts";
import type { Paying, PayStatement } from "./statement.ts";
import { Published } from "./status.ts";
import { isObject, strictObject, whole } from "./strict.ts";
import { findKey, segment } from "./token.ts";

export interface PermitClaims {
  iss: string;
  sub: string;
  aud: string;
  jti: string; // The txnId, the same in every permit of a payment.
  iat: number;
  exp: number;
  verdict: "PROCEED";
  pay: PayStatement;
  pay_hash: string;
  lists: { age: number; maxAge: number; [member: string]: unknown };
  cnf?: { jkt: string };
  [member: string]: unknown;
}

/** Remembers an id until a time (Unix seconds), and returns whether it is new. */
export type FirstUse = (jti: string, until: number) => boolean | Promise<boolean>;

export interface PermitCheck {
  keys: JWKS | PermitKeys;
  issuer: string; // The public URL of the guard that you trust.
  audience: string; // You, as the permit's author names you.
  pay?: PayStatement; // What you are about to let happen, never what the permit says.
  paying?: Paying; // In place of pay; the statement is built with the permit's jti.
  now?: number; // Unix seconds.
  maxListAge?: number; // Seconds; without it the permit's own bound counts alone.
  firstUse?: FirstUse; // Without it nobody remembers that the permit was used. FirstUses has one.
  sandbox?: boolean; // Whether permits of a sandbox are good too.
  signal?: AbortSignal; // Ends the waiting for keys.
}

const permitMax = 4096;
const permitType = "railguard-permit+jwt";
const permitAhead = 60; // Seconds by which iat may be ahead of this clock.
const permitLifetime = 300; // Seconds.
const permitKept = 60; // Seconds behind exp for which a used id is remembered.
const ownKeys = ["jwk", "jku", "x5c", "x5t", "x5t#S256", "x5u"];

/**
 * Checks a permit: form, key, signature (ES256 only), issuer, audience, time, verdict, your
 * payment, the list's age, and first use at last. Rejects with a PermitError, or with another
 * error if it cannot tell: keys or first use cannot be read, or the check itself is incomplete.
 * After any rejection do not let the payment happen.
 */
export async function verifyPermit(permit: string, check: PermitCheck): Promise<PermitClaims> {
  if (!check.keys || !check.issuer || !check.audience || (check.pay === undefined) === (check.paying === undefined)) {
    throw new TypeError("a permit is checked with keys, issuer, audience, and either pay or paying");
  }
  let mine = await payHash(check.pay ?? (await buildPay(check.paying!, ""))); // What the caller got wrong is told whatever the permit says.
  const claims = strictObject(await openPermit(permit, check)) as unknown as PermitClaims;
  const { iat, exp, jti } = claims;
  if (!whole(iat) || !whole(exp) || typeof jti !== "string" || !jti) throw new PermitError("malformed");
  const now = Math.floor(check.now ?? Date.now() / 1000);
  if (claims.iss !== check.issuer) throw new PermitError("issuer");
  if (claims.aud !== check.audience) throw new PermitError("audience");
  if (!(exp > now)) throw new PermitError("expired");
  if (!(iat <= now + permitAhead)) throw new PermitError("early");
  if (exp <= iat || exp - iat > permitLifetime) throw new PermitError("lifetime");
  if (claims.verdict !== "PROCEED") throw new PermitError("verdict");
  if (check.paying) mine = await payHash(await buildPay(check.paying, jti));
  const said = await payHash(claims.pay).catch(() => "");
  if (said !== claims.pay_hash || mine !== claims.pay_hash) throw new PermitError("payment");
  const { age, maxAge } = (isObject(claims.lists) ? claims.lists : {}) as { age?: unknown; maxAge?: unknown };
  if (!whole(age) || !whole(maxAge) || age > maxAge || (check.maxListAge !== undefined && age > check.maxListAge)) throw new PermitError("list");
  if (check.firstUse && !(await check.firstUse(jti, exp + permitKept))) throw new PermitError("used");
  return claims;
}

/** Checks form, header, key and signature; returns the bytes of what the permit says. */
async function openPermit(permit: string, check: PermitCheck): Promise<Uint8Array> {
  const parts = typeof permit === "string" && permit.length <= permitMax ? permit.split(".") : [];
  if (parts.length !== 3) throw new PermitError("malformed");
  const [headerRaw, payload, signature] = parts.map((part) => {
    try {
      return part === "" ? new Uint8Array() : segment(part);
    } catch {
      throw new PermitError("malformed");
    }
  }) as [Uint8Array, Uint8Array, Uint8Array<ArrayBuffer>];
  const kid = readPermitHeader(strictObject(headerRaw), check.sandbox ?? false);
  const key = await (check.keys instanceof PermitKeys ? check.keys.find(kid, check.signal) : findKey(check.keys, kid)).catch((error: unknown) => {
    throw error instanceof TokenError ? new PermitError("key") : error;
  });
  const signed = new TextEncoder().encode(parts[0] + "." + parts[1]);
  if (signature.length !== 64 || !(await crypto.subtle.verify({ name: "ECDSA", hash: "SHA-256" }, key, signature, signed))) throw new PermitError("signature");
  return payload;
}

function readPermitHeader(header: Record<string, unknown>, sandbox: boolean): string {
  const kid = header["kid"];
  if (header["alg"] !== "ES256") throw new PermitError("algorithm");
  if (header["typ"] !== permitType) throw new PermitError("type");
  if (typeof kid !== "string" || !/^(sandbox-)?pm-v[0-9]+$/.test(kid) || (kid.startsWith("sandbox-") && !sandbox)) throw new PermitError("key");
  if (ownKeys.some((name) => Object.hasOwn(header, name))) throw new PermitError("key");
  if (Object.keys(header).length !== 3) throw new PermitError("malformed");
  return kid;
}

/** The keys of one issuer, read with a client and kept for an hour; no API key is needed. One reading serves all who wait. */
export class PermitKeys {
  #published: Published;

  /** The client's address is the issuer of the permits, or another address of the same service. now in Unix seconds. */
  constructor(client: Client, now = () => Date.now() / 1000) {
    this.#published = new Published(client, now);
  }

  find(kid: string, signal?: AbortSignal): Promise<CryptoKey> {
    return this.#published.use((keys) => findKey(keys, kid), signal);
  }
}

/** Remembers used permits in memory: within one process, until it ends. `first` is a FirstUse. */
export class FirstUses {
  #most: number;
  #now: () => number;
  #until = new Map<string, number>();
  #swept = -Infinity;

  /** With more than most ids it throws a RangeError, as it could not promise to know another one. now in Unix seconds. */
  constructor(most = 100_000, now = () => Date.now() / 1000) {
    this.#most = most;
    this.#now = now;
  }

  /** Whether an id is new; remembers it until a time, the later one if it comes again. */
  first = (jti: string, until: number): boolean => {
    const now = this.#now();
    const known = this.#until.get(jti);
    if (known !== undefined && now < known) {
      this.#until.set(jti, Math.max(known, until));
      return false;
    }
    this.#until.delete(jti);
    if (this.#until.size >= this.#most && Math.abs(now - this.#swept) >= 1) {
      for (const [one, end] of this.#until) if (now >= end) this.#until.delete(one);
      this.#swept = now;
    }
    if (this.#until.size >= this.#most) throw new RangeError("the store of used permits is full");
    this.#until.set(jti, until);
    return true;
  };
}
