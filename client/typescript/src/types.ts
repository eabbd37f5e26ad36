// What calls take and answer. Members that a later release adds to an answer are there too, without a type.

/** An amount as a decimal string: "100", "0.10". */
export type USD = string;
export type Outcome = "none" | "unknown";
export type Disposition = "APPROVED" | "REJECTED" | "ESCALATE_SAR";

export interface SpendPolicy {
  maxSingleTxUSDC?: USD;
  dailyLimitUSDC?: USD;
  allowedChains?: string[];
  allowedRails?: string[];
  counterpartyScreening?: "OFAC" | "OFAC+CONS";
  noMixerProtocols?: boolean;
}

export interface Agent {
  agentName: string;
  agentType: "autonomous" | "supervised";
  operatorLegalName: string;
  operatorId?: string; // Which operator of this name; "new": another one.
  purpose: string;
  spendPolicy?: SpendPolicy;
  underlyingModel?: string;
  agentFramework?: string;
  operatorWallet?: string;
  operatorEIN?: string;
  fleetId?: string;
  metadata?: Record<string, unknown>;
  allowedCounterpartyTypes?: CounterpartyType[];
  operatingHours?: OperatingHours;
  velocity?: Velocity;
  whitelist?: Whitelist;
  publicKey?: JsonWebKey; // Ed25519 or P-256: the agent's own key, for signProof.
  possession?: "off" | "review" | "required";
}

export type CounterpartyType = "individual" | "business" | "exchange";

/** When an agent may pay. */
export interface OperatingHours {
  timezone?: string;
  windows: { days: ("MON" | "TUE" | "WED" | "THU" | "FRI" | "SAT" | "SUN")[]; from: string; to: string }[];
  holidays?: string[]; // Dates.
}

/** How often an agent may pay. */
export interface Velocity {
  maxPerMinute?: number | null;
  maxPerHour?: number | null;
  burstFactor?: number | null;
}

/** Whom an agent may pay. */
export interface Whitelist {
  mode?: "enforce" | "off";
  kinds?: ("wallet" | "name")[];
  entries?: { wallet?: string; name?: string; label?: string; expiresAt?: string }[];
}

export interface Delegate {
  agentName: string;
  parentAgentId?: string;
  parentToken?: string;
  agentType?: string;
  operatorLegalName?: string;
  purpose?: string;
  expiresAt?: string;
  spendPolicy?: SpendPolicy;
  underlyingModel?: string;
  agentFramework?: string;
  metadata?: Record<string, unknown>;
  allowedCounterpartyTypes?: CounterpartyType[];
  operatingHours?: OperatingHours;
  velocity?: Velocity;
  whitelist?: Whitelist;
  publicKey?: JsonWebKey; // It inherits none.
  possession?: "off" | "review" | "required";
}

export interface Registration {
  operatorId?: string;
  similarOperators?: { operatorId: string; operatorLegalName: string }[];
  agentId: string;
  token: string;
  credential: unknown;
  credentialVersion: number;
  fleetId: string | null;
  operatorEIN?: string;
  parentAgentId?: string; // Of a delegate, as are rootAgentId and depth.
  rootAgentId?: string;
  depth?: number;
  effectivePolicy?: SpendPolicy; // What it and its parents allow together.
  effectiveVelocity?: Velocity;
  warnings: { code: string; message?: string; rule?: string; param?: string }[];
  eventId: string;
  publicKeyThumbprint?: string; // RFC 7638.
}

export interface Payment {
  token: string;
  amount: USD;
  chain?: string;
  rail?: string;
  cpWallet?: string;
  payerWallet?: string;
  wallets?: { role: "payer" | "payee" | "intermediary" | "fee"; address: string }[];
  cpName?: string;
  cpType?: string;
  cpCountry?: string;
  cpDateOfBirth?: string;
  cpAddress?: string;
  cpRegion?: string;
  originCountry?: string;
  cpIdentifiers?: { type: "bic" | "iban" | "lei" | "tax_id" | "registration" | "national_id" | "passport" | "imo" | "mmsi" | "aircraft_tail" | "email" | "website" | "phone" | "duns" | "account"; value: string; country?: string }[];
  memo?: string;
  protocol?: string;
  underlyingModel?: string;
  model?: string; // Another name of underlyingModel.
  userToken?: string;
  travelRuleRef?: string;
  paymentRef?: string;
  hold?: { ttlSeconds: number };
  permit?: { ttlSeconds?: number; aud?: string };
  proof?: string; // signProof of the rest, for screen or dry_run.
}

/** A payment of a batch; a key that is missing is drawn and written here. One with a proof has its. */
export type BatchPayment = Payment & { idempotencyKey?: string };

export type VerdictWord = "PROCEED" | "REVIEW" | "BLOCK" | "UNKNOWN";
export type CredentialStatus = "ACTIVE" | "SUSPENDED" | "REVOKED" | "EXPIRED";

