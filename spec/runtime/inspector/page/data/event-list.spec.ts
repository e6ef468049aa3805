import t from 'tap';
import type { EventFound } from '../../../../../runtime/control/contract/events.ts';
import {
  beforeGap,
  collectEvents,
  type EventList,
  maxHeld,
  withNews,
  withOlder,
} from '../../../../../runtime/inspector/page/data/event-list.ts';
import { outcomeOfRow, shortIdOf } from '../../../../../runtime/inspector/page/data/event-words.ts';
import { formatTime, formatTook } from '../../../../../runtime/inspector/page/data/format.ts';
import { fc } from '../../../../support/property.ts';

const row = (key: number, more: Partial<EventFound> = {}): EventFound => ({
  key: String(key).padStart(6, '0'),
  delivery_id: `d${key}`,
  route: 'r',
  profile: 'default',
  event: 'push',
  status: 'delivered',
  received_at: '2026-01-01T00:00:00.000Z',
  attempts: 1,
  ...more,
});
const keysOf = ({ rows }: EventList): readonly string[] => rows.map(({ key }) => key);

t.test('INS-4 · rows are joined newest first, each once, and none comes below the last that was asked for', (t) => {
  fc.assert(
    fc.property(fc.array(fc.array(fc.nat(60), { maxLength: 6 }), { maxLength: 8 }), (batches) => {
      let list: EventList = { rows: [row(30), row(20)], cursor: row(20).key };
      for (const batch of batches)
        list = withNews(
          list,
          batch.map((key) => row(key)),
        );
      const keys = keysOf(list);
      t.same(keys, [...new Set(keys)].sort().reverse());
      t.equal(keys.at(-1), row(20).key);
      t.same(new Set(keys), new Set([30, 20, ...batches.flat().filter((key) => key > 20)].map((key) => row(key).key)));
    }),
  );
  const list: EventList = { rows: [row(9)], cursor: row(9).key };
  const older = withOlder(list, { rows: [row(8), row(7)] }, row(9).key) ?? { rows: [] };
  t.same([keysOf(older).length, older.cursor], [3, undefined]);
  const news = [row(12), row(11)];
  const shorter = withNews(beforeGap(list, news), news);
  t.equal(withOlder(shorter, { rows: [row(8)] }, row(9).key), undefined, 'news have ended the list above these rows');
  t.same(
    keysOf(withNews(older, [row(1)])),
    [9, 8, 7, 1].map((key) => row(key).key),
    'all is listed, so none is too old',
  );
  t.end();
});

t.test('INS-4 · below news that leaves out rows, the list ends, and is read again from there', (t) => {
  const listed = (list: EventList): readonly unknown[] => [keysOf(list).map(Number), list.cursor];
  const after = (list: EventList, ...keys: readonly number[]): readonly unknown[] => {
    const news = keys.map((key) => row(key));
    return listed(withNews(beforeGap(list, news), news));
  };
  const list: EventList = { rows: [row(30), row(20)], cursor: row(20).key };
  t.same(after(list, 50, 40), [[50, 40], row(40).key]);
  t.same(after(list, 50, 25), [[50, 30, 25], row(25).key]);
  t.same(after(list, 50, 20, 10), [[50, 30, 20], row(20).key], 'what is left out is below the list');
  t.same(after({ rows: [] }, 50, 40), [[50, 40], row(40).key]);
  t.same(after({ rows: [row(30)] }, 50, 10), [[50, 30, 10], row(10).key]);
  t.end();
});

t.test('INS-4 · rows that the range has left behind are dropped, and then there is nothing older to read', (t) => {
  const at = (minute: number): string => `2026-01-01T00:0${minute}:00.000Z`;
  const rowAt = (minute: number): EventFound => row(minute, { received_at: at(minute) });
  const list: EventList = { rows: [5, 4, 3].map(rowAt), cursor: row(3).key };

  t.same(withNews(list, [], at(3)), list);
  const later = withNews(list, [], at(4));

  t.same([keysOf(later), later.cursor], [[row(5).key, row(4).key], undefined]);
  t.same(
    keysOf(withNews(later, [rowAt(6), rowAt(3)], at(4))),
    [6, 5, 4].map((minute) => row(minute).key),
  );
  t.end();
});

