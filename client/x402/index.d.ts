type Given<T> = T | (() => T | Promise<T>);

export interface Agent {
  /** The agent's credential. A function is asked for each payment. */
  token: Given<string>;
  /** The credential of the user for whom it pays. */
  userToken?: Given<string | undefined>;
  /** The review whose leave the next payment takes. */
  txnId?: Given<string | undefined>;
  /** Whether verify is to answer with a permit for the resource. */
  permit?: boolean;
  /** The agent's own key, Ed25519 or ECDSA on P-256, if it has one. */
  key?: CryptoKey;
  /** The public URL of Railguard, for which the key signs. */
  audience?: string;
}

/** A payment as far as this package reads it. */
export interface Payment {
  payload: Record<string, unknown>;
  accepted?: unknown;
  extensions?: Record<string, unknown>;
}

export interface AgentExtension {
  key: "railguard";
  enrichPaymentPayload<P extends Payment>(payment: P): Promise<P>;
}

/** The extension of a paying client: `client.registerExtension(payingAgent({ token }))`. */
export function payingAgent(agent: Agent): AgentExtension;

export interface FacilitatorSettings {
  /** The address of Railguard, without /x402. */
  url: string;
  /** An API key of this resource server, with the role screener. */
  key: string;
  timeoutMs?: number;
}

type Headers = Record<string, string>;

export interface FacilitatorConfig {
  url: string;
  timeoutMs?: number;
  createAuthHeaders(): Promise<{ verify: Headers; settle: Headers; supported: Headers }>;
}

/** The settings of an HTTPFacilitatorClient: `new HTTPFacilitatorClient(facilitatorAt({ url, key }))`. */
export function facilitatorAt(settings: FacilitatorSettings): FacilitatorConfig;

/** What a route says of the credential: `extensions: declaration`. */
export const declaration: { railguard: { info: Record<string, never>; schema: Record<string, unknown> } };

export interface ResourceServer {
  onBeforeVerify(hook: (context: any) => Promise<void>): unknown;
  registerExtension(extension: { key: string; enrichPaymentRequiredResponse: (declared: unknown, context: any) => Promise<unknown> }): unknown;
}

/** Takes X-Railguard-Token from clients that can only send a header, and tells payers what they can do about a refusal. */
export function acceptCredentials<S extends ResourceServer>(server: S): S;

export interface Facilitator {
  verify(payment: any, wanted: any): Promise<any>;
  settle(payment: any, wanted: any): Promise<any>;
  getSupported(): Promise<any>;
}

export interface GuardSettings {
  /** The address of Railguard. */
  url: string;
  /** An API key of this resource server, with the role screener. */
  key: string;
  /** A key with the role settler, for releases. Without it a release needs the policy `settlement: self`. */
  settlerKey?: string;
  /** Tokens that are worth a dollar, each as NETWORK/ADDRESS/DECIMALS/CHAIN. USDC on Ethereum and Base unless said otherwise. */
  assets?: string[];
  /** For a question to Railguard; 2500. */
  timeoutMs?: number;
  log?: (line: string) => void;
}

/** A facilitator that settles what Railguard lets through: `new x402ResourceServer(guardFacilitator(facilitator, { url, key }))`. */
export function guardFacilitator<F extends Facilitator>(facilitator: F, settings: GuardSettings): Pick<F, "verify" | "settle" | "getSupported">;
