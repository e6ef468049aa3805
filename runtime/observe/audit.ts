/**
 * The audit log: who changed what through the command line or the page, and the outcome, as lines of JSON in
 * `logs/audit.log`. A line names what was changed, and never contains the text: no prompt, secret or payload. Refused
 * sign-ins, also those by an expired link, have their own file, `logs/refused-sign-ins.log`, since anyone who reaches the
 * page can cause them. Calls of runs are not here, because agents have their own records.
 * @see SEC-1 in docs/specification.md
 */

import { createLineLog, type LineLog, readLog } from '../../actors/line-log.ts';
import { causeOf } from '../../machines/base/fault.ts';
import { getOrMake } from '../../machines/base/get-or-make.ts';
import { cut, defined, isJsonObject, type Json, type JsonObject, scalarText } from '../../machines/base/json.ts';
import { readJson } from '../../machines/base/read-json.ts';
import type { AuditRow } from '../control/contract/gateway.ts';
import { changeBy } from '../control/methods.ts';

/** The author of a change: a person at a terminal, or on the page. */
export type Asker = Pick<AuditRow, 'who' | 'from'>;

/** The author for requests on the daemon's control socket: all its clients are the home's owner. */
export const atTerminal: Asker = { who: 'owner', from: 'terminal' };

interface SessionChange {
  readonly what: 'signed in' | 'signed out';
  /** A configured user. Other names are not recorded: such a text may be a password in the wrong field. */
  readonly who?: string | undefined;
  readonly sender?: string;
  /** Absent for a password. */
  readonly by?: 'link';
  readonly refused?: string;
}

