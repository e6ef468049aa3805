/**
 * What every journal must do: each sentence of the port, and long random histories compared with a model that is too
 * simple to be wrong.
 */

import { isDeepStrictEqual } from 'node:util';
import type { Test } from 'tap';
import type {
  Collection,
  CommitVerdict,
  Journal,
  Put,
  Rewrite,
  SessionId,
  StoredRecord,
  Write,
} from '../../actors/store/journal.ts';
import { claimOfEvent } from '../../machines/webhook/marks.ts';
import { claimNames, groupName, signatureClaim } from '../../machines/webhook/record.ts';
import { got } from '../support/open-journal.ts';
import { fc } from '../support/property.ts';
import { checkHistory, histories } from './journal-model.ts';

/** The time of an engine, which a spec sets. */
export interface SetClock {
  set(nowMs: number): Promise<void>;
}

export interface OpenedJournal {
  readonly journal: Journal;
  readonly clock: SetClock;
}

/** A clock that is a number, for engines that are lent one. */
export function lentClock(startMs = 0): SetClock & { readonly nowMs: () => number } {
  let time = startMs;
  return {
    nowMs: () => time,
    async set(nowMs) {
      time = nowMs;
    },
  };
}

export interface ContractSettings {
  /** Opens a journal on a fresh store. */
  readonly open: () => Promise<OpenedJournal>;
  /** Histories tried against the model. */
  readonly histories: number;
}

const nowMs = 1_700_000_000_000;
const hourMs = 3_600_000;

