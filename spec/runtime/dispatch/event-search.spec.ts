import t from 'tap';
import type { Journal, Write } from '../../../actors/store/journal.ts';
import { openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import type { DeliveryRecord, EventRecord } from '../../../machines/webhook/record.ts';
import type { EventNews, FoundEvents } from '../../../runtime/control/contract/events.ts';
import { createSearchEvents } from '../../../runtime/dispatch/event-search.ts';
import { createEventStats } from '../../../runtime/dispatch/event-stats.ts';
import { createRedactor } from '../../../runtime/observe/redact.ts';
import { timeKey } from '../../../runtime/system/ids.ts';
import { openKeeper } from '../../support/keeper.ts';
import { plainDelivery, plainEvent, plainRun } from '../../support/records.ts';
import { deferred } from '../../support/turns.ts';

const begunMs = 1_700_000_000_000;
const hourMs = 3_600_000;

/** A search over a journal, at a time that a spec sets. */
async function stage(journal: Journal = openMemoryJournal(), redact = createRedactor().record) {
  const { keeper } = await openKeeper(journal);
  const clock = { nowMs: begunMs };
  const waiting = new Map<string, string>();
  const ports = {
    seenRun: <Run>(_: string, run: Run): Run => run,
    runsThatWait: () => waiting,
    workOf: () => ({ questions: [{ kind: 'tool', server: 'deployer', tool: 'mcp__deployer__deploy' }] }),
    nowMs: () => clock.nowMs,
  };
  const refusedEvent: EventRecord = {
    ...plainEvent,
    deliveryId: 'stranger',
    status: 'refused',
    reason: 'no signature',
  };
  const turnedAway = [{ key: timeKey(begunMs - 1_000), event: refusedEvent }];
  const refused = { newestFirst: () => [...turnedAway] };
  const stats = createEventStats({ ...ports, keeper, refused });
  /** The readings so far; each waits for `allowed`. */
  const readings = { count: 0, allowed: Promise.resolve() };
  const read: typeof stats.read = async (...asked) => {
    readings.count += 1;
    await readings.allowed;
    return stats.read(...asked);
  };
  const events = createSearchEvents({ ...ports, stats: { ...stats, read }, journal: keeper.journal, redact });
  return {
    keeper,
    clock,
    readings,
    waiting,
    turnAway: (deliveryId: string) =>
      turnedAway.unshift({ key: timeKey(clock.nowMs), event: { ...refusedEvent, deliveryId } }),
    events,
    search: (q: string, range = 'all', limit = 100) => events.search({ q, range, limit }),
  };
}

let made = 0;
/** An event so long before the beginning, with its run. */
function came(beforeMs: number, more: object, run?: object): readonly Write[] {
  made += 1;
  const key = `${timeKey(begunMs - beforeMs)}${String(made).padStart(4, '0')}`;
  const work = run === undefined ? {} : { work: key };
  return [
    {
      kind: 'put',
      collection: 'events',
      key,
      value: { ...plainEvent, receivedAtMs: begunMs - beforeMs, ...work, ...more },
    },
    ...(run === undefined
      ? []
      : [{ kind: 'put', collection: 'runs', key, value: { ...plainRun, eventKey: key, ...run } } as const]),
  ];
}

const idsOf = ({ rows }: Pick<FoundEvents, 'rows'>): readonly string[] => rows.map(({ delivery_id }) => delivery_id);

t.test('SEC-1 · a search finds what is shown: no secret can be asked for letter by letter', async (t) => {
  const redactor = createRedactor();
  redactor.learn('Violet-Otter-81');
  const { keeper, search } = await stage(openMemoryJournal(), redactor.record);
  const body = '{"note":"set to Violet-Otter-81","api_token":"Lemon77"}';
  await keeper.commit(came(2_000, { deliveryId: 'held', body }));
  for (const q of ['"set to"', 'note set']) t.same(idsOf(await search(q)), ['held'], q);
  for (const q of ['violet', 'otter-81', 'set violet', 'lemon77', 'l lemon']) {
    const { rows, total } = await search(q);
    t.same([rows.length, total], [0, 0], q);
  }

  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  await keeper.commit(came(1_500, { deliveryId: 'form', headers, body: 'note=M%C3%BCller&key=Violet%2DOtter%2D81' }));
  const data = Buffer.from('{"emailAddress":"mona@example.com","key":"Violet-Otter-81"}').toString('base64');
  const message = JSON.stringify({ message: { data, messageId: '1' }, subscription: 's' });
  await keeper.commit(came(1_000, { deliveryId: 'mail', body: message }));
  t.same(idsOf(await search('müller')), ['form'], 'a form as it is shown');
  t.same(idsOf(await search('mona@example.com')), ['mail'], 'the data of Pub/Sub as it is shown');
  for (const q of ['violet%2d', data.slice(40, 80)]) t.same(idsOf(await search(q)), [], q);
});

t.test('OBS-1 · a secret that the end of a row’s text cuts is not shown in half', async (t) => {
  const redactor = createRedactor();
  redactor.learn('Violet-Otter-81-of-the-river');
  const { keeper, search } = await stage(openMemoryJournal(), redactor.record);
  const response = `${'x'.repeat(180)} Violet-Otter-81-of-the-river 😀`;
  await keeper.commit(came(2_000, {}, { status: 'delivered', response }));
  const { rows } = await search('');
  t.match(rows.at(-1), { result: /^x{180} \[redacted\] 😀$/ });
});

t.test('INS-4 · the row of a response of millions of characters is made from its beginning', async (t) => {
  const { record } = createRedactor();
  let longest = 0;
  const { keeper, search } = await stage(openMemoryJournal(), (row) => {
    longest = Math.max(longest, JSON.stringify(row).length);
    return record(row);
  });
  const rows: readonly (readonly [response: string, begins: RegExp])[] = [
    [`${'{\n'.repeat(1_000_000)}late`, /^\{$/],
    ['😀'.repeat(1_000_000), /^(?:😀){200}$/u],
    [`{\n${'x'.repeat(1_000_000)}`, /^x{200}$/],
  ];
  for (const [response] of rows)
    await keeper.commit(came(2_000, { deliveryId: 'one' }, { status: 'delivered', response }));
  t.match((await search('id:one')).rows, rows.map(([, result]) => ({ result })).reverse());
  t.ok(longest < 20_000, 'no more of it is redacted');
});

t.test('INS-4 · a search finds words in payloads, ids, routes, types and reasons, and obeys each filter', async (t) => {
  const { keeper, search, waiting } = await stage();
  await keeper.commit(
    came(
      5_000,
      { deliveryId: 'one', route: 'Stripe', body: '{"id":"Checkout_4411"}' },
      { status: 'delivered', endedAtMs: begunMs - 4_000, response: 'All is well\nmore' },
    ),
  );
  await keeper.commit(
    came(
      4_000,
      { deliveryId: 'two', event: 'pull_request.opened', scheme: 'github', deliver: 'team_chat_a' },
      { status: 'failed', reason: 'Slack: channel not found' },
    ),
  );
  const reason = 'cancelled by the page';
  await keeper.commit(came(3_500, { deliveryId: 'stopped' }, { status: 'cancelled', reason }));
  await keeper.commit(came(3_000, { deliveryId: 'three', status: 'ignored', reason: 'filter', replayOf: 'k' }));
  await keeper.commit(came(2_500, { deliveryId: 'unfired', status: 'cron', reason: 'the job is paused' }));
  const asking = came(2_000, { deliveryId: 'four', profile: 'work', node: 'eu-2' }, { status: 'running' });
  await keeper.commit(asking);
  const retrying = came(1_500, { deliveryId: 'five' }, { status: 'delivering' });
  const [{ key } = { key: '' }] = retrying.filter((write) => write.kind === 'put');
  await keeper.commit([
    ...retrying,
    { kind: 'put', collection: 'deliveries', key, value: { ...plainDelivery, status: 'waitingToRetry' }, dueAtMs: 1 },
  ]);
  for (const write of asking) if (write.kind === 'put') waiting.set(write.key, 'a1');

  const all = ['stranger', 'five', 'four', 'unfired', 'three', 'stopped', 'two', 'one'];
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ['', all],
    ['checkout_4411', ['one']],
    ['"channel NOT found"', ['two']],
    ['not found channel', ['two']],
    ['.*', []],
    ['route:stripe', ['one']],
    ['event:pull_request', ['two']],
    ['source:GitHub', ['two']],
    ['target:slack', ['five', 'two']],
    ['profile:work', ['four']],
    ['node:EU-2', ['four']],
    ['node:eu', []],
    ['id:th', ['three']],
    ['is:replay', ['three']],
    ['status:delivered status:ignored', ['unfired', 'three', 'stopped', 'one']],
    ['status:cancelled', ['stopped']],
    ['status:open', ['five', 'four']],
    ['status:waiting', ['four']],
    ['status:retrying', ['five']],
    ['status:refused signature', ['stranger']],
    ['status:failed', ['two']],
    ['status:failed checkout', []],
  ];
  for (const [q, wanted] of rows) {
    const found = await search(q);
    t.same(idsOf(found), wanted, q);
    t.equal(found.total, wanted.length, `the total of ${q}`);
    const drawn = found.buckets.reduce((sum, one) => sum + one.delivered + one.ignored + one.open + one.failed, 0);
    t.equal(drawn, wanted.length, `the buckets of ${q}`);
  }
  const { chips, counts, rows: found, oldest_at } = await search('status:open');
  t.same(chips, { open: 2, delivered: 1, failed: 1, refused: 1, unconfirmed: 0, ignored: 3, duplicate: 0 });
  t.same(counts, { open: 2, delivered: 0, failed: 0, ignored: 0 });
  t.match(found, [
    { status: 'retrying' },
    { status: 'running', question: 'a1', result: 'Waiting for your approval to call deployer.deploy' },
  ]);
  t.equal(oldest_at, new Date(begunMs - 5_000).toISOString());
  t.match((await search('id:one')).rows, [{ result: 'All is well', took_ms: 1_000 }]);
  waiting.clear();
  t.same(idsOf(await search('status:waiting')), [], 'a question that is answered is noticed without a commit');
});

t.test('DLV-5 · INS-4 · a row names the platform and the place of its delivery as people do', async (t) => {
  const { keeper, search } = await stage();
  const sent = (key: string, more: Partial<DeliveryRecord>): readonly Write[] => [
    { kind: 'put', collection: 'events', key, value: { ...plainEvent, deliveryId: key, work: key } },
    {
      kind: 'put',
      collection: 'deliveries',
      key,
      value: { ...plainDelivery, chat: '#deploys', ...more } as DeliveryRecord,
    },
  ];
  const [first, second] = [timeKey(begunMs - 2_000), timeKey(begunMs - 1_500)];
  await keeper.commit([
    ...sent(first, { status: 'failed', reason: 'slack: no such channel' }),
    ...sent(second, { status: 'delivered' }),
  ]);
  t.match(
    (await search('')).rows.filter(({ key }) => key === first || key === second),
    [{ result: 'Slack #deploys' }, { reason: 'slack: no such channel', place: 'Slack #deploys' }],
  );
});

t.test('INS-4 · pages follow each other without a gap, in any range, and what cannot be read is refused', async (t) => {
  const { keeper, events, search, clock } = await stage();
  for (let at = 0; at < 45; at += 1) {
    await keeper.commit(
      came(at * 600_000 + 10_000, { deliveryId: `d${at}`, status: at % 3 === 0 ? 'ignored' : 'duplicate' }),
    );
  }
  const wanted = Array.from({ length: 45 }, (_, at) => `d${at}`).filter((_, at) => at % 3 === 0);
  const got: string[] = [];
  for (let cursor: string | undefined, pages = 0; pages < 9; pages += 1) {
    const found = await events.search({ q: 'status:ignored', limit: 4, ...(cursor === undefined ? {} : { cursor }) });
    t.equal(found.total, wanted.length);
    got.push(...idsOf(found));
    cursor = found.cursor;
    if (cursor === undefined) break;
  }
  t.same(got, wanted);

  t.equal((await search('', '1h')).total, 7, 'six of the last hour and a refused request');
  const from = new Date(begunMs - 2 * hourMs).toISOString();
  const to = new Date(begunMs - hourMs).toISOString();
  const hour = await search('', `${from}..${to}`);
  t.equal(hour.total, 6);
  t.equal(hour.buckets.length, 31, 'of two minutes, since the hour begins within one');
  t.same([hour.from, hour.to], [from, to]);
  clock.nowMs += 24 * hourMs;
  t.equal((await search('', '1h')).total, 0, 'the hour moves on');
  await t.rejects(search('rute:x'), { code: 'search-unreadable', message: /no filter/ });
  for (const wrong of ['9h', '2026-02-30..', '2026-02-01..2026-02-30'])
    await t.rejects(search('', wrong), { code: 'search-unreadable', message: `"${wrong}" is no range; use 15m` });
});

t.test('INS-4 · a reading that would take too long says how far it came, and the next one continues', async (t) => {
  const journal = openMemoryJournal();
  let tick = (): void => {};
  const slow: Journal = {
    ...journal,
    get: (collection, key) => {
      if (collection === 'runs') tick();
      return journal.get(collection, key);
    },
  };
  const { keeper, search, events, clock } = await stage(slow);
  for (let at = 0; at < 300; at += 1)
    await keeper.commit(
      came(at * 20_000 + 10_000, { deliveryId: `d${at}`, body: at === 299 ? 'needle' : '' }, { status: 'delivered' }),
    );
  tick = () => {
    clock.nowMs += 20;
  };
  let asked = 0;
  let found = await search('needle');
  t.ok(
    found.counted_from !== undefined && found.counted_from > found.from,
    'the first answer names the time that it reached',
  );
  t.ok(found.cursor !== undefined, 'and where it continues');
  for (; found.counted_from !== undefined && asked < 50; asked += 1) found = await search('needle');
  t.ok(asked > 1 && asked < 50, `complete after ${asked} more`);
  t.same(idsOf(found), ['d299']);
  t.equal(found.cursor, undefined);

  const older: string[] = [];
  const last = timeKey(begunMs - 290 * 20_000);
  for (let cursor: string | undefined = last; cursor !== undefined && asked < 99; asked += 1) {
    const page: FoundEvents = await events.search({ q: 'status:delivered', limit: 100, cursor });
    older.push(...idsOf(page));
    cursor = page.cursor;
  }
  t.same(older, ['d290', 'd291', 'd292', 'd293', 'd294', 'd295', 'd296', 'd297', 'd298', 'd299']);
});

t.test('INS-4 · a reading stops at its time limit within a batch too, and counts each event once', async (t) => {
  const journal = openMemoryJournal();
  let reads = 0;
  let tick = (): void => {};
  const slow: Journal = {
    ...journal,
    get: (collection, key) => {
      if (collection === 'runs') {
        reads += 1;
        tick();
      }
      return journal.get(collection, key);
    },
  };
  const { keeper, search, clock } = await stage(slow);
  // Two batches, each within a span of 15 s, of which one alone is more than the limit of what is kept by itself allows.
  for (const beforeMs of [120_000, 180_000]) {
    for (let at = 0; at < 11_000; at += 100) {
      const hundred = Array.from({ length: 100 }, (_, nth) =>
        came(beforeMs + Math.floor((at + nth) / 3), { deliveryId: `b${beforeMs + at + nth}` }, { status: 'delivered' }),
      );
      await keeper.commit(hundred.flat());
    }
  }
  reads = 0;
  // The limit is reached after 100 events, and after 21,000.
  tick = () => {
    if (reads === 100 || reads === 21_000) clock.nowMs += 2_000;
  };
  let found = await search('', 'all');
  t.ok(reads < 400, `the first answer has read ${reads} runs`);
  t.strictSame([found.rows.length, ...idsOf(found).slice(0, 2)], [100, 'stranger', 'b120002']);
  found = await search('', 'all');
  t.ok(found.counted_from !== undefined && found.total > 20_000 && found.total < 22_000, `${found.total} so far`);
  found = await search('', 'all');
  t.strictSame([found.total, found.counted_from], [22_001, undefined], 'with the refused request');
});

t.test('INS-4 · a follower hears of new events and of those that change, and of nothing else', async (t) => {
  const { keeper, events, clock, turnAway } = await stage();
  const open = came(5_000, { deliveryId: 'old' }, { status: 'running' });
  await keeper.commit(open);
  const left = new AbortController();
  t.teardown(() => left.abort());
  const heard: EventNews[] = [];
  let resolve = (): void => {};
  const next = (): Promise<void> =>
    new Promise((done) => {
      resolve = done;
    });
  const first = await events.follow(
    { q: 'route:r' },
    (news) => {
      heard.push(news);
      resolve();
    },
    left.signal,
  );
  t.same([first.total, first.rows], [2, []]);

  let told = next();
  clock.nowMs += 1_000;
  await keeper.commit([
    ...came(-500, { deliveryId: 'new', status: 'ignored' }),
    ...came(-400, { deliveryId: 'other', route: 'x', status: 'ignored' }),
  ]);
  await told;
  t.same([heard[0]?.total, heard[0] && idsOf(heard[0])], [3, ['new']]);
  told = next();
  await keeper.commit(
    open.map((write) =>
      write.kind === 'put' && write.collection === 'runs'
        ? { ...write, value: { ...write.value, status: 'failed' } }
        : write,
    ),
  );
  await told;
  t.match(heard[1], { counts: { failed: 2, open: 0 }, rows: [{ delivery_id: 'old', status: 'failed' }] });
  t.equal(heard.length, 2);

  const ofFailed = new Promise<EventNews>((done) => {
    void events.follow({ q: 'status:failed' }, done, left.signal).then(() => {
      clock.nowMs += 1_000;
      turnAway('another stranger');
    });
  });
  told = next();
  const { rows, chips } = await ofFailed;
  t.same([rows, chips.refused], [[], 2], 'a refused request has another status');
  await told;
  t.same(heard[2] && idsOf(heard[2]), ['another stranger']);
});

t.test(
  'INS-4 · a follower hears how many rows of a batch are left out, and of what changes among them later',
  async (t) => {
    const { keeper, events } = await stage();
    const left = new AbortController();
    t.teardown(() => left.abort());
    const burst = Array.from({ length: 1_200 }, (_, at) => came(at, { deliveryId: `b${at}` }, { status: 'running' }));
    const heard: EventNews[] = [];
    const last = new Promise<void>((resolve) => {
      void events
        .follow(
          { range: '1h' },
          (news) => {
            heard.push(news);
            const [, run] = burst.at(-1) ?? [];
            if (heard.length === 1 && run?.kind === 'put' && run.collection === 'runs')
              void keeper.commit([{ ...run, value: { ...run.value, status: 'failed' } }]);
            if (heard.length === 2) resolve();
          },
          left.signal,
        )
        .then(() => keeper.commit(burst.flat()));
    });
    await last;
    const [first, second] = heard;
    t.match(first, { total: 1_201, left_out: 700 });
    t.same([first?.rows.length, first?.rows.at(-1)?.delivery_id], [500, 'b499']);
    t.same(second && idsOf(second), ['b1199']);
    t.equal(second?.left_out, undefined);
  },
);

t.test('INS-4 · followers of one search share its readings, and each hears until it leaves', async (t) => {
  const { keeper, events, readings } = await stage();
  await keeper.commit(came(5_000, { deliveryId: 'old', status: 'ignored' }));
  const allowed = deferred<void>();
  readings.allowed = allowed.promise;
  const followers = Array.from({ length: 20 }, () => ({ left: new AbortController(), news: deferred<EventNews>() }));
  t.teardown(() => {
    for (const { left } of followers) left.abort();
  });
  const begun = followers.map((one) =>
    events.follow({ q: 'route:r', range: '1h' }, (news) => one.news.resolve(news), one.left.signal),
  );
  await new Promise((turn) => setImmediate(turn));
  t.equal(readings.count, 1);
  allowed.resolve();
  for (const { total } of await Promise.all(begun)) t.equal(total, 2);

  const hear = async (deliveryId: string, hearing: typeof followers): Promise<void> => {
    await keeper.commit(came(0, { deliveryId, status: 'ignored' }));
    for (const { news } of hearing) t.same(idsOf(await news.promise), [deliveryId]);
  };
  await hear('first', followers);
  for (const { left } of followers.slice(1)) left.abort();
  const late = { left: new AbortController(), news: deferred<EventNews>() };
  t.teardown(() => late.left.abort());
  const joined = await events.follow({ q: 'route:r', range: '1h' }, late.news.resolve, late.left.signal);
  t.equal(joined.total, 3);
  await hear('second', [late]);
  const other = { left: new AbortController(), news: deferred<EventNews>() };
  t.teardown(() => other.left.abort());
  await events.follow({ q: 'route:x', range: '1h' }, other.news.resolve, other.left.signal);
  await keeper.commit(came(0, { deliveryId: 'elsewhere', route: 'x', status: 'ignored' }));
  t.same(idsOf(await other.news.promise), ['elsewhere'], 'another search is another reading');
});

t.test('INS-4 · followers whose first reading fails leave nothing to the next one', async (t) => {
  const { events, readings } = await stage();
  const left = new AbortController();
  t.teardown(() => left.abort());
  const follow = () => events.follow({ range: '1h' }, () => {}, left.signal);
  const away = deferred<void>();
  readings.allowed = away.promise;
  const begun = [follow(), follow()];
  away.reject(new Error('away'));
  for (const one of await Promise.allSettled(begun)) t.match(one, { status: 'rejected', reason: { message: 'away' } });
  readings.allowed = Promise.resolve();
  t.equal((await follow()).total, 1);
  t.equal(readings.count, 2);
});

t.test('INS-4 · a follower of many unfinished events hears of a new one alone', async (t) => {
  const { keeper, events } = await stage();
  const runs = Array.from({ length: 700 }, (_, at) => ({ status: at < 300 ? 'delivered' : 'running' }));
  await keeper.commit(runs.flatMap((run, at) => came(at * 10 + 10, {}, run)));
  const left = new AbortController();
  t.teardown(() => left.abort());
  const heard = new Promise<EventNews>((resolve) => {
    void events.follow({ q: 'route:r' }, resolve, left.signal).then(() => {
      void keeper.commit(came(0, { deliveryId: 'new', status: 'ignored' }));
    });
  });
  t.same(idsOf(await heard), ['new']);
});

t.test('INS-4 · a follower hears on after a time in which the journal could not be read', async (t) => {
  const journal = openMemoryJournal();
  let failed: (() => void) | undefined;
  const { keeper, events } = await stage({
    ...journal,
    async get(collection, key) {
      if (failed === undefined) return journal.get(collection, key);
      failed();
      throw new Error('away');
    },
  });
  const left = new AbortController();
  t.teardown(() => left.abort());
  let hear = (_: EventNews): void => {};
  const heard = new Promise<EventNews>((resolve) => {
    hear = resolve;
  });
  await events.follow({ range: '1h' }, hear, left.signal);

  const lost = new Promise<void>((resolve) => {
    failed = resolve;
  });
  await keeper.commit(came(4_000, { deliveryId: 'meanwhile', status: 'ignored' }));
  await lost;
  failed = undefined;
  t.same(idsOf(await heard), ['meanwhile'], 'also the first event of all');
});
