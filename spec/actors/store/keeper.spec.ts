import t from 'tap';
import type { Journal, News, Write } from '../../../actors/store/journal.ts';
import { createKeeper } from '../../../actors/store/keeper.ts';
import { openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import { inFlightClaim } from '../../../actors/store/shared-claims.ts';
import { done, type Fault, failed } from '../../../machines/base/fault.ts';
import { openKeeper, turn } from '../../support/keeper.ts';

const write = [{ kind: 'put', collection: 'events', key: 'k', value: {} }] as const;
const history = { keepAfterKey: '', maxBytes: 1_000_000 };

function stage() {
  let nowMs = 0;
  const journal = openMemoryJournal(() => nowMs);
  const refused: string[] = [];
  let opens = 0;
  let broken: Fault | undefined;
  const keeper = createKeeper({
    open: async () => {
      opens += 1;
      return broken === undefined ? done(journal) : failed(broken.code, broken.message);
    },
    owner: 'me',
    sessionTtlMs: 60_000,
    refused: ({ code }) => refused.push(code),
  });
  return {
    keeper,
    journal,
    refused,
    opens: () => opens,
    breaks: (fault: Fault | undefined) => {
      broken = fault;
    },
    passes: (ms: number) => {
      nowMs += ms;
    },
  };
}

t.test('DUR-1 · while there is no journal a commit is unavailable, and nothing can be read', async (t) => {
  const { keeper, refused } = stage();
  t.match(await keeper.commit(write), { kind: 'unavailable', fault: { code: 'journal-unavailable' } });
  t.match(await keeper.keep(history), { code: 'journal-unavailable' });
  t.same([keeper.journal(), keeper.session(), refused], [undefined, undefined, []]);
  await keeper.close();
});

t.test('DUR-1 · a store that does not open says why, and is asked again', async (t) => {
  const { keeper, breaks, opens } = stage();
  breaks({ code: 'journal-full', message: 'journal: no room' });
  t.match(await keeper.open(), { code: 'journal-full' });
  t.match(await keeper.commit(write), { kind: 'unavailable' });
  breaks(undefined);
  t.equal(await keeper.open(), undefined);
  t.same(await keeper.commit(write), { kind: 'committed' });
  t.equal(await keeper.open(), undefined);
  t.equal(opens(), 2, 'an open store is asked whether it can write, not opened again');
});

t.test('DUR-1 · every refused commit is reported with its reason', async (t) => {
  const { keeper, journal, refused } = stage();
  await keeper.open();
  t.match(await keeper.commit([{ kind: 'put', collection: 'runs', key: '', value: {} }]), { kind: 'unavailable' });
  t.same(refused, [], 'but not of one that is refused by itself');
  await journal.close();
  t.match(await keeper.commit(write), { kind: 'unavailable' });
  t.same(refused, ['journal-unavailable']);
  t.match(await keeper.open(), { code: 'journal-unavailable' }, 'the probe says so too');
});

t.test('DUR-1 · its session is renewed, and begun anew once it has ended', async (t) => {
  const { keeper, journal, passes } = stage();
  await keeper.open();
  const first = keeper.session() ?? '';
  passes(50_000);
  t.equal(await keeper.keep(history), undefined);
  passes(50_000);
  const query = { dueBeforeMs: 0, limit: 1 };
  t.match(await journal.take('runs', { ...query, session: first }), { ok: true }, 'alive after a hundred seconds');
  passes(50_000);
  t.equal(await keeper.open(), undefined, 'an opening that asks whether it can write again renews it too');
  t.equal(keeper.session(), first);
  passes(50_000);
  t.match(await journal.take('runs', { ...query, session: first }), { ok: true });

  await journal.endSession(first);
  t.match(await keeper.keep(history), { code: 'journal-session-ended' });
  t.match(await keeper.commit(write), { kind: 'unavailable' }, 'nothing is held by a session that is over');
  t.equal(await keeper.open(), undefined);
  const second = keeper.session();
  t.ok(second !== undefined && second !== first);
  await journal.endSession(second ?? '');
  t.equal(await keeper.open(), undefined, 'one that is found ended is no fault of the store');
  t.ok(keeper.session() !== undefined && keeper.session() !== second);
});

t.test('DUR-1 · a renewal that finds its session ended leaves the one that was begun meanwhile', async (t) => {
  const { keeper } = stage();
  await keeper.open();
  const [, kept] = await Promise.all([keeper.beginAnew(), keeper.keep(history)]);
  t.match(kept, { code: 'journal-session-ended' });
  t.same(await keeper.commit(write), { kind: 'committed' });
});

t.test('DUR-1 · a gateway alone revives a session that expired, and none that has ended', async (t) => {
  const { keeper, journal, passes } = stage();
  t.equal(await keeper.revive(), false);
  await keeper.open();
  const session = keeper.session() ?? '';
  passes(70_000);
  t.equal(await keeper.revive(), true);
  t.match(await journal.take('runs', { dueBeforeMs: 0, limit: 1, session }), { ok: true });
  await journal.endSession(session);
  t.equal(await keeper.revive(), false);
  const { local: _, ...shared } = openMemoryJournal();
  t.equal(await (await openKeeper(shared)).keeper.revive(), false, 'others may have taken what it held');
});

t.test('SCA-2 · among other gateways it ends the sessions of the dead, and hears what the others do', async (t) => {
  const { local: _, ...journal } = openMemoryJournal();
  const hearers: ((news: News) => void)[] = [];
  let reaps = 0;
  let isReadable = true;
  const shared = {
    ...journal,
    living: () => (isReadable ? journal.living() : Promise.resolve(failed('journal-unavailable', 'journal: lost'))),
    async reap() {
      reaps += 1;
      return done(0);
    },
    watch(heard: (news: News) => void) {
      hearers.push(heard);
      return () => {};
    },
  };
  const { keeper } = await openKeeper(shared, 'me');
  const theirs = (await openKeeper(shared, 'other')).keeper.session() ?? '';
  const heard: News[] = [];
  const stop = keeper.heard((news) => heard.push(news));
  t.notOk(keeper.isElsewhere(theirs), 'not known yet');
  await Promise.all([keeper.beat(), keeper.reap(), keeper.reap()]);
  t.equal(reaps, 1, 'one at a time');
  await keeper.reap();
  t.equal(reaps, 2);
  t.ok(keeper.isElsewhere(theirs));
  t.same([keeper.isElsewhere(keeper.session()), keeper.isElsewhere(undefined)], [false, false]);

  isReadable = false;
  hearers[0]?.('session');
  await turn();
  t.ok(keeper.isElsewhere(theirs), 'as last read');
  isReadable = true;
  await journal.endSession(theirs);
  hearers[0]?.('session');
  await turn();
  t.notOk(keeper.isElsewhere(theirs), 'known at once');
  stop();
  hearers[0]?.('work');
  t.same(heard, ['session', 'session']);

  await keeper.beat();
  const mine = keeper.session();
  await journal.endSession(mine ?? '');
  await keeper.beat();
  t.same(
    [keeper.session(), keeper.isElsewhere(mine)],
    [undefined, false],
    'what its ended session held is not elsewhere',
  );
});

t.test('SCA-2 · CON-2 · while a database does not answer a renewal, no further ones wait for it', async (t) => {
  const { local: _, ...journal } = openMemoryJournal();
  const asked: (() => void)[] = [];
  const renewSession: Journal['renewSession'] = async (...given) => {
    await new Promise<void>((resolve) => asked.push(resolve));
    return journal.renewSession(...given);
  };
  const opening = openKeeper({ ...journal, renewSession });
  while (asked.length === 0) await turn();
  asked[0]?.();
  const { keeper } = await opening;
  const beats = [keeper.beat(), keeper.beat(), keeper.beat()];
  t.equal(asked.length, 2, 'one for the opening, one for the beats');
  for (const answer of asked) answer();
  await Promise.all(beats);
  void keeper.beat();
  t.equal(asked.length, 3, 'the next one follows its answer');
});

t.test('SCA-3 · another gateway with the same name is reported, unless its session soon ends', async (t) => {
  const { local: _, ...journal } = openMemoryJournal();
  let steadyMs = 0;
  let other = 's8';
  let reports = 0;
  const keeper = createKeeper({
    open: async () =>
      done({
        ...journal,
        living: async () =>
          done([{ id: 's0', owner: 'other' }, ...[keeper.session() ?? '', other].map((id) => ({ id, owner: 'me' }))]),
      }),
    owner: 'me',
    sessionTtlMs: 10_000,
    steadyMs: () => steadyMs,
    refused: () => {},
    namesake: () => {
      reports += 1;
    },
  });
  const sees = async (atMs: number) => {
    steadyMs = atMs;
    await keeper.beat();
    return reports;
  };
  await keeper.open();
  t.equal(await sees(9_000), 0);
  other = 's9';
  t.same([await sees(10_001), await sees(20_001)], [0, 0], 'the first was one of a lost machine');
  t.equal(await sees(20_002), 1);
});

t.test('SCA-1 · a clock that is far off that of a shared journal takes nothing until it is right', async (t) => {
  let theirsMs = 1_000_000;
  const { local: _, ...journal } = openMemoryJournal(() => theirsMs);
  const noted: string[] = [];
  const refused: string[] = [];
  const keeper = createKeeper({
    open: async () => done(journal),
    owner: 'me',
    sessionTtlMs: 10_000_000,
    clock: { nowMs: () => 1_000_000, differs: (message) => noted.push(message) },
    refused: ({ message }) => refused.push(message),
  });
  theirsMs -= 86_400_000;
  t.match(await keeper.open(), { code: 'journal-clock', message: /clock is 86400 s ahead of/ });
  t.match(await keeper.commit(write), { kind: 'unavailable', fault: { code: 'journal-clock' } });
  t.equal(keeper.session(), undefined, 'nothing is taken');
  theirsMs = 1_000_000 + 60_000;
  t.equal(await keeper.open(), undefined);
  t.same(await keeper.commit(write), { kind: 'committed' });
  t.same(noted.splice(0), ["this machine's clock is 60 s behind that of the journal's database; synchronize both"]);
  theirsMs += 1;
  await keeper.beat();
  t.equal(refused.length, 1, 'it is looked at with each renewal');
  theirsMs = 1_000_000 + 5_000;
  t.equal(await keeper.open(), undefined);
  t.same(noted, []);
});

t.test('SCA-1 · SCA-2 · a gateway whose clock is found far off leaves the lead and its work to others', async (t) => {
  let mineMs = 1_000_000;
  const { local: _, ...journal } = openMemoryJournal(() => 1_000_000);
  const one = createKeeper({
    open: async () => done(journal),
    owner: 'one',
    sessionTtlMs: 10_000_000,
    clock: { nowMs: () => mineMs, differs: () => {} },
    refused: () => {},
  });
  t.equal(await one.open(), undefined);
  const { keeper: other } = await openKeeper(journal, 'other');
  const session = one.session() ?? '';
  t.equal(await one.seekLead(), true);
  await one.commit([{ kind: 'put', collection: 'runs', key: 'r', value: {}, dueAtMs: 1, heldBy: session }]);
  await one.beat();
  await other.beat();
  t.equal(await other.seekLead(), false);

  mineMs += 60_001;
  await one.beat();
  t.same([one.leads(), one.isElsewhere(session)], [false, false]);
  await other.beat();
  t.equal(await other.seekLead(), true);
  const query = { session: other.session() ?? '', dueBeforeMs: 1, limit: 9 };
  t.match(await journal.take('runs', query), { ok: true, value: [{ key: 'r' }] });

  t.match(await one.open(), { code: 'journal-clock' });
  const living = await journal.living();
  t.same(living.ok && living.value.map(({ owner }) => owner), ['other'], 'a further look leaves no session');
  mineMs -= 60_001;
  t.equal(await one.open(), undefined);
  t.same(await one.commit(write), { kind: 'committed' });
});

t.test('SCA-1 · a clock that is set takes nothing before it was compared with that of a shared journal', async (t) => {
  let mineMs = 1_000_000;
  const { local: _, ...journal } = openMemoryJournal(() => 1_000_000);
  const keeper = createKeeper({
    open: async () => done(journal),
    owner: 'me',
    sessionTtlMs: 10_000_000,
    clock: { nowMs: () => mineMs, differs: () => {} },
    steadyMs: () => 0,
    refused: () => {},
  });
  t.equal(await keeper.open(), undefined);
  for (const setMs of [36_000_000, -36_000_000]) {
    mineMs = 1_000_000 + setMs;
    t.equal(keeper.session(), undefined, 'no cron job is fired');
    t.match(await keeper.commit(write), { kind: 'unavailable', fault: { code: 'journal-clock', message: /was set/ } });
    mineMs = 1_000_000 + Math.sign(setMs) * 60_000;
    t.ok(keeper.session(), 'clocks may differ by so much');
  }
  mineMs = 1_000_000;
  t.same(await keeper.commit(write), { kind: 'committed' });
});

t.test('DUR-2 · keeping forgets history', async (t) => {
  const { keeper, journal } = stage();
  await keeper.open();
  await keeper.commit(write);
  await keeper.keep({ ...history, keepAfterKey: 'a' });
  t.ok(journal.local?.get('events', 'k'));
  await keeper.keep({ ...history, keepAfterKey: 'z' });
  t.equal(journal.local?.get('events', 'k'), undefined);
});

t.test('DUR-2 · SCA-1 · of the gateways on one journal the leader alone prunes it', async (t) => {
  const { local, ...shared } = openMemoryJournal();
  const [one, other] = [await openKeeper(shared, 'one'), await openKeeper(shared, 'other')].map(({ keeper }) => keeper);
  await one?.commit(write);
  t.ok(await one?.seekLead());
  t.equal(await other?.keep({ ...history, keepAfterKey: 'z' }), undefined);
  t.ok(local?.get('events', 'k'));
  let goesOn: (() => boolean) | undefined;
  const { prune } = shared;
  Object.assign(shared, {
    prune: (...[query, asked]: Parameters<typeof prune>) => {
      goesOn = asked;
      return prune(query);
    },
  });
  t.equal(await one?.keep({ ...history, keepAfterKey: 'z' }), undefined);
  t.equal(local?.get('events', 'k'), undefined);
  t.ok(goesOn?.());
  await one?.giveLead();
  t.notOk(goesOn?.(), 'and stops when it leads no longer');
});

t.test(
  'CON-2 · a journal that is still being opened as the gateway stops is closed as soon as it is open',
  async (t) => {
    let finish: (journal: Journal) => void = () => {};
    const keeper = createKeeper({
      open: () =>
        new Promise((resolve) => {
          finish = (journal) => resolve(done(journal));
        }),
      owner: 'me',
      sessionTtlMs: 60_000,
      refused: () => {},
    });
    const opening = keeper.open();
    await keeper.close();
    const journal = openMemoryJournal();
    finish(journal);
    t.match(await opening, { code: 'journal-unavailable' });
    t.match(await journal.probe(), { message: /closed/ });
    t.equal(keeper.journal(), undefined);
  },
);

t.test('DUR-1 · closing ends the session first, so that the next gateway finds its work free', async (t) => {
  const { keeper, journal } = stage();
  await keeper.open();
  const session = keeper.session() ?? '';
  const ended: string[] = [];
  const { endSession } = journal;
  Object.assign(journal, {
    endSession: (id: string) => {
      ended.push(id);
      return endSession(id);
    },
  });
  await keeper.close();
  t.same([ended, keeper.journal(), keeper.session()], [[session], undefined, undefined]);
});

t.test(
  'COA-3 · SCA-1 · where several may use a journal, the end of a run releases its group, and no other does',
  async (t) => {
    const memory = openMemoryJournal();
    const { local: _, ...shared } = memory;
    const { keeper } = await openKeeper(shared);
    const run = (key: string, dueAtMs: number | null): Write => ({
      kind: 'put',
      collection: 'runs',
      key,
      value: { group: 'g' },
      dueAtMs,
    });
    const open = (key: string) => keeper.commit([...inFlightClaim(keeper, 'g', key), run(key, 1)]);

    t.same(await open('r1'), { kind: 'committed' });
    t.match(await open('r2'), { kind: 'claimed', holder: { holder: 'r1' } });
    await keeper.commit([run('r0', null)]);
    t.match(await open('r2'), { kind: 'claimed' }, 'an earlier run of the group that ends again');
    await keeper.commit([run('r1', null)]);
    t.same(await open('r2'), { kind: 'committed' });
    t.same(inFlightClaim((await openKeeper(memory)).keeper, 'g', 'r3'), [], 'the group’s chart knows its run');
  },
);

t.test('SCA-1 · SCA-2 · one gateway leads, until its session may have ended for the others', async (t) => {
  let lostMs = 0;
  const { local: _, ...memory } = openMemoryJournal();
  const journal = { ...memory, lostMs: () => lostMs };
  let steadyMs = 0;
  const one = createKeeper({
    open: async () => done(journal),
    owner: 'one',
    sessionTtlMs: 10_000,
    steadyMs: () => steadyMs,
    refused: () => {},
  });
  t.equal(one.leads(), false, 'before its journal is open');
  await one.open();
  const { keeper: other } = await openKeeper(journal, 'other');
  await one.beat();
  t.same(one.place(), { of: 2, at: 0 });
  t.same(other.place(), { of: 2, at: 1 });
  t.same([await one.seekLead(), await one.seekLead(), await other.seekLead()], [true, false, false]);
  t.same([one.leads(), other.leads()], [true, false]);
  t.equal(one.isSure(), true);
  steadyMs = 7_000;
  t.same([one.leads(), one.isSure()], [true, false], 'time to close what may exist once');
  steadyMs = 10_000;
  t.equal(one.leads(), false, 'another could lead by now');
  t.equal(one.isSure(), false);
  await one.beat();
  t.equal(one.isSure(), true);
  t.equal(one.leads(), false, 'and may still, although the session lives');
  t.equal(await one.seekLead(), true);
  for (const [ms, leads, isSure] of [
    [499, true, true],
    [999, true, false],
    [1_000, false, false],
    [0, false, true],
  ] as const) {
    lostMs = ms;
    t.same([one.leads(), one.isSure()], [leads, isSure], `the connection of its session is lost for ${ms} ms`);
  }
  t.equal(await one.seekLead(), true, 'what it had to send is taken up anew');
  await journal.endSession(one.session() ?? '');
  await one.beat();
  t.same([one.isSure(), one.life()], [false, undefined], 'without a session');
  await other.beat();
  t.equal(await other.seekLead(), true, 'its lock ended with its session');
  const seeking = other.seekLead();
  await other.giveLead();
  t.same([await seeking, other.leads(), await other.seekLead()], [false, false, false], 'nor by a look under way');
  await one.open();
  t.same([await one.seekLead(), one.leads()], [true, true]);
  const { keeper: alone } = await openKeeper();
  t.same([alone.leads(), await alone.seekLead(), alone.isShared()], [true, false, false], 'a gateway alone leads');
  t.same([one.node(), alone.node()], ['one', undefined]);
  await alone.beat();
  await alone.giveLead();
  t.equal(alone.leads(), true);
});

t.test('SCA-1 · gateways go by the clock of their journal, which does not jump about', async (t) => {
  let theirsMs = 1_000;
  let askedMs = -100;
  const { local: _, ...journal } = openMemoryJournal(() => theirsMs);
  const keeper = createKeeper({
    open: async () => done(journal),
    owner: 'me',
    sessionTtlMs: 10_000_000,
    // Each answer is under way for 100 ms.
    clock: {
      nowMs() {
        askedMs += 100;
        return askedMs;
      },
      differs: () => {},
    },
    refused: () => {},
  });
  t.equal(await keeper.open(), undefined);
  t.equal(keeper.aheadMs(), 950);
  for (const [theirs, ahead] of [
    [1_160, 950],
    [1_200 + 1_000, 1_750],
  ] as const) {
    theirsMs = theirs;
    await keeper.beat();
    t.equal(keeper.aheadMs(), ahead);
  }
  t.equal((await openKeeper()).keeper.aheadMs(), 0);
});
