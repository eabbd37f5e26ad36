// For the packages of version 1 of the protocol (x402, x402-fetch, x402-express 1.2.0). They drop a payment's
// extensions, so that only a header carries the credential, and no proof, user, permit or review.
import { AsyncLocalStorage } from "node:async_hooks";

import { facilitatorAt } from "./server.js";

const header = "X-Railguard-Token";

/** Returns a fetch that sends the agent's token with each payment: wrapFetchWithPayment(sendToken(fetch, token), wallet). */
export function sendToken(fetch, token) {
  return async (input, init) => {
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
    if (!headers.has("X-PAYMENT")) return fetch(input, init); // What pays nothing needs no credential.
    const mine = typeof token === "function" ? await token() : token;
    if (mine) headers.set(header, mine);
    return fetch(input, { ...init, headers });
  };
}

/**
 * Returns the facilitator of a resource server, paymentMiddleware(payTo, routes, rail), and the middleware that
 * keeps each request's own token, app.use(rail.remember), which goes before it.
 */
export function facilitatorOfV1(settings) {
  const { url, createAuthHeaders } = facilitatorAt(settings);
  const tokens = new AsyncLocalStorage();
  return {
    url,
    remember: (request, response, next) => tokens.run(request.headers[header.toLowerCase()], next),
    createAuthHeaders: async () => {
      const { verify, settle, supported } = await createAuthHeaders();
      const token = tokens.getStore();
      if (typeof token !== "string" || token === "") return { verify, settle, supported };
      return { verify: { ...verify, [header]: token }, settle: { ...settle, [header]: token }, supported };
    },
  };
}