t.test('INS-4 · a row that changes keeps its place, and the oldest are let go beyond a bound', (t) => {
  const alike = { count: 2, first_key: 'first', first_at: '', last_at: '' };
  const refused = withNews({ rows: [row(5, { alike })] }, [row(9, { alike: { ...alike, count: 3 } })]);
  t.match(refused.rows, [{ key: row(9).key, alike: { count: 3 } }], 'equal refused requests stay one row');
  const full: EventList = { rows: Array.from({ length: maxHeld }, (_, at) => row(maxHeld - at)) };
  const more = withNews(full, [row(maxHeld + 1)]);
  t.same([more.rows.length, more.cursor], [maxHeld, row(2).key]);
  t.end();
});

t.test(
  'INS-4 · the newest rows that match are collected over a fixed range, to a bound, a stop or a failure',
  async (t) => {
    const answer = (rows: readonly EventFound[], cursor?: string) => ({
      ...{ from: 'a', to: 'b', rows },
      ...(cursor === undefined ? {} : { cursor }),
    });
    const pages = [answer([row(9), row(8)], '8'), answer([], '5'), answer([row(4), row(3)])];
    const run = async (max: number, ends?: { readonly stopAt?: number; readonly failAt?: number }) => {
      const asked: object[] = [];
      const stop = new AbortController();
      const { rows, ...rest } = await collectEvents(
        async (page) => {
          asked.push(page);
          if (asked.length - 1 === ends?.failAt) throw 'failed';
          if (asked.length - 1 === ends?.stopAt) stop.abort();
          return page.limit === 0 ? answer([]) : (pages[asked.length - 2] ?? answer([]));
        },
        { range: '1h', max, signal: stop.signal, heard: () => {} },
      );
      return { asked, rows: rows.map(({ key }) => Number(key)), ...rest };
    };
    const fixed = { range: 'a..b', limit: 1_000 };

    t.same(await run(10), {
      asked: [{ range: '1h', limit: 0 }, fixed, { ...fixed, cursor: '8' }, { ...fixed, cursor: '5' }],
      rows: [9, 8, 4, 3],
      isAll: true,
    });
    t.match(await run(3), { rows: [9, 8, 4], isAll: false });
    t.match(await run(2), { asked: { length: 2 }, rows: [9, 8], isAll: false });
    t.match(await run(10, { stopAt: 2 }), { asked: { length: 3 }, rows: [9, 8], isAll: false });
    t.match(await run(10, { failAt: 3 }), { rows: [9, 8], isAll: false, error: 'failed' });
  },
);

t.test('INS-4 · outcomes, ids and times are short and plain', (t) => {
  t.equal(outcomeOfRow(row(1, { status: 'unknown' })).words, 'Unconfirmed');
  t.equal(outcomeOfRow(row(1, { status: 'running', question: 'a1' })).words, 'Waiting for you');
  t.same(
    [
      '72d3162e-cc78-11e3',
      'order-7544',
      'evt_1PqRsT2eZvKYlo2C0000001',
      'cron-6af4bebe27f8-0mwz9fahx0000fg1z0',
      'cron-6af4bebe27f8-20261128T040530Z',
    ].map(shortIdOf),
    ['72d3162e', 'order-7544', 'evt_…00001', '0mwz9fahx', '28T040530'],
  );
  const durations: readonly (readonly [number, string])[] = [
    [9, '9 ms'],
    [999.7, '999 ms'],
    [2_000, '2 s'],
    [12_449, '12.4 s'],
    [59_999, '59.9 s'],
    [200_000, '3 m 20 s'],
    [7_200_000, '2 h'],
    [525_600_000, '6 d 2 h'],
  ];
  for (const [ms, words] of durations) t.equal(formatTook(ms), words);
  t.match(formatTime('2026-11-21T14:02:30', 15_000), /^14:02:30$/);
  t.match(formatTime('2026-11-21T14:02:30', 60_000), /^14:02$/);
  t.match(formatTime('2026-11-21T14:02:30', 3_600_000), /^21 Nov 14:02$/);
  t.end();
});
