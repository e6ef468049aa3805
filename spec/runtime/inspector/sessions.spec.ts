import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Logger } from '../../../actors/ports.ts';
import { daemonProofText, pageProofText } from '../../../machines/base/page-proof.ts';
import { createSessionFile } from '../../../runtime/inspector/session-file.ts';
import {
  createPageSessions,
  freshMs,
  type PageSession,
  type PageSessions,
  type SessionKeep,
  sessionLifeMs,
} from '../../../runtime/inspector/sessions.ts';
import { makeHome } from '../../support/home.ts';
import { hmacOf } from '../../support/inspector.ts';
import { lentTime } from '../../support/lent-time.ts';
import { eventually } from '../../support/mcp/gateway.ts';

const quiet: Logger = { log: () => {}, warnOnce: () => {} };
const forgetful: SessionKeep = { load: () => [], save: () => Promise.resolve(true) };
const origin = 'http://127.0.0.1:8645';

function opened(sessions: PageSessions, token = sessions.invite()): PageSession {
  return sessions.open(token, origin) ?? { id: '', key: '' };
}

/** What a page proves for a session, by the nonce that it is given. */
function proofOf(sessions: PageSessions, { id, key }: PageSession, at = origin): string {
  const { nonce = '' } = sessions.introduce({ id, origin }, 'c') ?? {};
  return hmacOf(key, pageProofText({ id, origin: at, nonce }));
}

/** A session file in a home of the spec. */
function fileOf(t: Test): { readonly path: string; readonly keep: () => SessionKeep } {
  const path = join(makeHome(t).path, 'state', 'inspector-sessions.json');
  return { path, keep: () => createSessionFile(() => path, quiet) };
}

t.test('INS-2 · SEC-1 · a link opens one session, once, within five minutes; it lasts 12 hours', (t) => {
  let nowMs = 1_000;
  const used: string[] = [];
  const sessions = createPageSessions(() => nowMs, forgetful);
  const token = sessions.invite(() => used.push('used'));
  const late = sessions.invite(() => used.push('late'));
  t.equal(sessions.invites(token), true);
  t.equal(sessions.invites('made up'), false);

  const session = opened(sessions, token);

  const claim = { id: session.id, origin };
  const proof = proofOf(sessions, session);
  t.same(used, ['used']);
  t.equal(sessions.proves(claim, proof), true, 'asking for a link left it as it was');
  t.equal(sessions.knows({ id: token, origin }), false, 'the link itself is no session');
  t.equal(sessions.open(token, origin), undefined, 'it works once');
  nowMs += 299_999;
  t.equal(sessions.invites(late), true);
  nowMs += 1;
  t.equal(sessions.invites(late), false);
  t.equal(sessions.open(late, origin), undefined, 'it is too old');
  t.equal(sessions.open('made up', origin), undefined);
  t.same(used, ['used']);
  nowMs = 1_000 + 12 * 3_600_000 - 1;
  t.equal(sessions.proves(claim, proof), true);
  nowMs += 1;
  t.equal(sessions.knows(claim), false, 'a session ends');
  t.equal(sessions.proves(claim, proof), false);
  t.equal(sessions.introduce(claim, 'c'), undefined);
  nowMs = 1_000 - sessionLifeMs;
  t.equal(sessions.knows(claim), false, 'nor does a clock that was set back make it longer');
  t.end();
});

t.test('SEC-1 · of the links that nothing has opened, the newest 16 work', (t) => {
  const sessions = createPageSessions(() => 0, forgetful);
  const links = Array.from({ length: 17 }, () => sessions.invite());
  t.same(
    links.map((link) => sessions.invites(link)),
    links.map((_, index) => index > 0),
  );
  t.end();
});

t.test('SEC-1 · a person who signs in again and again ends own sessions, and no other’s', (t) => {
  const sessions = createPageSessions(Date.now, forgetful);
  const mine = opened(sessions);
  const ada = sessions.admit({ who: 'ada', signedBy: 'other digest' }, origin);
  const [first, ...others] = Array.from({ length: 65 }, () =>
    sessions.admit({ who: 'noor', role: 'reader', signedBy: 'digest' }, origin),
  );
  for (const { id } of [mine, ada]) t.equal(sessions.knows({ id, origin }), true);
  t.equal(sessions.knows({ id: first?.id ?? '', origin }), false);
  t.equal(others.filter(({ id }) => sessions.knows({ id, origin })).length, 8);
  t.end();
});

