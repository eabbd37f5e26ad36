// What a payment is, as a permit states it.

import { base64URL } from "./base64.ts";
import { identifierForm, lower, upper } from "./identifier.ts";
import { parseUSD } from "./money.ts";
import { isObject } from "./strict.ts";
import type { Payment, USD } from "./types.ts";

/** What a permit says of the payment that it permits. It has no members but these. */
export interface PayStatement {
  amount: USD; // Shortest decimal.
  currency: string; // USD.
  asset?: string; // CAIP-19, of an x402 payment, as are units and nonce.
  chain?: string; // Upper case, as is rail.
  nonce?: string;
  payee?: string; // Canonical wallet, as is payer.
  payeeIds?: string[]; // In place of a wallet: sorted hashes of name and identifiers.
  payer?: string;
  rail?: string;
  ref?: string; // The request's paymentRef.
  units?: string;
}

/**
 * What one is about to pay, in the words of the screening request. A payee is required: a
 * wallet, or else a name or identifiers. What was not told when the payment was screened must
 * not be told here, and the other way round.
 */
export interface Paying {
  amount: USD;
  chain?: string;
  rail?: string;
  payee?: string; // Wallet; with it name and identifiers do not count.
  payer?: string; // Wallet.
  name?: string; // Of the payee.
  identifiers?: NonNullable<Payment["cpIdentifiers"]>;
  ref?: string; // paymentRef.
  asset?: string; // x402: the token (CAIP-19), its smallest units, and the authorization's nonce.
  units?: string;
  nonce?: string;
}

const payMembers = ["amount", "asset", "chain", "currency", "nonce", "payee", "payeeIds", "payer", "rail", "ref", "units"];

/** The value that binds a payment: b64url(SHA-256(JCS(pay))). */
export async function payHash(pay: PayStatement): Promise<string> {
  const texts = (value: unknown): value is string[] => Array.isArray(value) && value.every((text) => typeof text === "string");
  const members = Object.entries(isObject(pay) ? pay : {}).filter(([, value]) => value !== undefined);
  const closed = members.every(([name, value]) => payMembers.includes(name) && (name === "payeeIds" ? texts(value) : typeof value === "string"));
  if (members.length === 0 || !closed) throw new TypeError("a payment's statement has texts, of its members alone");
  members.sort(([one], [other]) => (one < other ? -1 : 1));
  return hashText(JSON.stringify(Object.fromEntries(members))); // With texts alone this is RFC 8785.
}

async function hashText(text: string): Promise<string> {
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return base64URL(sum);
}

/** Addresses of EVM chains and in bech32 in lower case; those in base58 stay as they are. */
const canonicalWallet = (text: string): string => (/^0[xX][0-9a-fA-F]{40}$/.test(text) || text.startsWith("BC1") ? lower(text) : text);

/**
 * Builds the statement of the payment. jti is that of the permit, the payment's txnId: it salts
 * the hashes of name and identifiers.
 */
export async function buildPay(paying: Paying, jti: string): Promise<PayStatement> {
  const { asset = "", units = "", nonce = "", name = "", identifiers = [] } = paying;
  if (units && !/^(0|[1-9][0-9]*)$/.test(units)) throw new RangeError("units are a whole number");
  const pay: PayStatement = { amount: parseUSD(paying.amount), currency: "USD" };
  const add = (member: "asset" | "chain" | "nonce" | "payee" | "payer" | "rail" | "ref" | "units", text: string): void => {
    if (text) pay[member] = text;
  };
  add("chain", upper(paying.chain ?? ""));
  add("rail", upper(paying.rail ?? ""));
  add("payee", canonicalWallet(paying.payee ?? ""));
  add("payer", canonicalWallet(paying.payer ?? ""));
  add("ref", paying.ref ?? "");
  add("units", units);
  add("asset", asset.startsWith("eip155:") ? lower(asset) : asset);
  add("nonce", /^0[xX][0-9a-fA-F]+$/.test(nonce) ? lower(nonce) : nonce);
  if (pay.payee) return pay;
  const known: (readonly [string, string])[] = identifiers.map(({ type, value }) => [type as string, identifierForm(type, value)] as const);
  const blanks = /^[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+|[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+$/g;
  const written = name.replace(blanks, "").normalize("NFC");
  if (written) known.push(["name", written] as const);
  if (known.length === 0) throw new RangeError("a payment without a payee: it would be any payee's");
  pay.payeeIds = (await Promise.all(known.map(([type, value]) => hashText(`${jti}\n${type}\n${value}`)))).sort();
  return pay;
}
