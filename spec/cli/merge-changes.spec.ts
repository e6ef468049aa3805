import t from 'tap';
import { mergeChanges } from '../../cli/commands/mcp-serve.ts';
import { lentTime } from '../support/lent-time.ts';

t.test('CLI-5 · changes of a list within a moment are one notification', (t) => {
  const time = lentTime(t);
  const reported: string[] = [];
  const change = mergeChanges((each) => void reported.push(each));
  for (const each of ['tools', 'tools', 'prompts', 'tools']) change(each);
  t.same(reported, []);
  time.pass(250);
  t.same(reported, ['tools', 'prompts']);
  time.pass(250);
  change('tools');
  time.pass(250);
  t.same(reported, ['tools', 'prompts', 'tools'], 'a later one is another');
  t.end();
});
