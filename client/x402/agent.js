// The paying client's side: each payment gets the agent's credential, and a proof of its key.

const proofDigits = 15; // More than that a number does not keep.
const utf8 = new TextEncoder();

/**
 * Returns the extension of a paying client: client.registerExtension(payingAgent({ token })).
 * Whatever may be a function is asked for each payment.
 */
export function payingAgent({ token, userToken, txnId, permit, key, audience }) {
  if (key && !audience) throw new TypeError("a proof needs audience: the public URL of Railguard");
  return {
    key: "railguard",
    async enrichPaymentPayload(payment) {
      const info = { token: await valueOf(token) };
      const more = { userToken: await valueOf(userToken), txnId: await valueOf(txnId), permit: permit || undefined };
      for (const [name, value] of Object.entries(more)) if (value !== undefined) info[name] = value;
      if (key) info.proof = await provePayment(key, audience, payment);
      const before = payment.extensions?.railguard;
      return { ...payment, extensions: { ...payment.extensions, railguard: { ...before, info: { ...before?.info, ...info } } } };
    },
  };
}

const valueOf = (given) => (typeof given === "function" ? given() : given);

/** Signs that this payment is of whoever has the agent's key. It is good for two minutes, and for this payment. */
async function provePayment(key, audience, payment) {
  const edwards = key.algorithm.name === "Ed25519";
  if (!edwards && (key.algorithm.name !== "ECDSA" || key.algorithm.namedCurve !== "P-256")) throw new TypeError("the agent's key is neither Ed25519 nor P-256");
  const { accepted, payload } = payment;
  const sent = JSON.parse(JSON.stringify({ accepted, payload })); // As it is sent; version 1 has no accepted.
  const digest = await crypto.subtle.digest("SHA-256", utf8.encode(canonical(sent)));
  const jti = base64URL(crypto.getRandomValues(new Uint8Array(24)));
  const claims = { aud: audience, act: "x402", iat: Math.floor(Date.now() / 1000), jti, rqh: base64URL(new Uint8Array(digest)) };
  const signed = [{ alg: edwards ? "EdDSA" : "ES256", typ: "railguard-proof+jwt" }, claims].map((part) => base64URL(utf8.encode(JSON.stringify(part)))).join(".");
  const signature = await crypto.subtle.sign(edwards ? "Ed25519" : { name: "ECDSA", hash: "SHA-256" }, key, utf8.encode(signed));
  return `${signed}.${base64URL(new Uint8Array(signature))}`;
}

/** Canonical JSON (RFC 8785): this language's own texts and numbers, with the members by name. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${members.map(([name, inner]) => `${canonical(name)}:${canonical(inner)}`).join(",")}}`;
  }
  if (typeof value === "string" && /\p{Surrogate}/u.test(value)) throw new RangeError("a text has half a character");
  const text = JSON.stringify(value);
  if (typeof value === "number" && text.replace(/e.*$/, "").replace(/[-.]/g, "").replace(/^0+|0+$/g, "").length > proofDigits) {
    throw new RangeError(`a number of a proven payment has at most ${proofDigits} digits`);
  }
  return text;
}

const base64URL = (raw) => btoa(String.fromCharCode(...raw)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
