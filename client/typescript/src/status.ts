// Whether a credential was revoked or suspended: status lists, and a Verifier that keeps them.

import type { Client } from "./client.ts";
import { RailguardError, StatusError, TokenError } from "./errors.ts";
import { Kept } from "./kept.ts";
import type { Known } from "./kept.ts";
import type { Claims, JWKS } from "./keys.ts";
import { isObject } from "./strict.ts";
import { leewaySeconds, object, openToken, segment, verifyToken } from "./token.ts";

const listMax = 256 << 10; // Of a status list token.
const bitsMax = 1 << 20; // Of a status list, unpacked.
const keysFreshSeconds = 1800; // From then on they are read anew, and serve meanwhile.
const keysKeptSeconds = 3600;
const keysPauseSeconds = 60; // Between two readings of the keys for a kid that they lack.
const listsMost = 64;

interface StatusList {
  bits: Uint8Array;
  ttl: number;
  exp: number;
}

/**
 * Reads what a status list token says of a credential whose claims verifyToken returned.
 * Makes no call. Resolves for VALID; rejects with a StatusError, or with a TokenError for a
 * list that is not good. now in Unix seconds.
 */
export async function verifyStatus(claims: Claims, list: string, keys: JWKS, now = Date.now() / 1000): Promise<void> {
  readStatus(claims, await openStatusList(claims, list, keys, now));
}

function reference(claims: Claims): { idx: number; uri: string } {
  const entry = claims.status?.status_list;
  if (!entry || !Number.isInteger(entry.idx) || typeof entry.uri !== "string" || !entry.uri) throw new StatusError("no_status");
  return entry;
}

async function openStatusList(claims: Claims, list: string, keys: JWKS, now: number): Promise<StatusList> {
  const { uri } = reference(claims);
  const told = object(await openToken(list, listMax, "statuslist+jwt", keys));
  const [iat, exp, ttl] = [told["iat"], told["exp"], told["ttl"]] as [number, number, number];
  const inner = told["status_list"];
  if (![iat, exp, ttl].every(Number.isInteger) || ttl <= 0 || !isObject(inner)) throw new TokenError("malformed");
  if (told["sub"] !== uri || inner["bits"] !== 2) throw new StatusError("wrong_list");
  now = Math.floor(now);
  if (now >= exp) throw new TokenError("expired");
  if (now + leewaySeconds < iat) throw new TokenError("not_yet_valid");
  if (typeof inner["lst"] !== "string") throw new TokenError("malformed");
  return { bits: await unpack(segment(inner["lst"])), ttl, exp };
}

async function unpack(packed: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate")).getReader();
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new TokenError("malformed");
    });
    if (done) break;
    parts.push(value);
    if ((size += value.length) > bitsMax) {
      await reader.cancel().catch(() => undefined);
      throw new TokenError("malformed");
    }
  }
  const bits = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    bits.set(part, at);
    at += part.length;
  }
  return bits;
}

function readStatus(claims: Claims, list: StatusList): void {
  const { idx } = reference(claims);
  if (idx < 0 || idx >= list.bits.length * 4) throw new StatusError("out_of_range");
  const value = (list.bits[Math.floor(idx / 4)]! >> ((idx % 4) * 2)) & 3;
  if (value !== 0) throw new StatusError(value === 2 ? "suspended" : "revoked"); // A value that has no meaning is no VALID.
}

/** How long one may wait. */
export interface Patience {
  signal?: AbortSignal | undefined; // Ends the waiting; what others wait for goes on.
}

/**
 * The keys that a service publishes, kept for an hour. They are read anew before it is over, and again, at
 * most once a minute, if one is missing.
 */
export class Published {
  #keys: Kept<JWKS>;
  #now: () => number;

  constructor(client: Client, now: () => number) {
    this.#now = now;
    this.#keys = new Kept(async (at) => ({ value: await client.jwks(), fresh: at + keysFreshSeconds, end: at + keysKeptSeconds }), now);
  }

  /** Calls act with the keys, and once more with new ones if they lack one. */
  async use<T>(act: (keys: JWKS) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const { value, read } = await this.#keys.get(signal);
    try {
      return await act(value);
    } catch (error) {
      if (!(error instanceof TokenError) || error.code !== "unknown_key" || this.#now() - read < keysPauseSeconds) throw error;
    }
    return act((await this.#keys.renew(read, signal)).value);
  }
}

/**
 * Verifies credentials and their status, and keeps keys and lists as long as it may: most verifications ask
 * nobody. One reading serves all who wait for it. A list is read anew when its ttl is over, and serves until
 * its exp while that is under way or fails. No API key is needed for either.
 */
export class Verifier {
  #client: Client;
  #issuer: string;
  #now: () => number;
  #published: Published;
  #lists = new Map<string, Kept<StatusList>>();

  /** now in Unix seconds. */
  constructor(client: Client, issuer: string, now = () => Date.now() / 1000) {
    this.#client = client;
    this.#issuer = issuer;
    this.#now = now;
    this.#published = new Published(client, now);
  }

  /** The claims of a credential that is good and neither revoked nor suspended; any rejection means that it may not be relied on. */
  async verify(token: string, { signal }: Patience = {}): Promise<Claims> {
    const claims = await this.#published.use((keys) => verifyToken(token, keys, this.#issuer, this.#now()), signal);
    const list = await this.#list(claims).get(signal).catch((error: unknown) => {
      throw error instanceof RailguardError ? new StatusError("status_unknown") : error;
    });
    if (this.#now() >= list.value.exp) throw new TokenError("expired");
    readStatus(claims, list.value);
    return claims;
  }

  #list(claims: Claims): Kept<StatusList> {
    const { uri } = reference(claims);
    const path = /\/status-lists\/[0-9]{1,19}$/.exec(uri)?.[0]; // The number alone is the credential's to say: no other host is asked.
    if (path === undefined) throw new StatusError("wrong_list");
    let list = this.#lists.get(uri);
    if (!list) {
      if (this.#lists.size >= listsMost) this.#lists.clear();
      list = new Kept((at) => this.#fetch(claims, path, at), this.#now);
      this.#lists.set(uri, list);
    }
    return list;
  }

  async #fetch(claims: Claims, path: string, at: number): Promise<Known<StatusList>> {
    const text = await this.#client.statusList(path);
    const value = await this.#published.use((keys) => openStatusList(claims, text, keys, at));
    return { value, fresh: Math.min(at + value.ttl, value.exp), end: value.exp };
  }
}