export function journalContract(t: Test, name: string, settings: ContractSettings): void {
  const check = (title: string, body: (t: Test, journal: Journal, clock: SetClock) => Promise<void>) =>
    t.test(`${title} (${name})`, async (t) => {
      const { journal, clock } = await settings.open();
      t.teardown(() => journal.close());
      await clock.set(nowMs);
      await body(t, journal, clock);
    });

  check('DUR-1 · commits several writes whole or not at all', async (t, journal) => {
    await journal.commit([put('e1', { n: 1 }), claim('taken')]);

    const verdict = await journal.commit([
      put('e1', { n: 2 }),
      put('e2', { n: 2 }),
      { kind: 'release', name: 'other' },
      { kind: 'delete', collection: 'events', key: 'e1' },
      claim('fresh'),
      claim('taken'),
    ]);

    t.same(verdict, { kind: 'claimed', index: 5, holder: { by: 'taken' } });
    t.same(await journal.list('events', { order: 'oldest', limit: 9 }), [{ key: 'e1', version: 1, value: { n: 1 } }]);
    t.equal(await journal.claimed('fresh'), undefined);
    t.same(await journal.commit([claim('fresh')]), { kind: 'committed' });
  });

  check('DUR-1 · keeps a record of 17 MiB, and sees it in a later commit', async (t, journal) => {
    const value = { n: 1, text: 'ä'.repeat((17 * 1024 * 1024) / 2) };
    await journal.commit([put('e1', value, { dueAtMs: nowMs })]);

    t.ok(isDeepStrictEqual(await journal.get('events', 'e1'), { key: 'e1', version: 1, value, dueAtMs: nowMs }));
    t.same(await journal.commit([put('e2', { n: 2 }), put('e1', { n: 2 }, { expect: 1 })]), { kind: 'committed' });
    t.match(await journal.list('events', { order: 'oldest', limit: 9 }), [{ version: 2 }, { value: { n: 2 } }]);
  });

  check('DUR-1 · lets each write see those before it in the same commit', async (t, journal) => {
    const twice = [put('e1', { n: 1 }, { expect: 'absent' }), put('e1', { n: 2 }, { expect: 1 })];

    t.same(await journal.commit(twice), { kind: 'committed' });
    t.same(await journal.commit(twice), {
      kind: 'stale',
      index: 0,
      standing: { key: 'e1', version: 2, value: { n: 2 } },
    });
    t.same(await journal.commit([claim('a'), claim('a')]), { kind: 'claimed', index: 1, holder: { by: 'a' } });
    t.equal((await journal.get('events', 'e1'))?.version, 2);
    t.equal(await journal.claimed('a'), undefined);
  });

  check('DUR-1 · puts a refused commit back byte for byte, due work included', async (t, journal, clock) => {
    const session = got(await journal.openSession('me', 1000));
    await journal.commit([put('e1', { n: 1 }, { dueAtMs: 5, heldBy: session }), claim('a', { forMs: 1 })]);
    const before = await journal.get('events', 'e1');

    await clock.set(nowMs + 1);
    const refused = await journal.commit([
      put('e1', { n: 2 }, { dueAtMs: 9 }),
      put('e1', { n: 3 }),
      claim('a'),
      { kind: 'release', name: 'a' },
      put('e2', {}, { expect: 7 }),
    ]);

    t.same(refused, { kind: 'stale', index: 4 });
    t.same(await journal.get('events', 'e1'), before);
    await clock.set(nowMs);
    t.same(await journal.claimed('a'), { by: 'a' });
    await journal.endSession(session);
    const other = got(await journal.openSession('other', 1000));
    const taken = got(await journal.take('events', { session: other, dueBeforeMs: 5, limit: 9 }));
    t.same(
      taken.map(({ key, value }) => ({ key, value })),
      [{ key: 'e1', value: { n: 1 } }],
    );
  });

  check('DUR-1 · applies commits in the order of the calls', async (t, journal) => {
    const verdicts = await Promise.all(
      Array.from({ length: 50 }, (_, n) => journal.commit([put('e1', { n }, { expect: n === 0 ? 'absent' : n })])),
    );

    t.ok(verdicts.every(({ kind }) => kind === 'committed'));
    t.same(await journal.get('events', 'e1'), { key: 'e1', version: 50, value: { n: 49 } });
  });

  check('IDM-2 · grants a name to one of many claims made at once', async (t, journal) => {
    const verdicts = await Promise.all(
      Array.from({ length: 200 }, (_, n) => journal.commit([claim('delivery/x'), put(`e${n}`, { n })])),
    );

    t.equal(verdicts.filter(({ kind }) => kind === 'committed').length, 1);
    t.same(verdicts[0], { kind: 'committed' });
    t.same(verdicts[1], { kind: 'claimed', index: 0, holder: { by: 'delivery/x' } });
    t.same(
      (await journal.list('events', { order: 'oldest', limit: 9 })).map(({ key }) => key),
      ['e0'],
    );
  });

  check(
    'DUR-1 · SRC-4 · commits of one call of together land together, each with a verdict of its own',
    async (t, journal) => {
      await journal.commit([claim('taken')]);
      const names = Array.from({ length: 1_000 }, (_, index) => (index === 500 ? 'taken' : `n${index}`));
      const verdicts: string[] = [];
      let seenByTheFirst: Promise<readonly StoredRecord[]> | undefined;

      await new Promise<void>((resolve) => {
        journal.together(() => {
          for (const [index, name] of names.entries()) {
            journal.submit([put(`e${String(index).padStart(4, '0')}`, { n: index }), claim(name)], ({ kind }) => {
              if (verdicts.length === 0) seenByTheFirst = journal.list('events', { order: 'oldest', limit: 2_000 });
              if (verdicts.push(kind) === names.length) resolve();
            });
          }
        });
      });

      t.equal((await seenByTheFirst)?.length, 999, 'all are there once one is known to be');
      t.same([...new Set(verdicts.toSpliced(500, 1))], ['committed']);
      t.equal(verdicts[500], 'claimed');
      journal.together(() => {});
      t.same(await journal.commit([claim('after')]), { kind: 'committed' }, 'an empty call holds up nothing');
    },
  );

  check('IDM-2 · holds a claim until its time and not a millisecond longer', async (t, journal, clock) => {
    await journal.commit([claim('a')]);

    await clock.set(nowMs + hourMs - 1);
    t.same(await journal.commit([claim('a')]), { kind: 'claimed', index: 0, holder: { by: 'a' } });
    t.same(await journal.claimed('a'), { by: 'a' });
    await clock.set(nowMs + hourMs);
    t.equal(await journal.claimed('a'), undefined);
    t.same(await journal.commit([claim('a')]), { kind: 'committed' });
  });

  check('IDM-1 · IDM-2 · an id that has led to an event is refused among others', async (t, journal, clock) => {
    const arrival = (id: string, key: string, writes: readonly Write[] = []) => [
      claim(id, { value: { eventKey: key }, event: key }),
      claim(`signature ${key}`, { value: { eventKey: key }, keptWith: key }),
      put(key, { id }, { expect: 'absent' }),
      ...writes,
    ];
    const all = (...commits: readonly (readonly Write[])[]): Promise<CommitVerdict[]> => {
      const verdicts: Promise<CommitVerdict>[] = [];
      journal.together(() => {
        for (const writes of commits) verdicts.push(journal.commit(writes));
      });
      return Promise.all(verdicts);
    };
    const committed = { kind: 'committed' };
    const known = (key: string) => ({ kind: 'claimed', index: 0, holder: { eventKey: key } });
    t.same(await all(arrival('a', 'e1'), arrival('a', 'e2'), arrival('b', 'e3')), [committed, known('e1'), committed]);
    t.same(
      await all(arrival('b', 'e4'), arrival('c', 'e5'), arrival('a', 'e6', [put('e1', {}, { expect: 9 })])),
      [known('e3'), committed, known('e1')],
      'even if something else of it is stale',
    );
    t.same(keysOf(await journal.list('events', { limit: 9, order: 'oldest' })), ['e1', 'e3', 'e5']);
    t.equal(await journal.claimed('signature e4'), undefined);
    await clock.set(nowMs + hourMs);
    for (const key of ['e7', 'e8']) t.equal((await all(arrival(key, key)))[0]?.kind, 'committed');
    t.same(await all(arrival('a', 'e9')), [committed], 'its time is over');
  });

  check('IDM-2 · gives a released name to the next', async (t, journal) => {
    await journal.commit([claim('a')]);

    t.same(await journal.commit([{ kind: 'release', name: 'a' }]), { kind: 'committed' });
    t.equal(await journal.claimed('a'), undefined);
    t.same(await journal.commit([claim('a')]), { kind: 'committed' });
    t.same(await journal.commit([{ kind: 'release', name: 'nobody' }]), { kind: 'committed' });

    await journal.commit([claim('held', { value: { holder: 'r1' } })]);
    await journal.commit([{ kind: 'release', name: 'held', holder: 'r2' }]);
    t.same(await journal.claimed('held'), { holder: 'r1' }, 'only its holder releases it');
    await journal.commit([{ kind: 'release', name: 'held', holder: 'r1' }]);
    t.equal(await journal.claimed('held'), undefined);
  });

  check('IDM-2 · SCA-1 · lists the claims that are kept, and how long each still stands', async (t, journal, clock) => {
    const claimed = (name: string, forMs: number, more = {}) =>
      ({ kind: 'claim', name, value: { by: name }, forMs, ...more }) as const;
    const event = { profile: 'default', route: 'r', deliveryId: 'd' };
    const ofEvent = claimed(claimOfEvent(event) ?? '', 10, { value: { eventKey: 'e' }, event: 'e' });
    const putEvent = { kind: 'put', collection: 'events', key: 'e', value: event } as const;
    await journal.commit([claimed('1', 20), claimed('3', 90), claimed('2', 30), putEvent, ofEvent]);
    await journal.commit([{ kind: 'release', name: '2' }]);
    await clock.set(nowMs + 20);

    const all = await journal.claims({ limit: 9 });
    t.same(all, [
      { name: '3', value: { by: '3' }, forMs: 70 },
      { name: ofEvent.name, value: { eventKey: 'e' }, forMs: -10, keptWith: 'e' },
    ]);
    t.same(await journal.claims({ limit: 1 }), all.slice(0, 1));
    t.same(await journal.claims({ limit: 9, from: '3' }), all.slice(1));
    await journal.commit([{ kind: 'delete', collection: 'events', key: 'e' }]);
    t.same(await journal.claims({ limit: 9 }), all.slice(0, 1), 'it ends with its event');
  });

  check('IDM-2 · distinguishes long and odd names', async (t, journal) => {
    const names = ['', 'é', 'e\u0301', 'a\u0000b', 'a', `${'x'.repeat(5000)}1`, `${'x'.repeat(5000)}2`, '/', 'sha256:'];

    for (const odd of names) t.same(await journal.commit([claim(odd)]), { kind: 'committed' }, JSON.stringify(odd));
    for (const odd of names) t.same(await journal.claimed(odd), { by: odd });
  });

  check('DUR-1 · expects the version that it was given', async (t, journal) => {
    const rows: readonly (readonly [Write, string])[] = [
      [put('e1', {}, { expect: 1 }), 'stale'],
      [remove('e1', 1), 'stale'],
      [remove('e1'), 'committed'],
      [put('e1', {}, { expect: 'absent' }), 'committed'],
      [put('e1', {}, { expect: 'absent' }), 'stale'],
      [put('e1', {}, { expect: 2 }), 'stale'],
      [put('e1', {}, { expect: 1 }), 'committed'],
      [put('e1', {}), 'committed'],
      [remove('e1', 2), 'stale'],
      [remove('e1', 3), 'committed'],
      [put('e1', {}, { expect: 'absent' }), 'committed'],
    ];
    for (const [write, kind] of rows) t.equal((await journal.commit([write])).kind, kind, JSON.stringify(write));
    t.equal((await journal.get('events', 'e1'))?.version, 1);
  });

  check('SCA-1 · judges writes that are given anew, in the same commit', async (t, journal) => {
    const submit = (writes: readonly Write[], rewrite?: Rewrite) =>
      new Promise<readonly [string, readonly Write[]]>((resolve) =>
        journal.submit(writes, (verdict, judged) => resolve([verdict.kind, judged]), rewrite),
      );
    const first = [put('e1', { n: 1 }, { expect: 'absent' })];
    t.same(await submit(first), ['committed', first]);
    const over = (version: number) => [put('e1', { n: version + 1 }, { expect: version }), claim(`c${version}`)];
    const told: unknown[] = [];
    const rewrite: Rewrite = (stale) => {
      told.push(stale?.standing?.value);
      return stale === undefined ? undefined : over(stale.standing?.version ?? 0);
    };
    t.same(await submit([...first, claim('c1')], rewrite), ['committed', over(1)]);
    // An engine may have judged it before.
    t.same(told.slice(-2), [undefined, { n: 1 }]);
    t.match(await journal.claimed('c1'), { by: 'c1' });
    t.match(await submit([...first, claim('c2')], (stale) => stale && over(7)), ['stale', over(7)], 'only once');
    t.equal(await journal.claimed('c2'), undefined, 'and leaves nothing');
    t.match(await submit(first, () => undefined), ['stale', first]);
    t.match(await submit(first, () => over(2)), ['committed', over(2)], 'what is given before they are judged');

    // The second one is put over the first as that was given anew.
    let version = 0;
    const each = (): Rewrite => (stale) => {
      if (stale !== undefined) version = stale.standing?.version ?? 0;
      if (stale === undefined && version === 0) return undefined;
      const writes = [put('e1', { n: version + 1 }, { expect: version })];
      version += 1;
      return writes;
    };
    const both: Promise<unknown>[] = [];
    journal.together(() => both.push(submit(first, each()), submit([put('e1', {}, { expect: 9 })], each())));
    t.match(await Promise.all(both), [['committed'], ['committed']]);
    t.match(await journal.get('events', 'e1'), { version: 5, value: { n: 5 } });
  });

  check('DUR-1 · distinguishes records that stood under one key one after another', async (t, journal) => {
    const of = (version: number, text: string) => ({ version, path: 'a.id', text });
    const rows: readonly (readonly [Write, string])[] = [
      [put('e1', { a: { id: 'x' } }, { expect: of(1, 'x') }), 'stale'],
      [put('e1', { a: { id: 'x' } }, { expect: 'absent' }), 'committed'],
      [put('e1', {}, { expect: of(1, 'y') }), 'stale'],
      [put('e1', {}, { expect: of(2, 'x') }), 'stale'],
      [put('e1', { a: { id: 'x' } }, { expect: of(1, 'x') }), 'committed'],
      [remove('e1', of(2, 'y')), 'stale'],
      [remove('e1', of(2, 'x')), 'committed'],
      [put('e1', { a: { id: 'y' } }, { expect: 'absent' }), 'committed'],
      [put('e1', {}, { expect: of(1, 'x') }), 'stale'],
      [put('e1', {}, { expect: of(1, 'y') }), 'committed'],
      [remove('e1', of(2, 'y')), 'stale'],
    ];
    for (const [write, kind] of rows) t.equal((await journal.commit([write])).kind, kind, JSON.stringify(write));
    t.match(await journal.get('events', 'e1'), { version: 2, value: {} });
  });

  check('DUR-1 · keeps values as they were when they were committed', async (t, journal) => {
    const value = { text: 'ä\u0000\ud83d\ude00"\\', list: [1, null, { a: true }], big: 'x'.repeat(300_000) };

    await journal.commit([put('e1', value), put('e2', {})]);

    t.same((await journal.get('events', 'e1'))?.value, value);
    t.same((await journal.get('events', 'e2'))?.value, {});
  });

  check('DUR-1 · refuses keys that cannot be stored and stays usable', async (t, journal) => {
    for (const key of ['', 'k'.repeat(621)]) {
      t.match(await journal.commit([put(key, {})]), { kind: 'unavailable', fault: { code: 'internal-error' } });
      t.equal(await journal.get('events', key), undefined);
      t.same(await journal.list('events', { order: 'oldest', limit: 1, from: key }), []);
    }
    for (const key of ['a\0b', 'lone \ud800']) {
      const [odd, plain] = await Promise.all([
        journal.commit([put(key, {})]),
        journal.commit([put(`plain${key.length}`, {})]),
      ]);
      t.same(plain, { kind: 'committed' }, 'a key that one engine cannot store refuses no other commit');
      t.equal(await journal.probe(), undefined);
      t.equal((await journal.get('events', key)) !== undefined, odd.kind === 'committed');
      await journal.list('events', { order: 'oldest', limit: 1, from: key });
    }
    const longest = '\uffff'.repeat(620);
    t.same(await journal.commit([put(longest, { a: 1 }, { dueAtMs: 1, heldBy: 'x'.repeat(32) })]), {
      kind: 'committed',
    });
    t.same((await journal.get('events', longest))?.value, { a: 1 });
    t.same(await journal.commit([]), { kind: 'committed' });
  });

  check('DUR-2 · lists in key order, page by page, from either end', async (t, journal) => {
    const keys = Array.from({ length: 25 }, (_, n) => `k${String(n).padStart(2, '0')}`);
    await journal.commit(keys.toReversed().map((key) => put(key, { key })));
    await journal.commit([put('other', {}, { collection: 'runs' })]);

    for (const order of ['newest', 'oldest'] as const) {
      const seen: string[] = [];
      for (let from: string | undefined; ; from = seen.at(-1)) {
        const page = await journal.list('events', { order, limit: 7, ...(from === undefined ? {} : { from }) });
        if (page.length === 0) break;
        seen.push(...page.map(({ key }) => key));
      }
      t.same(seen, order === 'oldest' ? keys : keys.toReversed());
    }
    t.same(
      (await journal.list('events', { order: 'newest', limit: 2, from: 'k10x' })).map(({ key }) => key),
      ['k10', 'k09'],
    );
    t.same(await journal.list('events', { order: 'newest', limit: 0 }), []);
  });

  check('DUR-1 · hands out due work, oldest first, and holds it for the session', async (t, journal) => {
    const session = got(await journal.openSession('me', 1000));
    await journal.commit([
      run('r1', { dueAtMs: 30 }),
      run('r2', { dueAtMs: 10 }),
      run('r3', { dueAtMs: 20 }),
      run('r4', { dueAtMs: 31 }),
      run('r5', {}),
      put('e1', {}, { dueAtMs: 1 }),
    ]);

    const query = { session, dueBeforeMs: 30 };
    const first = got(await journal.take('runs', { ...query, limit: 2 }));
    const rest = got(await journal.take('runs', { ...query, limit: 9 }));

    t.same(keysOf(first), ['r2', 'r3']);
    t.same(keysOf(rest), ['r1']);
    t.same(first[0], { key: 'r2', version: 2, value: {}, dueAtMs: 10, heldBy: session });
    t.same(await journal.get('runs', 'r2'), first[0]);
    t.same(got(await journal.take('runs', { ...query, limit: 9 })), []);
  });

  check('DIS-3 · DLV-4 · leaves the free work of the queues that are named, and no other', async (t, journal) => {
    const session = got(await journal.openSession('me', 1000));
    const ended = got(await journal.openSession('other', 1000));
    const of = (route: string) => ({ profile: 'p', route });
    const sent = (key: string, target: string) =>
      put(key, { profile: 'p', target }, { collection: 'deliveries', dueAtMs: 1 });
    await journal.commit([
      ...['a1', 'a2', 'a3'].map((key) => put(key, of('slow/one'), { collection: 'runs', dueAtMs: 1 })),
      put('a4', of('slow/one'), { collection: 'runs', dueAtMs: 2, heldBy: ended }),
      put('b1', of('other'), { collection: 'runs', dueAtMs: 9 }),
      run('c1', { dueAtMs: 5 }),
      sent('d1', 'messenger_a'),
      sent('d2', 'log'),
    ]);
    await journal.endSession(ended);

    const query = { session, dueBeforeMs: 9, limit: 2 };
    const without = ['rp/slow/one', 'dp/telegram'];
    const taken = got(await journal.take('runs', { ...query, without }));
    const rest = got(await journal.take('runs', { ...query, without }));
    t.same(
      [...taken, ...rest].map(({ key, from }) => [key, from]),
      [
        ['a4', ended],
        ['c1', undefined],
        ['b1', undefined],
      ],
      'one that a session held is in no queue',
    );
    t.same(
      keysOf(got(await journal.take('deliveries', { ...query, without }))),
      ['d2'],
      'a target by any of its names',
    );
    t.same(await journal.get('runs', 'a1'), { key: 'a1', version: 1, value: of('slow/one'), dueAtMs: 1 });
    t.same(got(await journal.take('runs', { ...query, limit: 1 }))[0], {
      ...{ key: 'a1', version: 2, value: of('slow/one'), dueAtMs: 1, heldBy: session },
    });
    await journal.commit([put('a2', of('slow/one'), { collection: 'runs', dueAtMs: null })]);
    t.same(keysOf(got(await journal.take('runs', query))), ['a3'], 'ended work is in no queue any more');
  });

  check('SCA-1 · takes a run with its deliveries, and these never without it', async (t, journal) => {
    const session = got(await journal.openSession('me', 1000));
    const delivery = (key: string, value: object, more: Partial<Put> = {}) =>
      put(key, { ...value }, { collection: 'deliveries', dueAtMs: 1, ...more });
    await journal.commit([
      run('r1', { dueAtMs: 5 }),
      delivery('r1', { runKey: 'r1', of: 3 }, { heldBy: session }),
      delivery('r1~2', { runKey: 'r1', of: 3 }),
      delivery('r1~3', { runKey: 'r1', of: 3 }, { dueAtMs: null }),
      run('r2', {}),
      delivery('r2', { runKey: 'r2' }),
      delivery('r3', {}),
    ]);

    const query = { session, dueBeforeMs: 9, limit: 9 };
    t.same(keysOf(got(await journal.take('deliveries', { ...query, limit: 1 }))), ['r2']);
    t.same(keysOf(got(await journal.take('deliveries', query))), ['r3'], 'those of a run that is due are left to it');
    const [taken, ...others] = got(await journal.take('runs', query));
    t.same(others, []);
    t.same(
      taken?.deliveries?.map(({ key, version, heldBy }) => [key, version, heldBy]),
      [
        ['r1', 2, session],
        ['r1~2', 2, session],
      ],
    );
    t.same(await journal.get('deliveries', 'r1'), taken?.deliveries?.[0]);
    t.same(got(await journal.take('deliveries', query)), []);
  });

  check('DUR-1 · takes hundreds of records in one call', async (t, journal) => {
    const session = got(await journal.openSession('me', 1000));
    const keys = Array.from({ length: 350 }, (_, n) => `r${String(n).padStart(3, '0')}`);
    await journal.commit(keys.map((key, n) => run(key, { dueAtMs: n })));

    const query = { session, dueBeforeMs: 1000 };
    t.same(keysOf(got(await journal.take('runs', { ...query, limit: 320 }))), keys.slice(0, 320));
    t.same(keysOf(got(await journal.take('runs', { ...query, limit: 320 }))), keys.slice(320));
  });

  check(
    'DUR-1 · frees the work of a session that ended, ran out, was replaced or never was',
    async (t, journal, clock) => {
      const endings: Readonly<Record<string, (session: SessionId) => Promise<unknown>>> = {
        ended: (session) => journal.endSession(session),
        replaced: () => journal.openSession('owner/replaced', 1000),
        'run out': async (session) => {
          await journal.renewSession(session, 1);
          await clock.set(nowMs + 1);
        },
      };
      for (const [name, end] of Object.entries(endings)) {
        const session = got(await journal.openSession(`owner/${name}`, 1000));
        await journal.commit([run(name, { dueAtMs: 1, heldBy: session })]);
        const other = got(await journal.openSession(`other/${name}`, 1000));
        const query = { session: other, dueBeforeMs: 1, limit: 9 };

        t.same(got(await journal.take('runs', query)), [], `${name}: not yet`);
        await end(session);
        const taken = got(await journal.take('runs', query));
        t.same(
          taken.map(({ key, from }) => [key, from]),
          [[name, session]],
          `${name}: free`,
        );
      }
      await journal.commit([run('r1', { dueAtMs: 1, heldBy: 'nobody' }), run('r2', { dueAtMs: 1, heldBy: 'no/body' })]);
      const last = got(await journal.openSession('last', 1000));
      const query = { session: last, dueBeforeMs: 1, limit: 9 };
      t.same(keysOf(got(await journal.take('runs', query))), ['r1', 'r2']);
    },
  );

  check('DUR-1 · makes the earlier holder of taken work find it stale', async (t, journal, clock) => {
    const first = got(await journal.openSession('first', 10));
    await journal.commit([run('r1', { dueAtMs: 1, heldBy: first })]);
    await clock.set(nowMs + 10);
    const second = got(await journal.openSession('second', 1000));

    await journal.take('runs', { session: second, dueBeforeMs: 1, limit: 1 });

    t.match(await journal.commit([run('r1', { expect: 1, heldBy: first })]), {
      kind: 'stale',
      index: 0,
      standing: { key: 'r1', version: 2, heldBy: second },
    });
  });

  check('DUR-1 · renews a session that ran out, but none that ended', async (t, journal, clock) => {
    const session = got(await journal.openSession('me', 10));
    await clock.set(nowMs + 60_000);

    t.match(await journal.take('runs', { session, dueBeforeMs: 1, limit: 1 }), {
      ok: false,
      fault: { code: 'journal-session-ended' },
    });
    t.match(await journal.renewSession(session, 1000), { ok: true });
    t.same(await journal.take('runs', { session, dueBeforeMs: 1, limit: 1 }), { ok: true, value: [] });
    await journal.endSession(session);
    for (const id of [session, 'never', '', 's/1', 'x'.repeat(5000)]) {
      t.match(await journal.renewSession(id, 1000), { ok: false, fault: { code: 'journal-session-ended' } });
      t.same(await journal.endSession(id), { ok: true, value: true });
    }
    const next = got(await journal.openSession('me', 10));
    t.not(next, session, 'no id is given out twice');
  });

  check('SCA-2 · ends no session that lives', async (t, journal, clock) => {
    const session = got(await journal.openSession('me', 60_000));
    t.equal(got(await journal.reap()), 0);
    t.same(got(await journal.renewSession(session, 60_000)), { nowMs }, 'the time is the engine’s');
    await clock.set(nowMs + 59_999);
    t.equal(got(await journal.reap()), 0);
    t.same(got(await journal.living()), [{ id: session, owner: 'me' }]);
    await clock.set(nowMs + 60_000);
    t.same(got(await journal.living()), []);
  });

  check('DUR-2 · forgets finished records older than a key, and never work', async (t, journal) => {
    const ofBatch = { profile: 'p', route: 'r', told: { groupKey: '7' } };
    await journal.commit([
      put('a1', {}),
      put('a2', {}, { dueAtMs: 1 }),
      put('a3', { work: 'a4' }),
      put('a5', { work: 'a1' }),
      put('b1', {}),
      run('a1', {}),
      run('a4', { dueAtMs: 9 }),
      put('a1', {}, { collection: 'deliveries' }),
      put('a6', { work: 'a7' }),
      put('a7', {}, { collection: 'deliveries', dueAtMs: 9 }),
      put('a1', {}, { collection: 'groups' }),
      put('a1', {}, { collection: 'transcripts' }),
      put('b1', {}, { collection: 'transcripts' }),
      ...['a8', 'a9'].map((key) => put(key, { ...ofBatch, work: 'a8' })),
      put('a10', { ...ofBatch, work: 'a10' }),
      put(groupName('p', 'r', '7'), { burst: { id: 'a8' } }, { collection: 'groups' }),
      put('a11', { work: 7 }),
      put('a12', { work: 'x'.repeat(5_000) }),
      put('a13', { work: 'a13' }),
      run('a13', {}),
      put('a13', {}, { collection: 'transcripts' }),
      put('a13', { runKey: 'a13', of: 3 }, { collection: 'deliveries' }),
      put('a13~2', { runKey: 'a13', of: 3 }, { collection: 'deliveries' }),
      put('a13~3', { runKey: 'a13', of: 3 }, { collection: 'deliveries', dueAtMs: 9 }),
    ]);

    const gone = got(await journal.prune({ keepAfterKey: 'b', maxBytes: Number.MAX_SAFE_INTEGER }));

    t.equal(gone, 8, 'the event a10 of an earlier batch of the key too');
    const left = async (collection: Collection) =>
      keysOf(await journal.list(collection, { order: 'oldest', limit: 9 }));
    t.same(await left('events'), ['a13', 'a2', 'a3', 'a6', 'a8', 'a9', 'b1']);
    t.same(await left('runs'), ['a13', 'a4']);
    t.same(await left('deliveries'), ['a13', 'a13~2', 'a13~3', 'a7'], 'all of a run, while one of them is due');
    t.same(await left('groups'), ['a1', 'p/r/7']);
    t.same(await left('transcripts'), ['a13', 'b1']);
  });

  check('DUR-2 · forgets the oldest finished records until the store is small enough', async (t, journal) => {
    const keys = Array.from({ length: 600 }, (_, n) => `k${String(n).padStart(4, '0')}`);
    const finished = ['runs', 'deliveries', 'transcripts'] as const;
    const filling = 'x'.repeat(2000);
    for (const key of keys) {
      void journal.commit([
        put(key, { filling }, key === 'k0000' ? { dueAtMs: 1 } : {}),
        ...finished.map((collection) => put(key, { filling }, { collection })),
      ]);
    }
    await journal.commit([]);
    const left = async (collection: Collection) =>
      keysOf(await journal.list(collection, { order: 'oldest', limit: 600 }));

    t.same(await journal.prune({ keepAfterKey: '', maxBytes: 100_000_000 }), { ok: true, value: 0 });
    // A limit in megabytes may be no whole number of bytes.
    const gone = got(await journal.prune({ keepAfterKey: '', maxBytes: 1_999_999.5 }));

    const [work, ...events] = await left('events');
    t.equal(work, 'k0000');
    let standing = 1 + events.length;
    t.same(events, keys.slice(-events.length), 'the newest stay, and the work');
    for (const collection of finished) {
      const others = await left(collection);
      standing += others.length;
      t.same(others, keys.slice(-others.length), collection);
      t.ok(Math.abs(events.length - others.length) <= 1, 'all collections age together');
    }
    t.ok(gone > 1200 && gone < 2300, `${gone} are gone`);
    t.equal(standing, 2400 - gone);
    got(await journal.prune({ keepAfterKey: '', maxBytes: 0 }));
    t.same(await left('events'), ['k0000']);
    for (const collection of finished) t.same(await left(collection), [], collection);
  });

  check('DUR-2 · IDM-1 · ids that are remembered take no room from the history', async (t, journal) => {
    const claims = Array.from({ length: 3_000 }, (_, n) => `delivery/${n} ${'x'.repeat(200)}`);
    await journal.commit([
      put('k1', {}),
      run('k1', {}),
      ...claims.map((name) => ({ kind: 'claim', name, value: {}, forMs: 3_600_000 }) as const),
    ]);
    t.same(await journal.prune({ keepAfterKey: '', maxBytes: 100_000 }), { ok: true, value: 0 });
    t.same(keysOf(await journal.list('events', { order: 'oldest', limit: 9 })), ['k1']);
  });

  check('IDM-2 · forgets expired claims and no others', async (t, journal, clock) => {
    await journal.commit(Array.from({ length: 450 }, (_, n) => claim(`n${n}`, { forMs: n })));
    // Claimed anew after it ran out: the earlier time must not end the later claim.
    await clock.set(nowMs + 2);
    await journal.commit([claim('n1')]);

    await clock.set(nowMs + 440);
    got(await journal.prune({ keepAfterKey: '', maxBytes: Number.MAX_SAFE_INTEGER }));

    // An earlier time shows what is still in the store.
    await clock.set(0);
    const left: string[] = [];
    for (let n = 0; n < 450; n += 1) if ((await journal.claimed(`n${n}`)) !== undefined) left.push(`n${n}`);
    t.same(left, ['n1', ...Array.from({ length: 9 }, (_, n) => `n${441 + n}`)]);
  });

  check(
    'IDM-2 · DUR-2 · claims that are kept with an event end by their time once it is forgotten',
    async (t, journal, clock) => {
      const kept = (key: string, forMs: number): readonly Write[] => {
        const event = { profile: 'default', route: 'r', deliveryId: key, signatureDigest: key };
        const [ofId = '', ofSignature = ''] = claimNames(event);
        const value = { eventKey: key };
        return [
          { kind: 'claim', name: ofId, value, forMs, event: key },
          { kind: 'claim', name: ofSignature, value, forMs: forMs + 10, keptWith: key },
          put(key, event),
        ];
      };
      for (const writes of [kept('a1', 10), kept('a2', 90), kept('a3', 90), kept('b1', 10)])
        await journal.commit(writes);
      await clock.set(nowMs + 30);
      t.equal((await journal.claims({ limit: 99 })).length, 8, 'as long as their events');
      const all = { keepAfterKey: 'b', maxBytes: Number.MAX_SAFE_INTEGER };
      await journal.commit([remove('a3')]);
      t.equal(got(await journal.prune(all)), 2);

      const left = async () => (await journal.claims({ limit: 99 })).map(({ value }) => value.eventKey).sort();
      t.same(await left(), ['a2', 'a2', 'a3', 'a3', 'b1', 'b1']);
      t.match(await journal.commit([claim(signatureClaim('a2'))]), {
        kind: 'claimed',
        holder: { eventKey: 'a2' },
      });
      await clock.set(nowMs + 100);
      got(await journal.prune(all));
      t.same(await left(), ['b1', 'b1']);
      // An earlier time shows what is still in the store.
      await clock.set(0);
      t.same(await left(), ['b1', 'b1']);
      t.equal((await journal.commit([claim(signatureClaim('a3'))])).kind, 'committed');
    },
  );

  check('DUR-1 · commits while it forgets', async (t, journal) => {
    const keys = Array.from({ length: 1000 }, (_, n) => `k${String(n).padStart(4, '0')}`);
    for (const key of keys) void journal.commit([put(key, {})]);
    await journal.commit([]);

    const pruning = journal.prune({ keepAfterKey: 'k0999', maxBytes: Number.MAX_SAFE_INTEGER });
    const order: string[] = [];
    const pruned = pruning.then(() => order.push('pruned'));
    const committed = journal.commit([put('z', {})]).then(() => order.push('committed'));
    await Promise.all([pruned, committed]);

    t.same(order, ['committed', 'pruned']);
    t.same(keysOf(await journal.list('events', { order: 'oldest', limit: 9 })), ['k0999', 'z']);
  });

  check('DUR-1 · says that it can write, and after closing that it cannot', async (t, journal) => {
    t.equal(await journal.probe(), undefined);
    const last = journal.commit([put('e1', {})]);
    await journal.close();
    await journal.close();

    t.same(await last, { kind: 'committed' }, 'a commit in flight lands');
    t.match(await journal.commit([put('e2', {})]), {
      kind: 'unavailable',
      fault: { code: 'journal-unavailable' },
    });
    t.match(await journal.probe(), { code: 'journal-unavailable' });
    t.match(await journal.openSession('me', 1), { ok: false, fault: { code: 'journal-unavailable' } });
  });

  t.test(`DUR-1 · behaves as the model in any history (${name})`, async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const { journal, clock } = await settings.open();
        try {
          await checkHistory([journal], clock, history);
        } finally {
          await journal.close();
        }
      }),
      { numRuns: settings.histories },
    );
  });
}

