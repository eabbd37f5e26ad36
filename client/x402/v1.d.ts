import type { FacilitatorConfig, FacilitatorSettings } from "./index.js";

/** A fetch that sends the agent's token with each payment: `wrapFetchWithPayment(sendToken(fetch, token), wallet)`. */
export function sendToken(fetch: typeof globalThis.fetch, token: string | (() => string | Promise<string>)): typeof globalThis.fetch;

export interface FacilitatorOfV1 extends FacilitatorConfig {
  url: `${string}://${string}`;
  /** Middleware that keeps each request's own token; it goes before the payment's: `app.use(rail.remember)`. */
  remember(request: { headers: Record<string, string | string[] | undefined> }, response: unknown, next: () => void): void;
}

/** The facilitator of a resource server of version 1: `paymentMiddleware(payTo, routes, rail)`. */
export function facilitatorOfV1(settings: FacilitatorSettings): FacilitatorOfV1;
