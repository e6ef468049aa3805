import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { got, openJournal } from '../../support/open-journal.ts';
import { runs } from '../../support/property.ts';

const child = fileURLToPath(new URL('../../support/journal-child.js', import.meta.url));
const rounds = runs(20, 6);

t.test('DUR-1 · keeps every acknowledged commit whole when it is killed at any point', async (t) => {
  const directory = `${t.testdir()}/state`;
  const acknowledged: string[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const enough = Math.floor(Math.random() * 400);
    const process = start('load', directory);
    const before = acknowledged.length;
    for await (const line of linesOf(process)) {
      acknowledged.push(JSON.parse(line));
      if (acknowledged.length - before > enough) process.kill('SIGKILL');
    }
    t.ok(acknowledged.length > before, `round ${round}: killed after ${acknowledged.length - before} commits`);
  }

  const journal = await openJournal(directory);
  t.teardown(() => journal.close());
  const keysOf = (collection: 'events' | 'runs' | 'deliveries') =>
    (journal.local?.list(collection, { order: 'oldest', limit: 1_000_000 }) ?? []).map(({ key }) => key);
  const events = keysOf('events');
  const stored = new Set(events);
  t.same(
    acknowledged.filter((key) => !stored.has(key)),
    [],
    'nothing acknowledged is lost',
  );
  t.same(keysOf('runs'), events, 'no commit is half there');
  t.same(keysOf('deliveries'), events);
  t.same(
    events.filter((key) => journal.local?.claimed(key) === undefined),
    [],
  );
  const session = got(await journal.openSession('me', 86_400_000));
  const query = { session, dueBeforeMs: 1e9, nowMs: 0, limit: 1_000_000 };
  const taken = await journal.take('runs', query);
  t.equal(taken.ok && taken.value.length, events.length, 'and all work is found');
});

const canTrace = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0;

t.test(
  'DUR-1 · acknowledges only what has left the write cache, and shares one flush among commits',
  {
    ...(canTrace ? {} : { skip: 'needs `strace`' }),
  },
  async (t) => {
    const home = t.testdir();
    const directory = `${home}/state`;
    await (await openJournal(directory)).close();

    const calls = 'trace=fdatasync,pwrite64,pwritev,write,writev';
    const args = [
      '-f',
      '-y',
      '-e',
      calls,
      '-s',
      '4096',
      '-o',
      `${home}/trace`,
      process.execPath,
      child,
      'three',
      directory,
    ];
    t.equal(spawnSync('strace', args).status, 0);

    const timeline = readFileSync(`${home}/trace`, 'utf8')
      .split('\n')
      .flatMap((line) => {
        if (line.includes('acknowledged')) return 'acknowledged';
        if (!line.includes('data.mdb')) return [];
        if (line.includes('fdatasync')) return 'flush';
        // The head is written through its own descriptor, which is opened with O_DSYNC: it is on the disk when this ends.
        return line.includes(', 128, ') ? 'head' : line.includes('c:written') ? 'data' : [];
      });
    t.same(timeline, ['data', 'flush', 'head', 'acknowledged']);
  },
);

t.test('IDM-2 · grants a name to one of two processes on one store', async (t) => {
  const directory = `${t.testdir()}/state`;
  await (await openJournal(directory)).close();
  const processes = [start('race', directory), start('race', directory)];
  const readers = processes.map((process) => linesOf(process)[Symbol.asyncIterator]());
  await Promise.all(readers.map((reader) => reader.next()));

  for (const process of processes) process.stdin?.write('go\n');
  const won = await Promise.all(
    readers.map(async (reader): Promise<string[]> => JSON.parse((await reader.next()).value ?? '[]')),
  );

  const names = won.flat();
  t.equal(names.length, 300);
  t.equal(new Set(names).size, 300, 'each name once');
  const journal = await openJournal(directory);
  t.teardown(() => journal.close());
  for (const [index, process] of processes.entries()) {
    for (const name of won[index] ?? []) t.same(journal.local?.claimed(name), { pid: process.pid });
  }
});

t.test('DUR-1 · opens a store that another process writes to', async (t) => {
  const directory = `${t.testdir()}/state`;
  const process = start('load', directory);
  const lines = linesOf(process)[Symbol.asyncIterator]();
  for (let seen = 0; seen < 100; seen += 1) await lines.next();

  for (let times = 0; times < 5; times += 1) {
    const journal = await openJournal(directory);
    const mine = await journal.commit([{ kind: 'put', collection: 'groups', key: `g${times}`, value: {} }]);
    t.same(mine, { kind: 'committed' });
    await journal.close();
  }

  process.kill('SIGKILL');
  const journal = await openJournal(directory);
  t.teardown(() => journal.close());
  t.equal(journal.local?.list('groups', { order: 'oldest', limit: 9 }).length, 5);
});

function start(task: string, directory: string): ChildProcess {
  const started = spawn(process.execPath, [child, task, directory], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.teardown(() => started.kill('SIGKILL'));
  return started;
}

function linesOf({ stdout }: ChildProcess): AsyncIterable<string> {
  if (stdout === null) throw new Error('no output to read');
  return createInterface({ input: stdout });
}
