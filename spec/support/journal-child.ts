/**
 * A process of its own that uses a journal: to be killed, to race another, or to run where a disk is full or read-only.
 * First argument: what to do; second: the folder of the journal. Prints one JSON value per line.
 */

import { execFileSync } from 'node:child_process';
import { openSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { openLmdbJournal } from '../../actors/store/lmdb-journal.ts';
import { openEnvironment } from '../../actors/store/lmdb-tables.ts';
import { plainRow } from '../../actors/store/tables.ts';
import { openJournal } from './open-journal.ts';

/** Linux's `O_CLOEXEC`. */
const closeOnExec = 0o2000000;
const [, , task = '', directory = ''] = process.argv;
const tasks: Readonly<Record<string, () => Promise<void>>> = {
  load,
  race,
  fill,
  open,
  older,
  three,
  readOnly,
  descriptor,
};
await tasks[task]?.();

function say(value: unknown): void {
  // Written at once: what is acknowledged must have left the process before it can be killed.
  writeSync(1, `${JSON.stringify(value)}\n`);
}

/** Commits for ever, many at a time, and prints each key once it is acknowledged. */
async function load(): Promise<void> {
  const journal = await openJournal(directory);
  const prefix = `k${Date.now().toString(36)}-${process.pid}-`;
  let count = 0;
  const writer = async () => {
    for (;;) {
      count += 1;
      const key = prefix + String(count).padStart(8, '0');
      const verdict = await journal.commit([
        { kind: 'claim', name: key, value: { key }, forMs: 3_600_000 },
        { kind: 'put', collection: 'events', key, value: { filling: 'x'.repeat(count % 5000) }, expect: 'absent' },
        { kind: 'put', collection: 'runs', key, value: {}, dueAtMs: count, expect: 'absent' },
        { kind: 'put', collection: 'deliveries', key, value: {} },
      ]);
      if (verdict.kind !== 'committed') throw new Error(JSON.stringify(verdict));
      say(key);
      if (count % 50 === 0) await journal.prune({ keepAfterKey: '', maxBytes: 1e12 });
    }
  };
  await Promise.all(Array.from({ length: 16 }, writer));
}

/** Claims names that another process claims too, and prints those it got. */
async function race(): Promise<void> {
  const journal = await openJournal(directory);
  say('ready');
  await new Promise((resolve) => process.stdin.once('data', resolve));
  const names = Array.from({ length: 300 }, (_, n) => `name-${n}`);
  const verdicts = await Promise.all(
    names.map((name) => journal.commit([{ kind: 'claim', name, value: { pid: process.pid }, forMs: 3_600_000 }])),
  );
  say(names.filter((_, index) => verdicts[index]?.kind === 'committed'));
  await journal.close();
  process.stdin.destroy();
}

/** Commits until there is no room, makes room by removing `ballast` beside the folder, and goes on. */
async function fill(): Promise<void> {
  const ballast = join(directory, '..', 'ballast');
  writeFileSync(ballast, Buffer.alloc(1024 * 1024));
  const journal = await openJournal(directory);
  const filling = 'x'.repeat(20_000);
  const acknowledged: string[] = [];
  const commit = async () => {
    const key = `k${String(acknowledged.length).padStart(5, '0')}`;
    const verdict = await journal.commit([{ kind: 'put', collection: 'events', key, value: { filling } }]);
    if (verdict.kind === 'committed') acknowledged.push(key);
    return verdict;
  };
  const keys = () =>
    journal.local
      ?.list('events', { order: 'oldest', limit: 100_000 })
      ?.map(({ key }) => key)
      .join();

  let verdict = await commit();
  while (verdict.kind === 'committed' && acknowledged.length < 2000) verdict = await commit();
  say({ refused: verdict });
  say({ probe: await journal.probe(), again: await commit(), reads: keys() === acknowledged.join() });
  rmSync(ballast);
  say({
    probe: (await journal.probe()) ?? 'well',
    after: await commit(),
    reads: keys() === acknowledged.join(),
  });
  await journal.close();
  const again = await openJournal(directory);
  say({ kept: (await again.list('events', { order: 'oldest', limit: 100_000 })).length === acknowledged.length });
  await again.close();
}

/** Commits three times at once and says so. */
async function three(): Promise<void> {
  const journal = await openJournal(directory);
  const keys = ['a', 'b', 'c'];
  await Promise.all(
    keys.map((key) => journal.commit([{ kind: 'put', collection: 'events', key: `${key}:written`, value: {} }])),
  );
  say('acknowledged');
  await journal.close();
}

/** Leaves a store of an earlier layout, whose records have no marks yet. */
async function older(): Promise<void> {
  await (await openJournal(directory)).close();
  const { tables, transact, close } = openEnvironment(directory, () => {});
  await transact(() => {
    for (let at = 0; at < 2_000; at += 1) {
      tables.events.write(`k${at}`, plainRow({ route: 'r', status: 'ignored', deliveryId: `d${at}` }));
    }
    tables.meta.write('layout', plainRow({ version: 4 }));
  });
  await close();
}

/** Goes on where its disk became read-only, which refuses a commit, and is writable again. */
async function readOnly(): Promise<void> {
  const journal = await openJournal(directory);
  const put = { kind: 'put', collection: 'events', key: 'k', value: {} } as const;
  const reads = () => journal.local?.get('events', 'k') !== undefined;
  await journal.commit([put]);
  execFileSync('mount', ['--bind', directory, directory]);
  execFileSync('mount', ['-o', 'remount,bind,ro', directory]);
  // The open file can still be written, unlike on such a disk.
  const erofs = () => {
    throw Object.assign(new Error('Read-only file system'), { code: 30 });
  };
  const refused = await new Promise((resolve) => journal.submit([put], resolve, erofs));
  say({ refused, probe: await journal.probe(), reads: reads() });
  execFileSync('umount', [directory]);
  say({ probe: (await journal.probe()) ?? 'well', after: await journal.commit([put]), reads: reads() });
  await journal.close();
}

/**
 * Opens a hundred descriptors while the store is checked, and another one at each step after it; says which ones of its
 * data file a child would inherit, and the least of the others.
 */
async function descriptor(): Promise<void> {
  const opening = openJournal(directory);
  const others = Array.from({ length: 100 }, () => openSync('/dev/null', 'r'));
  while (others.length < 200) {
    others.push(openSync('/dev/null', 'r'));
    await undefined;
  }
  const journal = await opening;
  const store = join(directory, 'data.mdb');
  const inherited = readdirSync('/proc/self/fd').filter((fd) => {
    try {
      const [, flags = ''] = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')) ?? [];
      return readlinkSync(`/proc/self/fd/${fd}`) === store && (Number.parseInt(flags, 8) & closeOnExec) === 0;
    } catch {
      return false;
    }
  });
  say({ inherited: inherited.map(Number), others: Math.min(...others) });
  await journal.close();
}

async function open(): Promise<void> {
  const result = await openLmdbJournal({ directory });
  say(result.ok ? 'opened' : result.fault);
  if (result.ok) await result.value.close();
}