export interface SharedSettings {
  /** Opens two journals on one fresh store, as two gateways do. */
  readonly open: () => Promise<{ readonly journals: readonly [Journal, Journal]; readonly clock: SetClock }>;
  readonly histories: number;
}

/** What a journal that several gateways use must do beside. */
export function sharedContract(t: Test, name: string, settings: SharedSettings): void {
  t.test(`SCA-2 · the work of a gateway that died is free for another, which hears of it (${name})`, async (t) => {
    const { journals, clock } = await settings.open();
    const [one, other] = journals;
    await clock.set(nowMs);
    const dead = got(await one.openSession('one', hourMs));
    const mine = got(await other.openSession('other', hourMs));
    await one.commit([run('r', { dueAtMs: 1, heldBy: dead })]);
    const query = { session: mine, dueBeforeMs: 9, limit: 9 };
    t.same(got(await other.take('runs', query)), []);

    const heard = new Promise<void>((resolve) => other.watch((news) => news === 'work' && resolve()));
    await one.commit([run('free', { dueAtMs: 1 })]);
    await heard;
    t.equal(got(await other.take('runs', query)).length, 1);

    await clock.set(nowMs + 10_000);
    t.equal(got(await other.reap()), 0, 'one that lives is left alone');
    const ended = new Promise<void>((resolve) => other.watch((news) => news === 'session' && resolve()));
    await one.close();
    // Its connections end when the database has noticed, and its session some time after that.
    for (let ms = 10_000; got(await other.reap()) === 0; ms += 500) {
      await clock.set(nowMs + ms);
      await new Promise(setImmediate);
    }
    await ended;
    t.same(got(await other.living()), [{ id: mine, owner: 'other' }]);
    t.match(
      got(await other.take('runs', query)),
      [{ key: 'r', version: 2, from: dead }],
      'with the session that had it',
    );
    await other.close();
  });

  t.test(`SCA-1 · two of them behave as one, in any history (${name})`, async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const { journals, clock } = await settings.open();
        try {
          await checkHistory(journals, clock, history);
        } finally {
          await Promise.all(journals.map((journal) => journal.close()));
        }
      }),
      { numRuns: settings.histories },
    );
  });
}

function put(
  key: string,
  value: Extract<Write, { kind: 'put' }>['value'],
  more: Partial<Omit<Put, 'collection'>> & Partial<Pick<Put, 'collection'>> = {},
): Write {
  return { kind: 'put', collection: 'events', key, value, ...more } as Write;
}

function run(key: string, more: Partial<Put>): Write {
  return put(key, {}, { collection: 'runs', ...more });
}

function remove(key: string, expect?: Extract<Write, { kind: 'delete' }>['expect']): Write {
  return { kind: 'delete', collection: 'events', key, ...(expect === undefined ? {} : { expect }) };
}

function claim(name: string, more: Partial<Extract<Write, { kind: 'claim' }>> = {}): Write {
  return { kind: 'claim', name, value: { by: name }, forMs: hourMs, ...more };
}

function keysOf(records: readonly StoredRecord[]): string[] {
  return records.map(({ key }) => key);
}
