// JSON read more strictly than JSON.parse does.

import { PermitError } from "./errors.ts";

export const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
export const whole = (value: unknown): value is number => Number.isInteger(value) && (value as number) >= 0 && (value as number) < 1e15;
const strictDepth = 16;
const strictToken = /[\t\n\r ]*(?:([[\]{},:])|("(?:[^"\\]|\\.)*")|([^[\]{},:"\t\n\r ]+))/y;

/**
 * Reads a JSON object in which no member stands twice, at any depth, as JSON.parse does not. A
 * whole number that is not written as one (1.0, 1e3, -0) or is too long is read as NaN.
 */
export function strictObject(raw: Uint8Array): Record<string, unknown> {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(raw);
    JSON.parse(text); // From here on it is known to be JSON.
  } catch {
    throw new PermitError("malformed");
  }
  if (/\\u[dD][89a-fA-F]/.test(text)) throw new PermitError("malformed"); // The escape of half of a character: no permit needs one.
  let at = 0;
  const next = (): RegExpExecArray => {
    strictToken.lastIndex = at;
    const token = strictToken.exec(text)!;
    at = strictToken.lastIndex;
    return token;
  };
  const value = (token: RegExpExecArray, depth: number): unknown => {
    const [, sign, quoted, word] = token;
    if (quoted) return JSON.parse(quoted);
    if (word) return /^[-0-9]/.test(word) ? strictNumber(word) : JSON.parse(word);
    if (depth === 0) throw new PermitError("malformed");
    const list: unknown[] = [];
    const members = Object.create(null) as Record<string, unknown>;
    for (let token = next(); token[1] !== "]" && token[1] !== "}"; token = next()) {
      if (token[1] === ",") token = next();
      if (sign === "[") {
        list.push(value(token, depth - 1));
        continue;
      }
      const name = JSON.parse(token[2]!) as string;
      if (name in members) throw new PermitError("malformed");
      next(); // The colon.
      members[name] = value(next(), depth - 1);
    }
    return sign === "[" ? list : members;
  };
  const object = value(next(), strictDepth);
  if (!isObject(object)) throw new PermitError("malformed");
  return object;
}

function strictNumber(word: string): number {
  const number = Number(word);
  return Number.isInteger(number) && !/^(0|-?[1-9][0-9]{0,14})$/.test(word) ? NaN : number;
}
