import t from 'tap';
import { createSignIns, mayStay } from '../../../runtime/inspector/sign-in.ts';

const users = [
  { name: 'maya', password: 'maya-signs-in-0123' },
  { name: 'noor', password: 'noor-signs-in-0123', role: 'reader' as const },
];

t.test('SEC-1 · who signs in is who the configuration says; wrong ones are counted by name and by sender', (t) => {
  let nowMs = 0;
  const signIns = createSignIns(users, () => nowMs);
  const kindOf = (name: string, password: string, sender = 's'): string =>
    signIns.judge({ name, password, sender }).kind;
  t.match(signIns.judge({ name: 'maya', password: 'maya-signs-in-0123', sender: 's' }), { guest: { who: 'maya' } });
  t.match(signIns.judge({ name: 'noor', password: 'noor-signs-in-0123', sender: 's' }), { guest: { role: 'reader' } });
  for (const [name, password] of [
    ['maya', 'noor-signs-in-0123'],
    ['maya', ''],
    ['nobody', ''],
    ['nobody', 'maya-signs-in-0123'],
    ['Maya', 'maya-signs-in-0123'],
  ] as const) {
    t.equal(kindOf(name, password), 'wrong', name);
  }
  for (let count = 0; count < 5; count += 1) t.equal(kindOf('x', 'x'), 'wrong');
  t.match(signIns.judge({ name: 'maya', password: 'maya-signs-in-0123', sender: 's' }), { kind: 'later', seconds: 60 });
  t.equal(kindOf('noor', 'noor-signs-in-0123', 'another'), 'guest', 'of another sender');
  for (let count = 0; count < 10; count += 1) kindOf('noor', 'x', `sender ${count}`);
  t.equal(kindOf('noor', 'noor-signs-in-0123', 'a third'), 'later', 'one name from many senders');
  t.equal(
    kindOf('noor', 'noor-signs-in-0123', 'another'),
    'guest',
    'no stranger keeps a user out from where she was in',
  );
  for (let count = 0; count < 10; count += 1) kindOf('noor', 'x', 'another');
  t.equal(kindOf('noor', 'noor-signs-in-0123', 'another'), 'later', 'nor is there more to guess from there');
  nowMs = 60_000;
  t.equal(kindOf('maya', 'maya-signs-in-0123'), 'guest', 'a minute later');
  t.end();
});

t.test('SEC-1 · the name of a user alone is repeated: people type their password there', (t) => {
  const signIns = createSignIns(users, () => 0);
  t.same(signIns.judge({ name: 'maya', password: 'x', sender: 's' }), { kind: 'wrong', who: 'maya' });
  t.same(signIns.judge({ name: 'maya-signs-in-0123', password: '', sender: 's' }), { kind: 'wrong' });
  for (let count = 0; count < 8; count += 1) signIns.judge({ name: 'x', password: '', sender: 's' });
  t.same(signIns.judge({ name: 'maya-signs-in-0123', password: '', sender: 's' }), { kind: 'later', seconds: 60 });
  t.end();
});

t.test('SEC-1 · a session goes on while its user has the same password and role; one of a link always does', (t) => {
  const verdict = createSignIns(users, () => 0).judge({ name: 'noor', password: 'noor-signs-in-0123', sender: 's' });
  const guest = verdict.kind === 'guest' ? verdict.guest : { who: '' };
  t.notMatch(JSON.stringify(guest), /noor-signs/);
  t.equal(mayStay(guest, users), true);
  for (const changed of [
    [],
    [{ name: 'noor', password: 'another-of-noor-01', role: 'reader' as const }],
    [{ name: 'noor', password: 'noor-signs-in-0123' }],
    [{ name: 'maya', password: 'noor-signs-in-0123', role: 'reader' as const }],
  ]) {
    t.equal(mayStay(guest, changed), false);
  }
  t.equal(mayStay({ who: 'noor', role: 'reader' }, []), true);
  t.end();
});