/** The answer to a screening call, and its record. What stands only in a record, or is told only to some keys, may be missing. */
export interface Verdict {
  verdict: VerdictWord;
  txnId: string;
  rule: string | null;
  reason: string;
  agentId?: string;
  agentName?: string;
  agentType?: string;
  operatorId?: string;
  operatorLegalName?: string;
  credentialStatus?: CredentialStatus;
  userId?: string;
  fleetId?: string;
  chain?: string[]; // The agent's parents.
  screenedAt: string;
  latencyMs?: number;
  hold?: { state: string; amount: USD; expiresAt: string };
  permit?: string;
  permitExpiresAt?: string;
  permitSeconds?: number;
  permitTerms?: { aud?: string; maxAge?: number; lists?: { id: string; asOf?: string }[]; x402?: { asset: string; units: string; nonce: string } };
  warnings?: CallWarning[]; // A member that nobody knows, an amount that was rounded.
  // What the verdict rests on.
  ruleSet: string;
  policyVersion: number;
  listVersion: number;
  index: number; // In the log: minIndex of a later call reads nothing older.
  ofacSource?: string;
  ofacStale?: boolean;
  listName?: string;
  listDigest?: string;
  listAgeSeconds?: number;
  matcherVersion?: number;
  mixerVersion?: string;
  placesVersion?: string;
  tzVersion?: string;
  // What became of it.
  disposition?: string | null;
  reviewedBy?: string;
  reviewedAt?: string;
  reviewedByKey?: string;
  notes?: string;
  proposed?: Proposed;
  confirms?: Proposed; // The proposal that a second person's disposition confirmed.
  comments?: { eventId: string; time: string; comment: string; actor: string | null; actorKeyId: string }[];
  sarEscalated?: boolean;
  overLimitApproved?: boolean;
  notHeld?: boolean;
  approval?: Approval;
  recheck?: Record<string, unknown>; // How the rules judged it when it was approved.
  payment?: Ending;
  lateSettlement?: Ending; // It was settled after it had ended.
  payBy?: string;
  confirmable?: boolean;
  confirmableReason?: "lapsed" | "settled" | "redeemed" | "released" | "agent_status" | "listed" | "blocked" | "unknown";
  replayed?: boolean; // In a batch: the key was used before.
  unchanged?: boolean;
  eventId?: string;
  // The record.
  _request?: RecordedRequest;
  leafHash?: string;
  requestHash?: string;
  idempotencyKeyHash?: string;
  requestId?: string;
  traceId?: string;
  version?: string;
  node?: string;
  keyId?: string;
  jti?: string;
  userJti?: string;
  agentSequence?: number;
  agentPrevious?: number;
  profile?: { leaf: number; leafHash: string };
  userProfile?: { leaf: number; leafHash: string };
  proof?: { jkt?: string; form?: "jws" | "httpsig"; sha256?: string; refused?: string };
  // The evidence, for reviewers, auditors and admins of the institution.
  ruleTriggered?: string;
  triggered?: string[];
  shadow?: string[];
  matches?: PartyMatch[];
  matchesTruncated?: boolean;
  evidence?: Record<string, unknown>;
  parties?: ListedParty[];
  partiesUnavailable?: string | null;
  places?: { member: string; read?: string; outcome: "blocked" | "reviewed" | "doubtful" | "unread" | "exempt"; exemption?: string; licence?: string }[];
  walletsElsewhere?: string;
}

/** A disposition that waits for a second person. */
export interface Proposed {
  proposalId: string;
  disposition: string;
  by: string;
  byKey: string;
  proposedBy: string;
  at: string;
  expiresAt: string;
  notes?: string;
}

/** What was read in another way than it was written. */
export interface CallWarning {
  code: "unknown_field" | "amount_rounded";
  param: string;
  judgedAs?: number;
}

/** The request as the record keeps it. */
export interface RecordedRequest extends Omit<Payment, "token" | "userToken" | "proof" | "chain" | "rail" | "cpWallet" | "cpName" | "hold" | "permit" | "wallets"> {
  chain: string | null;
  rail: string | null;
  cpWallet: string | null;
  cpName: string | null;
  wallets?: { role: string; address: string }[];
  hold?: { ttlSeconds: number } | null;
  permit?: { ttlSeconds?: number; aud?: string } | null;
}

/** How a party of the payment is like one on a list. */
export interface PartyMatch {
  party: string;
  list: string;
  uid: string;
  name: string;
  outcome: string;
  type?: string;
  alias?: string;
  quality?: string;
  form?: string;
  score?: number;
  strict?: number;
  wallet?: string;
  programs?: string[];
  ticker?: string;
  document?: string;
  compared?: { what: string; asked: string; listed: string; agrees: boolean }[];
  identifier?: string;
  identifierType?: string;
  identifierLabel?: string;
  identifierCountry?: string;
  readAs?: string;
  member?: string;
  cleared?: boolean;
  clearedId?: string;
  clearing?: string;
  why?: string;
}

