// Messages of webhooks.

import { fromBase64 } from "./base64.ts";
import { WebhookError } from "./errors.ts";
import type { Event } from "./events.ts";
import { isObject } from "./strict.ts";

const webhookTolerance = 300; // Seconds.

/**
 * Checks a message of a webhook as Standard Webhooks says and returns its event. body is
 * what came, before anything parsed it; the secret is the shared one (whsec_…) or the
 * public key (whpk_…); now in Unix seconds.
 */
export async function verifyWebhook(
  secret: string, headers: Headers | Record<string, string | string[] | undefined>, body: string | Uint8Array, now = Date.now() / 1000,
): Promise<Event> {
  const header = (name: string): string => {
    if (headers instanceof Headers) return headers.get(name) ?? "";
    const found = Object.entries(headers).find(([known]) => known.toLowerCase() === name)?.[1];
    return typeof found === "string" ? found : "";
  };
  const [id, at, signatures] = [header("webhook-id"), header("webhook-timestamp"), header("webhook-signature")];
  if (!id || !/^(0|-?[1-9][0-9]{0,14})$/.test(at) || !signatures) throw new WebhookError("malformed");
  const raw = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const head = new TextEncoder().encode(`${id}.${at}.`);
  const signed = new Uint8Array(head.length + raw.length);
  signed.set(head);
  signed.set(raw, head.length);
  const [key, algorithm, version] = await webhookKey(secret);
  let good = false;
  for (const signature of signatures.split(/\s+/)) {
    const comma = signature.indexOf(",");
    const bytes = comma < 0 || signature.slice(0, comma) !== version ? null : fromBase64(signature.slice(comma + 1));
    if (bytes && (await crypto.subtle.verify(algorithm, key, bytes, signed))) good = true;
  }
  if (!good) throw new WebhookError("bad_signature");
  if (Math.abs(now - Number(at)) > webhookTolerance) throw new WebhookError("too_old");
  try {
    const event: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(raw));
    if (isObject(event)) return event as unknown as Event;
  } catch {
    // Told below.
  }
  throw new WebhookError("malformed");
}

async function webhookKey(secret: string): Promise<[CryptoKey, string, string]> {
  const raw = fromBase64(secret.slice(secret.indexOf("_") + 1));
  if (secret.startsWith("whsec_") && raw?.length) {
    return [await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]), "HMAC", "v1"];
  }
  if (secret.startsWith("whpk_") && raw?.length === 32) {
    return [await crypto.subtle.importKey("raw", raw, { name: "Ed25519" }, false, ["verify"]), "Ed25519", "v1a"];
  }
  throw new WebhookError("bad_secret");
}