t.test('SEC-1 · the sessions of guests that may not stay end, on disk too, and no others', (t) => {
  let saved: readonly string[] = [];
  const save: SessionKeep['save'] = (sessions) => {
    saved = [...sessions].map(([, { who }]) => who);
    return Promise.resolve(true);
  };
  const sessions = createPageSessions(Date.now, { ...forgetful, save });
  const admitted = ['maya', 'ada'].map((who) => sessions.admit({ who, signedBy: 'digest' }, origin));
  sessions.endGuests(({ who }) => who === 'ada');
  t.same(saved, ['ada']);
  t.same(
    admitted.map(({ id }) => sessions.knows({ id, origin })),
    [false, true],
  );
  t.end();
});

t.test('SEC-1 · a proof is of one session, one address and one process, and a page’s is no daemon’s', (t) => {
  const sessions = createPageSessions(Date.now, forgetful);
  const mine = opened(sessions);
  const other = opened(sessions);
  const claim = { id: mine.id, origin };
  const right = proofOf(sessions, mine);
  const { nonce = '', proof: introduced = '' } = sessions.introduce(claim, 'the challenge') ?? {};
  t.equal(sessions.proves(claim, right), true);
  t.equal(introduced, hmacOf(mine.key, daemonProofText({ ...claim, nonce }, 'the challenge')));
  const wrong = {
    nothing: '',
    'the id': mine.id,
    'the key itself': mine.key,
    'the proof of another session': proofOf(sessions, other),
    'a proof by another key': hmacOf(other.key, pageProofText({ ...claim, nonce })),
    'a proof for another address': proofOf(sessions, mine, 'http://127.0.0.1:9000'),
    'a proof over another nonce': hmacOf(mine.key, pageProofText({ ...claim, nonce: `${nonce}x` })),
    'the daemon’s proof': introduced,
    'more than the proof': `${right}AAAA`,
    'a part of it': right.slice(0, 20),
  };
  for (const [says, proof] of Object.entries(wrong)) t.equal(sessions.proves(claim, proof), false, says);
  t.equal(sessions.proves({ id: other.id, origin }, right), false);
  t.equal(sessions.knows({ id: mine.id, origin: 'http://127.0.0.1:9000' }), false, 'a session is of one address');
  t.equal(sessions.introduce({ id: mine.key, origin }, 'c'), undefined);
  t.end();
});

t.test('SEC-1 · sessions outlive the process, proofs and links do not, and the file opens nothing', async (t) => {
  const { path, keep } = fileOf(t);
  const first = createPageSessions(Date.now, keep());
  const session = opened(first);
  const claim = { id: session.id, origin };
  const old = proofOf(first, session);
  const unused = first.invite();
  const text = await eventually(() => {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return undefined;
    }
  });

  const second = createPageSessions(Date.now, keep());

  t.equal(second.knows(claim), true);
  t.equal(second.proves(claim, old), false, 'what an earlier process heard');
  t.equal(second.proves(claim, proofOf(second, session)), true);
  t.equal(second.open(unused, origin), undefined);
  t.notMatch(text, session.id, 'the cookie is not in it');
  for (const digest of Object.keys(JSON.parse(text))) t.equal(second.knows({ id: digest, origin }), false);
  t.equal(statSync(path).mode & 0o777, 0o600);
});

t.test('SEC-1 · the page learns whose session it has, what that may do, and whether a password opened it', (t) => {
  const sessions = createPageSessions(Date.now, forgetful);
  const reader = sessions.admit({ who: 'noor', role: 'reader', signedBy: 'digest' }, origin);
  t.match(sessions.introduce({ id: reader.id, origin }, 'c'), { who: 'noor', role: 'reader', isByPassword: true });
  const owner = sessions.introduce({ id: opened(sessions).id, origin }, 'c') ?? {};
  t.match(owner, { who: 'owner' });
  t.notOk('role' in owner || 'isByPassword' in owner);
  t.end();
});

t.test('SEC-1 · a session is fresh for ten minutes after its link was opened', (t) => {
  let nowMs = 5_000;
  const sessions = createPageSessions(() => nowMs, forgetful);
  const claim = { id: opened(sessions).id, origin };
  t.equal(freshMs, 600_000);
  t.equal(sessions.isFresh(claim), true);
  nowMs += freshMs - 1;
  t.equal(sessions.isFresh(claim), true);
  nowMs += 1;
  t.equal(sessions.isFresh(claim), false);
  t.equal(sessions.knows(claim), true);
  t.equal(sessions.isFresh({ id: 'made up', origin }), false);
  t.end();
});

