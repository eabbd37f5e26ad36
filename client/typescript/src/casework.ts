// What an institution's own tools read and say: parties, the inbox, search and learning.

import type { Disposition, Outcome, Proposed, USD, Verdict } from "./types.ts";

/** Which part of a list to read: at most limit rows behind a cursor. */
export interface Portion {
  limit?: number;
  cursor?: string;
}
export interface PartyQuery extends Portion {
  state?: "open" | "all";
  q?: string; // A part of a name, another spelling, a wallet, or an identifier as type:value.
}
export interface InboxQuery extends Portion {
  kind?: string;
  assignee?: string;
  waitsForMe?: boolean; // What another person proposed and the caller may sign.
  rule?: string;
  partyId?: string;
  q?: string;
}

/** The listed party that payments hit. */
export interface ListedEntry {
  uid: string;
  list: string;
  name: string;
  type?: string;
  entryId?: string;
  programs: string[];
  listedNow?: boolean;
}
export interface PaymentSum {
  count: number;
  amountUSDC: USD;
}
/** Sums by what became of the money. */
export interface PaymentSums {
  tried: PaymentSum;
  wentAhead: PaymentSum;
  waits: PaymentSum;
  blocked: PaymentSum;
  rejected: PaymentSum;
  returned: PaymentSum;
}

/** A counterparty together with whom or which place its payments hit. */
export interface PartyHead {
  partyId: string;
  name: string | null;
  side: "payee" | "operator" | "payer" | "user";
  entry: ListedEntry | null;
  place: string | null;
}
export interface PartySummary extends PartyHead {
  open: number;
  sums: PaymentSums;
  newestAt: string;
  moneyGone: boolean;
}
/** complete: it rests on all of retention, else on what the node has read since then. */
export interface PartyList {
  data: PartySummary[];
  complete: boolean;
  since: string | null;
  nextCursor: string | null;
  asOfIndex: number;
}
export interface PartyPayment {
  txnId: string;
  screenedAt: string;
  verdict: Verdict["verdict"];
  rule: string | null;
  reason: string;
  rules: string[]; // All that fired.
  amount: USD;
  agentId?: string;
  agentName?: string;
  operatorLegalName?: string;
  cpName: string | null;
  cpWallet: string | null;
  cpCountry: string | null;
  cpDateOfBirth: string | null;
  cpAddress: string | null;
  memo: string | null;
  alike: Likeness | null;
  disposition: { disposition: string; reviewedBy: string; reviewedAt: string; notes?: string; sarEscalated: boolean } | null;
  state: "wentAhead" | "waits" | "blocked" | "rejected" | "returned";
  own: boolean; // false: it stands here because its payee is like the party or the entry.
  partyId?: string;
}
/** An alert, a hit, a sanctions case or a report that waits for nobody any more. */
export interface ClosedItem {
  itemId: string;
  kind: string;
  txnId: string | null;
  caseId?: string;
  alertId?: string;
  alert?: string;
  state: string;
  own: boolean;
  amount: USD;
  openedAt: string;
  closedAt: string | null;
  closedBy: string | null;
  closedByKey: string | null;
  reason: string | null;
  persons: string[];
}
/** One party whole. payments has the newest 200, the sums all. */
export interface WholeParty extends PartyHead {
  listedSince: boolean;
  entryNames: string[];
  sums: PaymentSums;
  ownSums: PaymentSums;
  payments: PartyPayment[];
  paymentsLeft: number;
  reviews: InboxItem[];
  cases: InboxItem[];
  alerts: InboxItem[];
  retroHits: InboxItem[];
  reports: InboxItem[];
  closed: ClosedItem[];
  closedLeft: number;
  complete: boolean;
  since: string | null;
  asOfIndex: number;
  listedToday: { outcome: "possible" | "listed"; uid: string; name?: string; score?: number } | null;
  likeness: number | null;
  identity: { kind: string; asked: string; listed: string; agrees: boolean }[];
  entryFacts: { kind: string; label?: string; value: string }[];
  alike: ({ name: string } & Likeness)[];
  cleared: {
    clearedId: string; name: string; grounds: Record<string, unknown>; reason: string; clearedBy: string | null; clearedAt: string;
    inForce: boolean; void: string | null; endedAt: string | null; endedBy: string | null; endReason: string | null;
  }[];
  acts: {
    what: string; time: string; txnId?: string; actor: string | null; actorKeyId: string | null; reason: string | null; disposition?: string;
    from?: string; to?: string; state?: string; bsaId?: string; alertId?: string; caseId?: string; name?: string; uid?: string; clearedId?: number;
  }[];
}
/** One decision about all open reviews of a party, or about only those. Of a party that hit nobody they have to be named. */
export interface PartyDecision {
  disposition: Disposition;
  reviewedBy: string;
  notes?: string;
  only?: string[];
}
/** What became of one review: its disposition, a proposal that waits for a second person, or, if status is not 200, why it was refused. */
export interface Decided {
  status: number;
  txnId: string;
  disposition?: string | null;
  proposed?: Proposed;
  reviewedBy?: string;
  reviewedAt?: string;
  notes?: string;
  sarEscalated?: boolean;
  overLimitApproved?: boolean;
  notHeld?: boolean;
  recheck?: Record<string, unknown>;
  replayed?: boolean;
  error?: string;
  code?: string;
  message?: string;
  param?: string;
  requestId?: string;
  docs?: string;
  outcome?: Outcome;
  statement?: string; // What a passkey has to sign, as are challenge and passkeys.
  challenge?: string;
  passkeys?: string[];
}
export interface PartyDecided {
  partyId: string;
  results: Decided[];
  left: number;
}

