import t from 'tap';
import { fitConversation, newerHalf } from '../../../machines/agent/conversation.ts';
import type { Turn } from '../../../machines/agent/model-talk.ts';
import { fc } from '../../support/property.ts';

const says = (text: string): Turn => ({ role: 'user', text });
const answers = (text: string): Turn => ({ role: 'assistant', text, calls: [] });
const calls: Turn = { role: 'assistant', text: '', calls: [{ id: 'c', name: 'look', argumentsText: '{}' }] };
const replies = (text: string): Turn => ({ role: 'tools', replies: [{ id: 'c', text, isError: false }] });

t.test('CLI-4 · the oldest exchanges go first, and always whole', (t) => {
  const old = [says('aaaa'), calls, replies('bbbb'), answers('cccc')];
  const fresh = [says('dddd'), answers('eeee')];
  t.same(fitConversation([...old, ...fresh], 1_000), [...old, ...fresh]);
  t.same(fitConversation([...old, ...fresh], 8), fresh);
  t.same(fitConversation([...old, ...fresh], 20), fresh, 'half of an exchange is none');
  t.same(fitConversation([...old, says('x'.repeat(100))], 8), [says('x'.repeat(100))], 'what is asked now stays');
  const thoughtful: Turn = { role: 'assistant', text: '', calls: [], reasoning: 'x'.repeat(100) };
  t.same(fitConversation([says('a'), thoughtful, ...fresh], 20), fresh, 'what is never shown takes room too');
  t.same(fitConversation([], 8), []);
  t.end();
});

t.test('CLI-4 · of too long a conversation the newer exchanges are kept, down to the last', (t) => {
  const all = ['a', 'b', 'c', 'd'].map((name) => [says(name), calls, replies(name), answers(name)]);
  const [, , third = [], fourth = []] = all;
  const last = says('now');
  t.same(newerHalf(all.flat()), [...third, ...fourth]);
  t.same(newerHalf([...third, ...fourth, last]), [last]);
  t.same(newerHalf([last]), [last]);
  t.same(newerHalf([]), []);
  t.end();
});

t.test('CLI-4 · what is kept begins with a person and ends as it ended', (t) => {
  const exchange = fc
    .tuple(fc.string(), fc.boolean(), fc.string())
    .map(([asked, used, answered]) => [says(asked), ...(used ? [calls, replies(answered)] : []), answers(answered)]);
  const conversation = fc.tuple(fc.array(exchange), fc.string()).map(([all, last]) => [...all.flat(), says(last)]);
  fc.assert(
    fc.property(conversation, fc.nat(200), (turns, max) => {
      const kept = fitConversation(turns, max);
      return kept[0]?.role === 'user' && kept.at(-1) === turns.at(-1) && kept.every((turn) => turns.includes(turn));
    }),
  );
  t.end();
});
