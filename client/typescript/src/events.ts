// Events, and the webhooks that they are sent to.

/** What happened: a message of a webhook, or one of events(). Drop those whose id you had. */
export interface Event {
  id: string;
  seq: number;
  type: string;
  time: string;
  tenant: string | null;
  data: Record<string, unknown>;
  leafHash: string;
}

export interface Webhook {
  name?: string;
  url: string;
  types?: string[];
  sarAllowed?: boolean;
  secret?: string;
}

export interface WebhookChange {
  webhookId: string;
  op: string;
  changedAt: string;
  rev?: number;
  reason?: string | null;
  eventId?: string;
  secret?: string;
  count?: number;
  webhook?: StoredWebhook;
}

export interface StoredWebhook {
  webhookId: string;
  name: string | null;
  url: string;
  types: string[];
  sarAllowed: boolean;
  state: string;
  owner: string | null;
  keyId: string | null;
  publicKeys: string[];
  olderSecretExpiresAt?: string;
  createdAt: string;
  rev: number;
}

export interface EventList {
  data: Event[];
  nextCursor: string;
  asOfIndex: number;
}