t.test('SEC-1 · a clock that is set back makes no session, link or freshness last longer', (t) => {
  const openedMs = 100 * sessionLifeMs;
  for (const [backMs, isKept] of [
    [59_000, true],
    [60_000, true],
    [60_001, false],
    [sessionLifeMs - 1, false],
  ] as const) {
    let nowMs = openedMs;
    const saved: number[] = [];
    const save: SessionKeep['save'] = (kept) => Promise.resolve(saved.push([...kept].length) > 0);
    const sessions = createPageSessions(() => nowMs, { ...forgetful, save });
    const claim = { id: opened(sessions).id, origin };
    const link = sessions.invite();
    const ended: string[] = [];
    sessions.onEnd(claim, () => ended.push('stream'));
    nowMs = openedMs - backMs;

    t.equal(sessions.invites(link), isKept, `${backMs}`);
    t.equal(sessions.isFresh(claim), isKept);
    t.equal(sessions.knows(claim), isKept);
    t.same(ended, isKept ? [] : ['stream']);
    t.same(saved, isKept ? [1] : [1, 0], 'it is gone from the file');
    nowMs = openedMs;
    t.equal(sessions.knows(claim), isKept, 'and does not come back');
  }
  t.end();
});

t.test('SEC-1 · all sessions and links end at once, on disk too, and what they hold open is ended', async (t) => {
  const { path, keep } = fileOf(t);
  const sessions = createPageSessions(Date.now, keep());
  const [one, other] = [opened(sessions), opened(sessions)];
  const link = sessions.invite();
  const ended: string[] = [];
  sessions.onEnd({ id: one.id, origin }, () => ended.push('stream'));
  const release = sessions.onEnd({ id: other.id, origin }, () => ended.push('released'));
  release();

  t.same(await sessions.endAll(), { count: 2, isKept: true });

  t.same(ended, ['stream']);
  for (const { id } of [one, other]) t.equal(sessions.knows({ id, origin }), false);
  t.equal(sessions.invites(link), false);
  t.equal(readFileSync(path, 'utf8'), '{}', 'the write of the opening did not come after');
  t.same(await sessions.endAll(), { count: 0, isKept: true });
});

t.test('SEC-1 · what a session holds open ends with its time', (t) => {
  const time = lentTime(t);
  const sessions = createPageSessions(Date.now, forgetful);
  const { id } = opened(sessions);
  const ended: string[] = [];
  time.pass(sessionLifeMs - 1_000);
  const timers = t.capture(globalThis, 'setTimeout', globalThis.setTimeout);
  sessions.onEnd({ id, origin }, () => ended.push('stream'));
  time.pass(400);
  for (let n = 0; n < 9; n += 1) sessions.onEnd({ id, origin }, () => ended.push('question'))();
  t.equal(timers().length, 1, 'Node keeps a list for each duration until its time is over');
  time.pass(500);
  t.same(ended, []);
  time.pass(100);
  t.same(ended, ['stream']);
  t.end();
});

t.test('SEC-1 · a file that cannot be written is reported', async (t) => {
  const home = makeHome(t, { state: 'a file where the folder should be' });
  const warned: string[] = [];
  const log: Logger = { log: () => {}, warnOnce: (_, message) => void warned.push(message) };
  const sessions = createPageSessions(
    Date.now,
    createSessionFile(() => join(home.path, 'state', 'inspector-sessions.json'), log),
  );
  opened(sessions);

  t.same(await sessions.endAll(), { count: 1, isKept: false });
  t.match(warned[0], /cannot be written/);
});

t.test('INS-2 · a damaged file of sessions admits no one and breaks nothing', (t) => {
  const session = '{"key":"k","origin":"http://127.0.0.1:8645","openedMs":"soon"}';
  for (const text of ['', '{', '[]', 'null', '{"x":"y"}', '{"x":9e15}', `{"x":${session}}`]) {
    const { path } = makeHome(t, { 'sessions.json': text });
    const { load } = createSessionFile(() => join(path, 'sessions.json'), quiet);
    const sessions = createPageSessions(Date.now, { ...forgetful, load });
    t.equal(sessions.knows({ id: 'x', origin }), false, text);
    t.equal(sessions.knows({ id: opened(sessions).id, origin }), true, 'a fresh link opens one');
  }
  t.end();
});
