// The lines of docs/x402.md as a strict compiler sees them beside the published packages.
import { x402Client } from "@x402/core/client";
import { HTTPFacilitatorClient, x402ResourceServer, type RouteConfig } from "@x402/core/server";
import { acceptCredentials, declaration, facilitatorAt, guardFacilitator, payingAgent } from "railguard-x402";
import { facilitatorOfV1, sendToken } from "railguard-x402/v1";

const key = "rg_live_x";
const url = "https://guard.example.org";
const facilitator = new HTTPFacilitatorClient(facilitatorAt({ url, key }));
export const server: x402ResourceServer = acceptCredentials(new x402ResourceServer(facilitator));
export const own = new x402ResourceServer(guardFacilitator(facilitator, { url, key, settlerKey: key, assets: [], timeoutMs: 1, log: console.warn }));
export const client: x402Client = new x402Client().registerExtension(payingAgent({ token: async () => "t", userToken: "u", txnId: () => undefined, permit: true }));
export const route: RouteConfig = { accepts: { scheme: "exact", payTo: "0x", price: "$1", network: "eip155:8453" }, extensions: declaration };
export const pays: typeof fetch = sendToken(fetch, () => "t");
export const rail: { url: `${string}://${string}`; createAuthHeaders(): Promise<{ verify: Record<string, string>; settle: Record<string, string>; supported: Record<string, string> }> } = facilitatorOfV1({ url, key });
// @ts-expect-error A paying client has a credential.
payingAgent({});
// @ts-expect-error A facilitator has a key.
facilitatorAt({ url });
