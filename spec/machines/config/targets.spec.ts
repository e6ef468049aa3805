import t from 'tap';
import { canonicalTarget } from '../../../machines/config/targets.ts';

t.test('DLV-5 · each target answers to its platform’s own name', (t) => {
  for (const [own, neutral] of [
    ['telegram', 'messenger_a'],
    ['slack', 'team_chat_a'],
    ['github_comment', 'codehost_comment'],
    ['qqbot', 'messenger_c'],
    ['email', 'email'],
  ] as const) {
    t.equal(canonicalTarget(own), neutral);
  }
  t.equal(canonicalTarget('fax'), undefined);
  t.end();
});
