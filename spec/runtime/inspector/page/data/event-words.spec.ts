import t from 'tap';
import { spellReason, spellTargets } from '../../../../../runtime/inspector/page/data/event-words.ts';

t.test('DLV-5 · a reason begins with its subject, a platform by the name that people write', (t) => {
  for (const [reason, words] of [
    ['slack: the platform does not know the place', 'Slack: the platform does not know the place'],
    ['team_chat_a: the request timed out', 'Slack: the request timed out'],
    ['filter: action equals "opened"', 'Filter: action equals "opened"'],
    ['the signature does not match', 'The signature does not match'],
    ['', ''],
  ] as const)
    t.equal(spellReason(reason), words);
  t.equal(spellTargets('slack, log, mine'), 'Slack, Log, mine');
  t.end();
});
