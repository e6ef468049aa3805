import t from 'tap';
import { createGroupCommit } from '../../../actors/store/group-commit.ts';
import { fault } from '../../../machines/base/fault.ts';

/** For jobs that write nothing worth counting. */
const writtenBytes = () => 0;

/** A disk that lands transactions when told to. */
function disk() {
  const began: (() => void)[] = [];
  let landed = 0;
  let failure: unknown;
  return {
    /** Transactions that have begun. */
    began: () => began.length,
    landed: () => landed,
    /** Lands, or fails, the transaction under way, and waits until its jobs know. */
    async finish(error?: unknown): Promise<void> {
      failure = error;
      began.at(-1)?.();
      await new Promise((resolve) => setImmediate(resolve));
    },
    async transact(body: () => void): Promise<void> {
      await Promise.resolve();
      body();
      await new Promise<void>((resolve) => began.push(resolve));
      if (failure !== undefined) throw failure;
      landed += 1;
    },
  };
}

const full = fault('journal-full', 'no room');
const explain = () => full;
const turn = () => new Promise((resolve) => setImmediate(resolve));

t.test('DUR-1 · gathers what arrives during one fsync into the next', async (t) => {
  const stage = disk();
  const commits = createGroupCommit({ transact: stage.transact, writtenBytes, explain });
  const first = commits.enqueue(() => 1);
  await turn();
  const rest = Promise.all(Array.from({ length: 50 }, (_, n) => commits.enqueue(() => n)));
  await turn();
  t.equal(stage.began(), 1);

  await stage.finish();
  t.same(await first, { ok: true, value: 1 });
  await stage.finish();

  t.same((await rest)[49], { ok: true, value: 49 });
  t.equal(stage.landed(), 2);
});

t.test('DUR-1 · answers no job before its transaction has landed', async (t) => {
  const stage = disk();
  const commits = createGroupCommit({ transact: stage.transact, writtenBytes, explain });
  let answered = false;
  void commits
    .enqueue(() => 1)
    .then(() => {
      answered = true;
    });
  await turn();
  t.equal(answered, false);

  await stage.finish();

  t.equal(answered, true);
});

t.test('DUR-1 · bounds a group, in order', async (t) => {
  const ran: number[] = [];
  let transactions = 0;
  const commits = createGroupCommit({
    async transact(body) {
      transactions += 1;
      body();
    },
    writtenBytes,
    explain,
  });

  await Promise.all(Array.from({ length: 1000 }, (_, n) => commits.enqueue(() => ran.push(n))));

  t.same(
    ran,
    Array.from({ length: 1000 }, (_, n) => n),
  );
  t.ok(transactions >= 3 && transactions <= 4, `${transactions} transactions`);
});

t.test('DUR-1 · bounds what a group writes, but takes a job of any size', async (t) => {
  const groups: number[] = [];
  let written = 0;
  const commits = createGroupCommit({
    async transact(body) {
      await turn();
      groups.push(0);
      body();
    },
    writtenBytes: () => written,
    explain,
  });
  const megabyte = 1024 * 1024;
  const sizes = [1, 1, 1, 1, 1, 9, 9, 0, 4, 1].map((size) => size * megabyte);
  const write = (size: number) => {
    written += size;
    groups.push((groups.pop() ?? 0) + size);
  };

  await Promise.all(sizes.map((size) => commits.enqueue(() => write(size))));

  t.same(groups, [4 * megabyte, 10 * megabyte, 9 * megabyte, 4 * megabyte, megabyte]);
});

t.test('DUR-1 · refuses a job that throws alone and runs the others again', async (t) => {
  const stood: string[] = [];
  const commits = createGroupCommit({
    async transact(body) {
      const before = [...stood];
      try {
        body();
      } catch (error) {
        stood.splice(0, stood.length, ...before);
        throw error;
      }
    },
    writtenBytes,
    explain,
  });

  const answers = await Promise.all([
    commits.enqueue(() => stood.push('a')),
    commits.enqueue(() => {
      stood.push('b');
      throw new Error('broken');
    }),
    commits.enqueue(() => stood.push('c')),
  ]);

  t.match(answers, [{ ok: true }, { ok: false, fault: { code: 'internal-error', cause: 'broken' } }, { ok: true }]);
  t.same(stood, ['a', 'c']);
  t.equal(commits.stopped(), undefined);
});

