// Reads lists that come in pages.

import type { InboxItem, PartySummary } from "./casework.ts";
import { RailguardError } from "./errors.ts";
import type { Event } from "./events.ts";
import type { Verdict } from "./types.ts";

/** What the rows of a list are. Of any other list the caller says it. */
export interface Lists {
  "/v1/audit": Verdict;
  "/v1/audit/search": Verdict;
  "/v1/events": Event;
  "/v1/inbox": InboxItem;
  "/v1/parties": PartySummary;
}

export type Query = Record<string, string | number | boolean | undefined>;

/** One page of a list. */
export interface Page<Row> {
  data: Row[];
  nextCursor: string | null;
  asOfIndex?: number;
  complete?: boolean;
}

/** Makes one call: a GET with the query, or a POST with it as the body. */
type Read = (method: "GET" | "POST", path: string, query: Query) => Promise<Page<unknown>>;

export async function* readPages(read: Read, path: string, query: Query): AsyncGenerator<Page<unknown>, void, undefined> {
  const events = path === "/v1/events"; // They go on for ever: an empty page is their end.
  const method = path === "/v1/audit/search" ? "POST" : "GET"; // It keeps names out of logs.
  for (let at = query; ; ) {
    const page = await read(method, path, at);
    if (!Array.isArray(page.data)) throw new RailguardError(200, "bad_answer", path + " is no list", "none");
    if (!events || page.data.length > 0) yield page;
    const cursor = page.nextCursor;
    if (!cursor || (events && page.data.length === 0)) return;
    const member = events ? "after" : "cursor";
    if (at[member] === cursor) throw new RailguardError(200, "bad_answer", "the list does not go on", "none");
    at = { ...query, [member]: cursor };
  }
}