/** A party as a list has it. */
export interface ListedParty {
  uid: string;
  name: string;
  type: string;
  list: string;
  entryId?: string;
  programs: string[];
  aliases?: { name: string; weak?: boolean }[];
  facts: { kind: string; label: string; value: string }[];
  context?: string[];
}

/** What screen would say of a payment now. It is no leave to pay. */
export interface DryRun extends Omit<Verdict, "txnId" | "screenedAt" | "index"> {
  dryRun: boolean;
  ladder?: { rule: string; number: number; verdict: VerdictWord; outcome: string; trigger: string; values?: Record<string, unknown>; reason?: string }[];
  notSimulated?: string[];
}

export interface Approval {
  state: string; // open, redeemed or lapsed.
  until?: string;
}

/** What became of a recorded payment: held (it was confirmed), redeemed, settled, released, expired or unresolved. */
export interface Ending {
  state: string;
  amount: USD;
  countedUSDC?: USD;
  railRef?: string;
  reason?: string;
  late?: boolean;
  overLimit?: boolean;
  notAllowed?: boolean;
  forwarded?: boolean;
  unpermitted?: boolean;
  redeemed?: boolean; // Of an unresolved one: it was redeemed.
  verdict?: string; // Of a confirmation.
  expiredAt?: string;
  eventId: string;
  time: string;
}

/** What a confirmation asks. With redeem the leave is taken at once. */
export interface Confirm {
  permit?: { ttlSeconds?: number; aud?: string };
  token?: string;
  proof?: string; // signProof of the rest, for confirm: and the txnId; it needs token.
  redeem?: boolean;
}

/** What a recorded payment is now. Pay on PROCEED and on nothing else. */
export interface Confirmation {
  verdict: VerdictWord;
  txnId: string;
  rule: string | null;
  reason: string;
  confirmedAt: string;
  permit?: string;
  permitExpiresAt?: string;
  payment: { state: "held" | "redeemed" | "released"; amount: USD; expiresAt?: string };
  approval?: Approval;
  policyVersion: number;
  listVersion: number;
  index: number;
  triggered?: string[]; // For reviewers, auditors and admins of the institution, as is shadow.
  shadow?: string[];
}

/** What became of a permit. Hand over if its state is "redeemed" and on nothing else. */
export interface Redemption {
  state: "redeemed" | "refused";
  verdict: VerdictWord;
  txnId: string;
  redeemedAt?: string;
  index: number;
}

export interface Transaction {
  txnId: string;
  state: string;
  amount: USD;
  countedUSDC: USD;
  railRef?: string;
  reason?: string;
  late?: boolean;
  overLimit?: boolean;
  notAllowed?: boolean;
  forwarded?: boolean;
  unpermitted?: boolean;
  eventId: string;
  time: string;
  unchanged?: boolean; // It was so before.
}

/** What a limit leaves today. */
export interface LimitState {
  dailyLimitUSDC: USD | null;
  spentUSDC: USD;
  heldUSDC: USD;
  remainingUSDC: USD | null;
}

export interface Limits {
  agentId: string;
  date: string;
  dailyLimitUSDC: USD | null;
  spentUSDC: USD;
  heldUSDC: USD;
  remainingUSDC: USD | null;
  maxSingleTxUSDC: USD | null;
  availableUSDC: USD | null;
  fleet: (LimitState & { fleetId: string }) | null;
  operator: LimitState & { operatorId: string };
  ancestors: (LimitState & { agentId: string })[];
  asOfIndex: number;
}

export interface Attestation {
  agentId?: string;
  attestationId: string;
  attestedBy: string;
  attestedAt: string;
  note: string | null;
  validUntil: string;
  recordExpiresAt: string;
}

export interface StatusChange {
  agentId?: string;
  userId?: string;
  operatorId?: string;
  operatorLegalName?: string;
  agents?: number; // Of an operator: how many of them.
  previousStatus: CredentialStatus;
  credentialStatus: CredentialStatus;
  changedAt: string;
  reason: string | null;
  reasonCode?: string;
  actor: string | null;
  eventId?: string;
  unchanged?: boolean; // It was so before.
}

export interface Health {
  status: "ok" | "degraded";
  version: string;
  ofac: {
    source: string; count: number; syncedAt: string | null; listVersion?: number; ageSeconds?: number; missing?: string[];
    quarantined?: number; stale?: boolean; publicationAgeSeconds?: number;
  };
  kv: "connected" | "disconnected";
  signingKey: "production" | "ephemeral" | "unavailable";
  node?: string;
  role?: string;
  leader?: string | null;
  quorum?: { voters: number; healthy: number; failureTolerance: number };
  index?: number;
  uptimeSeconds?: number;
  draining?: boolean;
  reviewQueueFull?: boolean;
}