t.test('DUR-1 · stops after a transaction that could not land, until it is resumed', async (t) => {
  const stage = disk();
  const commits = createGroupCommit({ transact: stage.transact, writtenBytes, explain });
  const first = commits.enqueue(() => 1);
  await turn();
  const waiting = commits.enqueue(() => 2);

  await stage.finish(new Error('no space'));

  const refused = { ok: false, fault: full };
  t.same(await Promise.all([first, waiting, commits.enqueue(() => 3)]), [refused, refused, refused]);
  t.same(commits.stopped(), full);
  t.equal(stage.began(), 1, 'nothing more is tried');
  commits.resume();
  const after = commits.enqueue(() => 4);
  await turn();
  await stage.finish();
  t.same(await after, { ok: true, value: 4 });
});

t.test('DUR-1 · stops as well where the engine itself fails a job', async (t) => {
  const commits = createGroupCommit({
    async transact(body) {
      body();
    },
    writtenBytes,
    explain,
  });

  const answer = await commits.enqueue(() => {
    throw Object.assign(new Error('MDB_MAP_FULL'), { code: -30792 });
  });

  t.same(answer, { ok: false, fault: full });
  t.same(commits.stopped(), full);
});

t.test('DUR-1 · a listener that fails takes nothing from the others of its transaction', async (t) => {
  const uncaught = new Promise((resolve) => process.setUncaughtExceptionCaptureCallback(resolve));
  t.teardown(() => process.setUncaughtExceptionCaptureCallback(null));
  const commits = createGroupCommit({ transact: async (body) => body(), writtenBytes, explain });
  const told: string[] = [];
  const job = (name: string, landed: () => void) => ({
    run: () => {},
    landed,
    refused: () => told.push(`${name} refused`),
  });

  commits.submit(
    job('first', () => {
      throw new Error('deaf');
    }),
  );
  commits.submit(job('second', () => told.push('second landed')));

  t.match(await uncaught, { message: 'deaf' });
  await turn();
  t.same(told, ['second landed']);
  t.equal(commits.stopped(), undefined);
});

t.test('DUR-1 · goes on though one that hears of its refusal fails', async (t) => {
  const uncaught: unknown[] = [];
  process.setUncaughtExceptionCaptureCallback((error) => uncaught.push(error.message));
  t.teardown(() => process.setUncaughtExceptionCaptureCallback(null));
  const commits = createGroupCommit({ transact: async (body) => body(), writtenBytes, explain });
  const deaf = {
    run: () => {
      throw new Error('broken');
    },
    landed: () => {},
    refused: () => {
      throw new Error('deaf');
    },
  };

  commits.submit(deaf);
  t.same(await commits.enqueue(() => 1), { ok: true, value: 1 });

  commits.submit(deaf);
  const waiting = commits.enqueue(() => 2);
  commits.stop(full);
  t.same(await waiting, { ok: false, fault: full });
  t.same(uncaught, ['deaf', 'deaf']);
});

t.test('DUR-1 · is settled once nothing waits', async (t) => {
  const stage = disk();
  const commits = createGroupCommit({ transact: stage.transact, writtenBytes, explain });
  await commits.settled();
  let answered = 0;
  void commits
    .enqueue(() => 1)
    .then(() => {
      answered += 1;
    });
  await turn();
  void commits
    .enqueue(() => 2)
    .then(() => {
      answered += 1;
    });
  const settled = commits.settled().then(() => answered);

  await stage.finish();
  await stage.finish();

  t.equal(await settled, 2);
});
