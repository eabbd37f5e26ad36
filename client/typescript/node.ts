// What needs Node, Deno or Bun: the journal of payments in a file.

export { JournalInUse, openJournal } from "./src/file.ts";
export type { FileJournal } from "./src/file.ts";
