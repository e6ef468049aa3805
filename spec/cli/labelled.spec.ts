import t from 'tap';
import type { Output } from '../../cli/context.ts';
import { labelled, moment, reasonOf, routeOf, span, statusOf, titled, titledText } from '../../cli/labelled.ts';

const pipe: Output = { isTerminal: false, coloured: false, columns: 80, print: () => {}, complain: () => {} };
const nowMs = Date.parse('2026-03-01T12:00:00.000Z');

t.test('CLI-2 · a record is labels and values in columns; what has no value is left out', (t) => {
  const rows = [
    ['Route', 'ci'],
    ['Nothing', undefined],
    ['Empty', ''],
    ['Next try', 'in 3s\nand more'],
  ] as const;
  t.equal(labelled(pipe, rows), '  Route     ci\n  Next try  in 3s\n            and more\n');
  t.end();
});

t.test('CLI-2 · a long value goes on below itself where the terminal ends, and is whole in a pipe', (t) => {
  const reason = 'slack: the platform does not accept the credentials, so mend them and try again';
  const narrow = labelled({ ...pipe, isTerminal: true, columns: 40 }, [['Reason', reason]]);
  t.ok(narrow.split('\n').every((line) => line.length <= 40));
  t.equal(narrow.replace(/\s+/g, ' ').trim(), `Reason ${reason}`);
  t.equal(labelled(pipe, [['Reason', reason]]), `  Reason  ${reason}\n`);
  t.end();
});

t.test('CLI-2 · what a sender or a model wrote cannot move the cursor', (t) => {
  const hostile = 'a\u001b[2Jb\u202e';
  for (const said of [labelled(pipe, [['X', hostile]]), titled(pipe, hostile, hostile), titledText(pipe, 'T', hostile)])
    t.same(
      ['\u001b', '\u202e'].filter((bad) => said.includes(bad)),
      [],
    );
  t.match(titledText({ ...pipe, coloured: true }, 'Prompt', ' '), /\(empty\)/);
  t.end();
});

t.test('CLI-2 · a refusal without a reason has the words of its outcome as one', (t) => {
  for (const [reason, words] of [
    ['rateLimited', 'rate limited'],
    ['slack: notFound', 'slack: notFound'],
    [undefined, ''],
  ] as const)
    t.equal(reasonOf({ status: 'refused', ...(reason === undefined ? {} : { reason }) }, 'agent'), words);
  t.end();
});

t.test('CLI-2 · times are shown with how long ago or how soon, and spans in their largest unit', (t) => {
  t.equal(moment('2026-03-01T11:55:00.500Z', nowMs), '2026-03-01 11:55:00 UTC, 4m ago');
  t.equal(moment('2026-03-01T12:00:30.000Z', nowMs), '2026-03-01 12:00:30 UTC, in 30s');
  for (const [ms, words] of [
    [0, '0 ms'],
    [999, '999 ms'],
    [12_340, '12.3 s'],
    [59_960, '1 min 0 s'],
    [119_700, '2 min 0 s'],
    [61_000, '1 min 1 s'],
    [-5, '0 ms'],
  ] as const)
    t.equal(span(new Date(nowMs).toISOString(), new Date(nowMs + ms).toISOString()), words);
  t.same(
    [routeOf({ route: 'ci', profile: 'default' }), routeOf({ route: 'ci', profile: 'work' })],
    ['ci', 'ci, of profile work'],
  );
  t.end();
});

t.test('TRU-3 · CLI-2 · a run that waits for a person says so, with the command that lets it go on', (t) => {
  const row = { status: 'running', reason: 'interrupted once' };
  t.same([statusOf(row), reasonOf(row, 'agent')], ['running', 'interrupted once']);
  t.same([statusOf({ status: 'running' }), reasonOf({ status: 'running' }, 'agent')], ['running', '']);
  t.equal(statusOf({ status: 'failed', dropped: true }), 'dropped', 'by a person');
  const asked = { ...row, question: 'a3' };
  t.same(
    [statusOf(asked), reasonOf(asked, 'agent --home /srv')],
    ['waiting for you', 'agent --home /srv approvals show a3'],
  );
  t.end();
});
