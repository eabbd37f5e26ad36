// A journal of payments in a file, each line flushed before it counts.

import { randomUUID } from "node:crypto";
import { link, open, readFile, rename, unlink, writeFile } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { dirname, resolve } from "node:path";

import type { Journal } from "./journal.ts";

const sizeMax = 64 << 20; // Bytes. Then it takes no new payments: begin another one.

/** Another process, or another part of this one, uses the journal. */
export class JournalInUse extends Error {
  override name = "JournalInUse";
}

/** A journal in a file; it is this process's alone until close. */
export interface FileJournal extends Journal {
  close(): Promise<void>;
}

const mine = new Set<string>(); // The journals that this process has open.

/**
 * Opens the journal at a path of this host, or makes it. One process at a time may have it open, of whatever
 * language: a file beside it, named like it with ".lock" behind, has its number. The lock of a process that has
 * died is taken over.
 */
export async function openJournal(path: string): Promise<FileJournal> {
  path = resolve(path);
  if (mine.has(path)) throw new JournalInUse(`${path} is open in this process`);
  mine.add(path);
  try {
    await takeLock(path + ".lock");
    try {
      return await openFile(path);
    } catch (error) {
      await unlink(path + ".lock");
      throw error;
    }
  } catch (error) {
    mine.delete(path);
    throw error;
  }
}

async function openFile(path: string): Promise<FileJournal> {
  const file = await open(path, "a+", 0o600);
  try {
    const { size } = await file.stat();
    if (size > 2 * sizeMax) throw new RangeError(`${path} has ${size} bytes: it is no journal`);
    const raw = await readFile(path);
    const whole = wholeLines(raw);
    if (whole < raw.length) { // A crash in the middle of a line: its step was not begun.
      await file.truncate(whole);
      await file.sync();
    }
    await syncFolder(dirname(path));
    return new Lines(path, file, raw.subarray(0, whole));
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** The length of what was written to its end. What follows is a line without its end, or a last line that is no JSON. */
function wholeLines(raw: Buffer): number {
  const end = raw.lastIndexOf(0x0a) + 1;
  if (end === 0) return 0;
  const begin = end < 2 ? 0 : raw.lastIndexOf(0x0a, end - 2) + 1;
  try {
    JSON.parse(raw.toString("utf8", begin, end));
    return end;
  } catch {
    return end < raw.length ? end : begin;
  }
}

class Lines implements FileJournal {
  #path: string;
  #file: FileHandle;
  #size: number;
  #first: Buffer | null; // What stood there when it was opened, until it is read.
  #last: Promise<void> = Promise.resolve();
  #broken: unknown = null;

  constructor(path: string, file: FileHandle, raw: Buffer) {
    [this.#path, this.#file, this.#size, this.#first] = [path, file, raw.length, raw];
  }

  get full(): boolean {
    return this.#size >= sizeMax;
  }

  async read(): Promise<string[]> {
    const raw = this.#first ?? (await readFile(this.#path));
    this.#first = null;
    return raw.toString("utf8").split("\n").slice(0, -1);
  }

  append(line: string): Promise<void> {
    this.#last = this.#last.then(() => this.#write(Buffer.from(line + "\n"))); // In order, one by one.
    const written = this.#last;
    this.#last = written.catch(() => undefined);
    return written;
  }

  async #write(raw: Buffer): Promise<void> {
    if (this.#broken !== null) throw new Error("the journal cannot be written any more", { cause: this.#broken });
    try {
      for (let at = 0; at < raw.length; ) at += (await this.#file.write(raw, at)).bytesWritten;
      await this.#file.datasync();
    } catch (error) {
      this.#broken = error; // What stands on the disk now is not known.
      await this.#file.truncate(this.#size).catch(() => undefined);
      throw error;
    }
    this.#size += raw.length;
  }

  async close(): Promise<void> {
    await this.#last;
    if (!mine.has(this.#path)) return;
    this.#broken ??= new Error("it was closed");
    await this.#file.close();
    await unlink(this.#path + ".lock");
    mine.delete(this.#path);
  }
}

/** Makes a lock with its content in one step, and takes over that of a process that has died. */
async function takeLock(path: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  for (let attempt = 0; attempt < 3; attempt++) {
    await writeFile(aside, `${process.pid}\n`, { flag: "wx", mode: 0o600 });
    try {
      await link(aside, path);
      return;
    } catch (error) {
      if (!isError(error, "EEXIST")) throw error;
    } finally {
      await unlink(aside);
    }
    const owner = await readOwner(path);
    if (owner === null) continue;
    if (!hasDied(owner)) throw new JournalInUse(`${path} says that process ${owner.trim()} uses the journal`);
    await rename(path, aside).catch(passIf("ENOENT"));
    const taken = await readOwner(aside);
    if (taken !== null && taken !== owner) { // Another process took it over in between: it gets its lock back.
      await link(aside, path).catch(passIf("EEXIST"));
      await unlink(aside);
      throw new JournalInUse(`${path} was taken by process ${taken.trim()}`);
    }
    if (taken !== null) await unlink(aside);
  }
  throw new JournalInUse(`${path} changes too often`);
}

async function readOwner(path: string): Promise<string | null> {
  return readFile(path, "utf8").catch(passIf("ENOENT"));
}

/** Whether the process of a lock is certainly none any more. A lock of this process's own number is an earlier one's. */
function hasDied(owner: string): boolean {
  const pid = Number(owner);
  if (!Number.isInteger(pid) || pid <= 0) return false;
  if (pid === process.pid) return true;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return isError(error, "ESRCH");
  }
}

const isError = (error: unknown, code: string): boolean => (error as { code?: unknown } | null)?.code === code;

const passIf = (code: string) => (error: unknown): null => {
  if (isError(error, code)) return null;
  throw error;
};

/** Makes sure that the file's name outlives a crash, where a system can. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r").catch(() => null);
  await folder?.sync().catch(() => undefined);
  await folder?.close();
}