export interface AuditLog {
  /** Records a request and its outcome, unless its method only reads. `thrown`: why it was refused or failed. */
  add(asker: Asker, request: { readonly method: string; readonly params: JsonObject }, thrown?: unknown): void;
  /** The same for a read-only user, once an hour by name and method, so that it cannot evict other rows. */
  addReader(asker: Asker, method: string, thrown: unknown): void;
  /** Records a sign-in, by password or link, or a sign-out; equal refused ones within a minute are counted. */
  addSession(change: SessionChange): void;
  /** Resolves when all records are on disk, or have failed. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

const changes = 'audit';
const refusedSignIns = 'refused-sign-ins';
/** Unambiguous, because user names have no spaces. */
const unknownUser = 'unknown user';
const sessionMethods = { 'signed in': 'page.signIn', 'signed out': 'page.signOut' } as const;
/** Different rows a minute that unauthenticated requests can cause; further rows omit the sender. */
const maxCounted = 1_000;
const maxSenderLength = 64;
const maxValueLength = 200;
const maxListLength = 20;
const maxListBytes = 1_024;
/** Size limit for the parameters of a row, so that no command can evict many rows of others. */
const maxOnBytes = 4_096;
const maxLogBytes = 4 * 1_048_576;
const readerAgainMs = 3_600_000;

/** The recorded parameters: names, ids and choices, never text that was written to an agent. */
const named = new Set([
  ...['id', 'ids', 'name', 'names', 'server', 'route', 'job', 'target', 'session', 'program', 'profile', 'grant'],
  ...['remember', 'reason', 'force', 'to', 'dry', 'sample', 'checks_only', 'key', 'status', 'flow', 'as', 'read_only'],
  ...['all', 'since'],
]);

/**
 * @param folder of the home's logs
 * @param warn reports that rows cannot be written now; they wait in memory
 */
export function createAuditLog(
  folder: string,
  redact: (text: string) => string,
  { nowMs = Date.now, warn }: { readonly nowMs?: () => number; readonly warn?: (message: string) => void } = {},
): AuditLog {
  const logs = new Map<string, LineLog>();
  const loggedAtMs = new Map<string, number>();
  const onKept = (cause: string): void => {
    warn?.(`the audit log cannot be written: ${cause}; its rows wait in memory, up to 256 KiB, until it can`);
  };
  const write = (name: string, row: AuditRow): void => {
    const log = getOrMake(logs, name, () => createLineLog({ folder, name, redact, maxBytes: maxLogBytes, onKept }));
    log.write(Buffer.from(`${JSON.stringify(row)}\n`));
  };
  const refusals = createRepeats<AuditRow>((row, times) => {
    write(refusedSignIns, times === 1 ? row : { ...row, on: { ...row.on, times } });
  });
  const now = (): string => new Date(nowMs()).toISOString();
  const self: AuditLog = {
    add({ who, from }, { method, params }, thrown) {
      const what = changeBy(method);
      if (what === undefined) return;
      // A dry run only checks whether a server could be added or changed.
      if (params.dry === true && method.startsWith('mcp.')) return;
      const refused = thrown === undefined ? {} : { refused: cut(redact(causeOf(thrown)), maxValueLength) };
      write(changes, { at: now(), who, from, what, method, on: namedOf(params), ...refused });
    },
    addReader(asker, method, thrown) {
      const about = `${asker.who} ${method}`;
      // A clock that is set back must not hide what is refused from then on.
      const isRecent = Math.abs(nowMs() - (loggedAtMs.get(about) ?? 0)) < readerAgainMs;
      if (changeBy(method) === undefined || isRecent) return;
      loggedAtMs.set(about, nowMs());
      self.add(asker, { method, params: {} }, thrown);
    },
    addSession({ what, who = unknownUser, sender, by, refused }) {
      const isNamed = sender !== undefined && (refused === undefined || refusals.size < maxCounted);
      const on = defined({ by, sender: isNamed ? cut(sender, maxSenderLength) : undefined });
      const row = { who, from: 'page', what, method: sessionMethods[what], on, ...defined({ refused }) } as const;
      if (refused === undefined) write(changes, { at: now(), ...row });
      else refusals.add(JSON.stringify(row), { at: now(), ...row });
    },
    async settled() {
      for (const log of logs.values()) await log.settled();
    },
    async close() {
      refusals.flush();
      for (const log of logs.values()) await log.close();
    },
  };
  return self;
}

/** The parameters to record, as far as a row has room; `omitted` names the rest. */
function namedOf(params: JsonObject): JsonObject {
  const on: Record<string, Json> = {};
  const omitted: string[] = [];
  let left = maxOnBytes;
  for (const [key, value] of Object.entries(params)) {
    if (!named.has(key) || (key === 'force' && value !== true)) continue;
    const short = shortened(value);
    const bytes = bytesOf(short);
    if (bytes > left) omitted.push(key);
    else on[key] = short;
    left -= bytes > left ? 0 : bytes;
  }
  return omitted.length === 0 ? on : { ...on, omitted };
}

function shortened(value: Json): Json {
  if (Array.isArray(value)) {
    let left = maxListBytes;
    const first = value.slice(0, maxListLength).map((one) => cut(scalarText(one), maxValueLength));
    const shown = first.filter((one) => {
      left -= bytesOf(one);
      return left >= 0;
    });
    return shown.length === value.length ? shown : [...shown, `and ${value.length - shown.length} more`];
  }
  if (isJsonObject(value)) return {};
  return typeof value === 'string' ? cut(value, maxValueLength) : value;
}

/** The size of a value as JSON in the log. */
function bytesOf(value: Json): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/**
 * The newest rows since a time that contain the words, up to `limit`; older lines are not searched. While there are
 * enough changes, refused sign-ins make up half of the rows at most.
 */
export async function readAudit(
  folder: string,
  wanted: { readonly sinceMs: number; readonly words: string; readonly limit: number },
): Promise<readonly AuditRow[]> {
  const { limit } = wanted;
  const changed = await readRows(folder, changes, wanted);
  const refused = await readRows(folder, refusedSignIns, wanted);
  const shown = refused.slice(0, Math.max(limit - changed.length, Math.floor(limit / 2)));
  return [...changed.slice(0, limit - shown.length), ...shown].sort((one, other) =>
    one.at < other.at ? 1 : one.at > other.at ? -1 : 0,
  );
}

async function readRows(
  folder: string,
  name: string,
  { sinceMs, words, limit }: Parameters<typeof readAudit>[1],
): Promise<readonly AuditRow[]> {
  const rows: AuditRow[] = [];
  const lines = await readLog(folder, name, Number.MAX_SAFE_INTEGER);
  for (let at = lines.length - 1; at >= 0 && rows.length < limit; at -= 1) {
    const row = rowIn(lines[at] ?? '');
    // Lines are in the order of writing, which a clock that is set back makes another one than that of the times.
    if (row === undefined || Date.parse(row.at) < sinceMs) continue;
    if (words === '' || JSON.stringify(row).toLowerCase().includes(words)) rows.push(row);
  }
  return rows;
}

function rowIn(line: string): AuditRow | undefined {
  const row = readJson(line);
  if (!isJsonObject(row) || typeof row.at !== 'string') return undefined;
  const { at, who, from, what, method, on, refused } = row;
  return {
    ...{ at, who: String(who), from: from === 'page' ? 'page' : 'terminal', what: String(what) },
    ...{ method: String(method), on: isJsonObject(on) ? on : {} },
    ...(typeof refused === 'string' ? { refused } : {}),
  };
}

const windowMs = 60_000;

/**
 * Counts repetitions: the first of equal things is passed on at once, and those of the following minute together at its end,
 * so that repetitions by third parties take little of a log.
 * @param pass receives a thing and how many of it there were; of several, the last one
 */
function createRepeats<Thing>(pass: (thing: Thing, times: number) => void) {
  const counted = new Map<string, { readonly end: () => void; times: number; thing: Thing }>();
  return {
    /** How many different things are counted at present. */
    get size() {
      return counted.size;
    },
    add(key: string, thing: Thing): void {
      const before = counted.get(key);
      if (before !== undefined) {
        before.times += 1;
        before.thing = thing;
        return;
      }
      const row = {
        times: 0,
        thing,
        end: () => {
          clearTimeout(timer);
          counted.delete(key);
          if (row.times > 0) pass(row.thing, row.times);
        },
      };
      const timer = setTimeout(row.end, windowMs).unref();
      counted.set(key, row);
      pass(thing, 1);
    },
    /** Passes on the counts so far. */
    flush(): void {
      for (const { end } of counted.values()) end();
    },
  };
}
