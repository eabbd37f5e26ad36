// The resource server's side, with Railguard as its facilitator.

/** Returns the settings of an HTTPFacilitatorClient: new HTTPFacilitatorClient(facilitatorAt({ url, key })). */
export function facilitatorAt({ url, key, timeoutMs }) {
  const headers = { Authorization: `Bearer ${key}` };
  return {
    url: `${url.replace(/\/+$/, "")}/x402`,
    ...(timeoutMs !== undefined && { timeoutMs }),
    createAuthHeaders: async () => ({ verify: headers, settle: headers, supported: headers }),
  };
}

/** What a route says of the credential: extensions: declaration. Then a client that has none reads what is missing. */
export const declaration = {
  railguard: {
    info: {},
    schema: {
      type: "object",
      properties: {
        token: { type: "string", description: "The credential of the agent that pays, of the institution that guards this resource." },
        userToken: { type: "string", description: "The credential of the user for whom it pays." },
        proof: { type: "string", description: "The proof of the agent's own key, for this payment." },
        txnId: { type: "string", description: "The review whose leave this payment takes." },
        permit: { type: "boolean", description: "Whether a permit is wanted." },
      },
      required: ["token"],
    },
  },
};

/** What a payer can do about a refusal, by its reason. It tells nothing of why the payment was refused. */
const hints = {
  railguard_credential_missing: "Put the agent's token into extensions.railguard.info.token of the payment (npm: railguard-x402, payingAgent), or send it as X-Railguard-Token.",
  railguard_unknown: "The credential is not one that is good here: ask its institution.",
  railguard_review: "A person must approve this payment: pay again later.",
  railguard_conflict: "This signed payment came with another credential before: sign another payment.",
  railguard_unavailable: "No verdict can be had now: pay again later.",
};

/**
 * Takes the credential of a client that can only send a header (X-Railguard-Token), and tells clients of
 * routes with the declaration what they can do about a refusal.
 */
export function acceptCredentials(server) {
  server.onBeforeVerify(takeHeader);
  server.registerExtension({
    key: "railguard",
    enrichPaymentRequiredResponse: async (declared, { error }) => (Object.hasOwn(hints, error ?? "") ? { ...declared, hint: hints[error] } : undefined),
  });
  return server;
}

/** Moves X-Railguard-Token into the payment, if that has no credential: the facilitator sees no headers. */
async function takeHeader({ paymentPayload, transportContext }) {
  const token = transportContext?.request?.adapter?.getHeader("x-railguard-token");
  const extensions = paymentPayload.extensions ?? {};
  const { railguard } = extensions;
  if (typeof token !== "string" || token === "" || railguard?.info?.token !== undefined) return;
  paymentPayload.extensions = { ...extensions, railguard: { ...railguard, info: { ...railguard?.info, token } } };
}
