// Money: decimal texts, and JSON that keeps every digit of them.

import { isObject } from "./strict.ts";
import type { USD } from "./types.ts";

const isMoney = (member: string): boolean => member === "amount" || member.endsWith("USDC");
const literal = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?$/;

/** Reads an amount from 0 to 1e12 dollars into its shortest decimal; more than six decimals are rounded up. */
export function parseUSD(text: string): USD {
  const parts = text.length <= 64 ? literal.exec(text) : null;
  if (!parts || text.startsWith("-")) throw new RangeError("not an amount from 0 to 1e12 dollars");
  const fraction = (parts[2] ?? ".").slice(1);
  const shift = 6 + Number((parts[3] ?? "e0").slice(1)) - fraction.length;
  let micros = BigInt(parts[1]! + fraction);
  if (shift >= 0) micros *= 10n ** BigInt(shift);
  else {
    const unit = 10n ** BigInt(-shift);
    micros = (micros + unit - 1n) / unit;
  }
  if (micros > 10n ** 18n) throw new RangeError("not an amount from 0 to 1e12 dollars");
  const digits = micros.toString().padStart(7, "0");
  return (digits.slice(0, -6) + "." + digits.slice(-6)).replace(/\.?0+$/, "");
}

/** JSON that is sent as it was written. */
export class Written {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** JSON in which money is a number literal made from its string. */
export function encode(value: unknown, member: string): string {
  if (value instanceof Written) return value.text;
  if (isMoney(member) && value !== null) {
    if (typeof value !== "string") throw new TypeError(`${member} is a decimal string such as "0.10"`);
    if (!literal.test(value)) throw new RangeError(`${member} is not a decimal`);
    return value;
  }
  if (Array.isArray(value)) return "[" + value.map((element) => encode(element, "")).join(",") + "]";
  if (value === null || typeof value !== "object" || member === "metadata") return JSON.stringify(value) ?? "null";
  const members = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return "{" + members.map(([name, inner]) => JSON.stringify(name) + ":" + encode(inner, name)).join(",") + "}";
}

const tokens = /"((?:[^"\\]|\\.)*)"(\s*:)?|-?[0-9][0-9.eE+-]*|[[\]{},]/g;

/** Reads an object in which money stays the text that it was. */
export function parse(text: string): Record<string, unknown> | undefined {
  let member = "";
  const quoted = text.replace(tokens, (token: string, name: string, colon: string | undefined) => {
    if (colon) {
      member = name;
      return token;
    }
    const money = isMoney(member) && /^[-0-9]/.test(token);
    member = "";
    return money ? `"${token}"` : token;
  });
  try {
    JSON.parse(text); // Quoting must not make JSON of what is none.
    const value: unknown = JSON.parse(quoted);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