/** A piece of work; rankParts add up to rank. */
export interface InboxItem {
  itemId: string;
  kind: "review" | "block" | "alert" | "retro" | "report" | "look";
  txnId: string | null;
  caseId?: string;
  alertId?: string;
  partyId: string | null;
  rule?: string | null;
  rules: string[];
  alert?: string;
  text: string | null;
  agentId: string | null;
  agentName: string | null;
  operatorLegalName: string | null;
  cpName: string | null;
  entry: ListedEntry | null;
  place: string | null;
  amount: USD;
  moneyGone: boolean;
  openedAt: string;
  dueAt: string | null;
  overdue: boolean;
  assignee: string | null;
  leaseExpiresAt: string | null;
  comments: number;
  waitsForMySignature: boolean;
  proposed: Record<string, unknown> | null;
  lookId?: string;
  rank: number;
  rankParts: { part: string; points: number; why: string }[];
}
export interface InboxCounts {
  review: number;
  block: number;
  alert: number;
  retro: number;
  report: number;
  waitsForMe: number;
  look: number;
}
export interface InboxList {
  data: InboxItem[];
  counts: InboxCounts;
  complete: boolean;
  since: string | null;
  nextCursor: string | null;
  asOfIndex: number;
}
/** A step in who works on an item. */
export interface WorkEvent {
  itemId?: string;
  txnId?: string;
  alertId?: string;
  caseId?: string;
  lookId?: string;
  eventId?: string;
  time: string;
  event: string;
  item?: Record<string, unknown>;
  assignee?: string | null;
  leaseExpiresAt?: string | null;
  actor: string | null;
  comment?: string;
}
export interface ItemComment {
  time: string;
  eventId: string;
  actor: string;
  comment: string;
  actorKeyId?: string;
}

/** How like what was asked something is, 1 being the same, and why. */
export interface Likeness {
  likeness: number;
  why: string;
}
export interface Found {
  agents: ({ agentId: string; agentName: string; operatorLegalName: string } & Likeness)[];
  parties: (PartyHead & { sums: PaymentSums; newestAt: string } & Likeness)[];
  transactions: ({ txnId: string; screenedAt: string; verdict: string; rule: string | null; agentId?: string; agentName?: string; amount: USD; cpName: string | null } & Likeness)[];
  wallets: ({ wallet: string; names: string[] } & Likeness)[];
  identifiers: ({ identifier: string; names: string[] } & Likeness)[];
  complete: boolean;
  since: string | null;
  q: string;
  asOfIndex: number;
}

/** Decisions by their outcome. medianSeconds is from screening to decision. */
export interface LearningCounts {
  decisions: number;
  approved: number;
  rejected: number;
  escalated: number;
  medianSeconds: number | null;
}
/** What officers decided. Where complete is false, to is earlier than asked: the next call begins a millisecond after it. */
export interface Learning {
  from: string;
  to: string;
  complete: boolean;
  total: LearningCounts & { twoPersons: number };
  officers: (LearningCounts & {
    subject: string;
    name: string | null;
    agreement: { seconded: number; confirmed: number; withdrawn: number };
    reversals: { withdrawn: number; rejudged: number; reopened: number };
    rules: LearningRule[];
  })[];
  rules: LearningRule[];
  entries: (LearningCounts & { uid: string; list: string | null; name: string | null; notTheParty: number; falsePositives: number })[];
  operators: (LearningCounts & { operatorId: string; name: string | null; falsePositives: number })[];
  days: (LearningCounts & { day: string; opened: number })[];
}
export interface LearningRule extends LearningCounts {
  rule: string;
  falsePositives: number;
}
