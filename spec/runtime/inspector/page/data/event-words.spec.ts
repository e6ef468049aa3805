import t from 'tap';
import { formatReason, formatTargets, outcomeOfRow } from '../../../../../runtime/inspector/page/data/event-words.ts';

t.test('DLV-5 · a reason begins with the title of its own target, and never with that of another', (t) => {
  for (const [reason, place, words] of [
    ['slack: the platform does not know the place', 'Slack #deploys', 'Slack: the platform does not know the place'],
    ['team_chat_a: the request timed out', 'Slack', 'Slack: the request timed out'],
    ['jira: command not found', 'Slack #deploys', 'jira: command not found'],
    ['jira: command not found', undefined, 'jira: command not found'],
    ['filter: action equals "opened"', undefined, 'Filter: action equals "opened"'],
    ['the signature does not match', 'Slack', 'The signature does not match'],
    ['rateLimited', undefined, 'Rate limited'],
    ['', undefined, ''],
  ] as const)
    t.equal(formatReason(reason, place), words);
  t.match(
    formatReason('19 s late; replaces every firing missed since 2026-01-02T04:30:00.000Z'),
    /^19 s late; replaces every firing missed since \d+ Jan (2026 )?\d\d:\d\d:00$/,
    'a time is local, as beside it',
  );
  t.match(outcomeOfRow({ status: 'unknown' }), { mark: 'unconfirmed', words: 'Unconfirmed' });
  t.match(
    outcomeOfRow({ status: 'cancelled' }),
    { mark: 'ignored', words: 'Cancelled', calm: true },
    'as once it is opened',
  );
  t.match(outcomeOfRow({ status: 'failed', dropped: true }), { mark: 'ignored', words: 'Dropped', calm: true });
  t.match(outcomeOfRow({ status: 'aWordOfTomorrow' }), { mark: 'ignored', words: 'A word of tomorrow' });
  t.equal(formatTargets('slack, log, mine'), 'Slack, Log, mine');
  t.end();
});
