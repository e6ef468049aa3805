import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Logger } from '../../../actors/ports.ts';
import { createSessionFile } from '../../../runtime/inspector/session-file.ts';
import { createPageSessions, inviteLifeMs, sessionLifeMs } from '../../../runtime/inspector/sessions.ts';
import { makeHome } from '../../support/home.ts';
import { eventually } from '../../support/mcp/gateway.ts';

const quiet: Logger = { log: () => {}, warnOnce: () => {} };
const forgetful = { load: () => [], save: () => {} };

t.test('INS-2 · a link opens one session, once, and not after its time', async (t) => {
  let nowMs = 1_000;
  const sessions = createPageSessions(() => nowMs, forgetful);
  const token = sessions.invite();
  const late = sessions.invite();

  const id = sessions.open(token) ?? '';

  t.equal(sessions.knows(id), true);
  t.equal(sessions.knows(token), false, 'the link itself is no session');
  t.equal(sessions.open(token), undefined, 'it works once');
  nowMs += inviteLifeMs;
  t.equal(sessions.open(late), undefined, 'it is too old');
  t.equal(sessions.open('made up'), undefined);
  nowMs += sessionLifeMs;
  t.equal(sessions.knows(id), false, 'a session ends');
});

t.test('INS-2 · sessions outlive the process, by their digests in a private file; links do not', async (t) => {
  const path = join(makeHome(t).path, 'state', 'inspector-sessions.json');
  const first = createPageSessions(
    Date.now,
    createSessionFile(() => path, quiet),
  );
  const id = first.open(first.invite()) ?? '';
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

  t.equal(second.knows(id), true);
  t.equal(second.open(unused), undefined);
  t.notMatch(text, id);
  t.equal(statSync(path).mode & 0o777, 0o600);
});

t.test('INS-2 · a damaged file of sessions lets nobody in and breaks nothing', async (t) => {
  for (const text of ['', '{', '[]', 'null', '{"x":"y"}']) {
    const { path } = makeHome(t, { 'sessions.json': text });
    const { load } = createSessionFile(() => join(path, 'sessions.json'), quiet);
    const sessions = createPageSessions(Date.now, { load, save: () => {} });
    t.equal(sessions.knows('x'), false, text);
    t.equal(sessions.knows(sessions.open(sessions.invite()) ?? ''), true, 'a fresh link opens one');
  }
});
