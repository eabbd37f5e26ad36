// Base64 as tokens and secrets have it.

const unpadded = (text: string): string => btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

/** Of bytes, a signature or a digest. */
export const base64URL = (raw: Uint8Array): string => unpadded(String.fromCharCode(...raw));

/** Reads base64url without padding; null: it is none, or not in its one form. */
export function fromBase64URL(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9_-]+$/.test(text) || text.length % 4 === 1) return null;
  const raw = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return unpadded(raw) === text ? Uint8Array.from(raw, (c) => c.charCodeAt(0)) : null; // Bits behind the last byte.
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0 ? Uint8Array.from(atob(text), (c) => c.charCodeAt(0)) : null;
  } catch {
    return null;
  }
}
