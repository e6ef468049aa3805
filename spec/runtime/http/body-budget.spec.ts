import t from 'tap';
import { type BodyBudget, createBodyBudget } from '../../../runtime/http/body-budget.ts';

/** Opens an account that grows by so many bytes; undefined where they do not fit. */
function taken(budget: BodyBudget, address: string, bytes: number) {
  const account = budget.open(() => address);
  return account?.grow(bytes) ? account : undefined;
}

const has = (account: unknown): boolean => account !== undefined;

t.test(
  'SEC-3 · all hold no more than the budget, one address no more than half, and what is freed can be taken',
  (t) => {
    const budget = createBodyBudget(() => 100);
    t.ok(taken(budget, 'a', 30));
    t.notOk(taken(budget, 'a', 30));
    t.ok(taken(budget, 'a', 20));
    const other = taken(budget, 'b', 50);
    t.notOk(taken(budget, 'c', 1));
    other?.close();
    t.same([taken(budget, 'c', 51), taken(budget, 'c', 50)].map(has), [false, true]);
    t.end();
  },
);

t.test('SEC-3 · a body that is larger than the budget is taken where it is alone, as it grows as well', (t) => {
  const budget = createBodyBudget(() => 10);
  const alone = budget.open(() => 'a', 40);
  t.ok(alone?.grow(30));
  t.ok(alone?.grow(10));
  t.notOk(taken(budget, 'b', 1));
  t.notOk(budget.open(() => 'b', 1));
  alone?.close();
  t.ok(taken(budget, 'b', 40));
  t.end();
});

t.test('SEC-3 · a declared length is refused where it does not fit, and holds 16 KiB until more has come', (t) => {
  const size = 1_048_576;
  const budget = createBodyBudget(() => 64 * size);
  const slow = Array.from({ length: 1_000 }, (_, at) => budget.open(() => `10.0.0.${at % 9}`, size));
  t.ok(slow.every(has), 'a sender that declares much and sends little leaves room');
  const honest = budget.open(() => '10.1.1.1', size);
  t.ok(honest?.grow(size));
  t.notOk(
    budget.open(() => '10.1.1.1', 32 * size),
    'beyond the half of its address',
  );
  t.notOk(
    budget.open(() => '10.1.1.2', 50 * size),
    'beyond what is left of all',
  );
  t.ok(
    slow.every((one) => one?.grow(16_384)),
    'the first 16 KiB are held already',
  );
  for (const one of [honest, ...slow]) one?.close();
  t.ok(budget.open(() => '10.1.1.2', 50 * size));
  t.end();
});

t.test('SEC-3 · senders behind a proxy on this machine share all of the budget, not half', (t) => {
  for (const address of [
    '127.0.0.1',
    '127.9.9.9',
    '::1',
    '::ffff:127.0.0.1',
    '0000:0000:0000:0000:0000:0000:0000:0001',
    '0000:0000:0000:0000:0000:ffff:7f00:0001',
  ]) {
    const budget = createBodyBudget(() => 100);
    const found = [60, 40, 1].map((bytes) => has(taken(budget, address, bytes)));
    t.same(found, [true, true, false], address);
  }
  t.end();
});

t.test('SEC-3 · a sender is an IPv4 address or an IPv6 network, however it is written', (t) => {
  const rows = [
    ['2001:db8:1:2::1', '2001:db8:1:2:ff::9', '2001:db8:1:3::1'],
    ['2001:db8::1', '2001:db8::2', '2001:db8:0:1::1'],
    ['2001:db8::1', '2001:0db8:0000:0000:0000:0000:0000:0002', '2001:0db8:0000:0001:0000:0000:0000:0001'],
    ['fe80::1%eth0', 'fe80:0:0:0:1::', 'fe80:0:0:1::1'],
    ['::ffff:10.0.0.1', '10.0.0.1', '::ffff:10.0.0.2'],
    ['0000:0000:0000:0000:0000:ffff:0a00:0001', '10.0.0.1', '0000:0000:0000:0000:0000:ffff:0a00:0002'],
  ] as const;
  for (const [first, same, other] of rows) {
    const budget = createBodyBudget(() => 100);
    const found = [first, same, other].map((address) => has(taken(budget, address, 40)));
    t.same(found, [true, false, true], first);
  }
  t.end();
});

t.test('SEC-3 · an address is asked for only while much is held, and what it held before counts', (t) => {
  const budget = createBodyBudget(() => 3_200);
  const asked: string[] = [];
  const open = (address: string, bytes: number) =>
    budget.open(() => {
      asked.push(address);
      return address;
    }, bytes);
  const [first, second] = [open('a', 50), open('a', 40)];
  second?.close();
  t.ok(first?.grow(100), 'all of it is a thirty-second of the budget');
  t.same(asked, []);
  const third = open('b', 10);
  t.same(asked, ['b', 'a'], 'not of the one that has ended');
  t.notOk(open('a', 1_501));
  t.ok(third?.grow(1_600));
  t.ok(open('a', 1_400), 'beside the hundred that it holds');
  t.same(asked, ['b', 'a', 'a', 'a']);
  t.end();
});
