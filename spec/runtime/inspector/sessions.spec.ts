import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Logger } from '../../../actors/ports.ts';
import { createSessionFile } from '../../../runtime/inspector/session-file.ts';
import {
  createPageSessions,
  inviteLifeMs,
  type PageSession,
  type PageSessions,
  sessionLifeMs,
} from '../../../runtime/inspector/sessions.ts';
import { makeHome } from '../../support/home.ts';
import { eventually } from '../../support/mcp/gateway.ts';

const quiet: Logger = { log: () => {}, warnOnce: () => {} };
const forgetful = { load: () => [], save: () => {} };

function opened(sessions: PageSessions, token: string): PageSession {
  return sessions.open(token) ?? { id: '', key: '' };
}

t.test('INS-2 · a link opens one session, once, and not after its time', async (t) => {
  let nowMs = 1_000;
  const sessions = createPageSessions(() => nowMs, forgetful);
  const token = sessions.invite();
  const late = sessions.invite();

  t.equal(sessions.invites(token), true);
  t.equal(sessions.invites('made up'), false);
  const { id, key } = opened(sessions, token);

  t.equal(sessions.knows(id), true);
  t.equal(sessions.opens(id, key), true, 'asking for a link left it as it was');
  t.equal(sessions.knows(token), false, 'the link itself is no session');
  t.equal(sessions.open(token), undefined, 'it works once');
  nowMs += inviteLifeMs;
  t.equal(sessions.invites(late), false);
  t.equal(sessions.open(late), undefined, 'it is too old');
  t.equal(sessions.open('made up'), undefined);
  nowMs += sessionLifeMs;
  t.equal(sessions.knows(id), false, 'a session ends');
  t.equal(sessions.opens(id, key), false);
});

t.test('INS-2 · what the cookie carries opens nothing without the key, and the key is of one session', async (t) => {
  const sessions = createPageSessions(Date.now, forgetful);
  const mine = opened(sessions, sessions.invite());
  const other = opened(sessions, sessions.invite());
  t.equal(sessions.opens(mine.id, mine.key), true);
  for (const key of ['', mine.id, other.key, other.id]) t.equal(sessions.opens(mine.id, key), false);
  t.equal(sessions.opens(mine.key, mine.key), false);
});

t.test('INS-2 · sessions outlive the process, by their digests in a private file; links do not', async (t) => {
  const path = join(makeHome(t).path, 'state', 'inspector-sessions.json');
  const first = createPageSessions(
    Date.now,
    createSessionFile(() => path, quiet),
  );
  const { id, key } = opened(first, first.invite());
  const unused = first.invite();
  const text = await eventually(() => {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return undefined;
    }
  });

  const second = createPageSessions(
    Date.now,
    createSessionFile(() => path, quiet),
  );

  t.equal(second.opens(id, key), true);
  t.equal(second.open(unused), undefined);
  t.notMatch(text, id);
  t.notMatch(text, key);
  t.equal(statSync(path).mode & 0o777, 0o600);
});

t.test('INS-2 · a damaged file of sessions lets nobody in and breaks nothing', async (t) => {
  for (const text of ['', '{', '[]', 'null', '{"x":"y"}']) {
    const { path } = makeHome(t, { 'sessions.json': text });
    const { load } = createSessionFile(() => join(path, 'sessions.json'), quiet);
    const sessions = createPageSessions(Date.now, { load, save: () => {} });
    t.equal(sessions.knows('x'), false, text);
    t.equal(sessions.knows(opened(sessions, sessions.invite()).id), true, 'a fresh link opens one');
  }
});
