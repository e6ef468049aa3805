import t from 'tap';
import { createThoughtFilter, withoutThought } from '../../../machines/agent/thought.ts';
import { isLinear } from '../../support/linear.ts';
import { fc, runs } from '../../support/property.ts';

t.test('DIS-3 · CLI-4 · however an answer is cut into pieces, it is shown without what its model thought', (t) => {
  const part = fc.constantFrom(
    '<think>',
    '</think>',
    '<thi',
    'nk>',
    '</',
    'think>',
    ' ',
    '\n',
    'a',
    'Done.',
    '<',
    '😀',
  );
  const space = fc.constantFrom('', '\n', ' '.repeat(200));
  fc.assert(
    fc.property(space, fc.array(part), fc.array(part), fc.boolean(), (before, inner, after, thinks) => {
      const pieces = [before, ...(thinks ? ['<think>', ...inner, '</think>'] : []), ...after];
      const text = pieces.join('');
      const filter = createThoughtFilter();
      for (const round of [1, 2]) {
        const shown = pieces.map((piece) => filter.push(piece)).join('') + filter.flush();
        // Behind so much space a text is shown as it comes.
        const isFar = before.length >= 100;
        // Only the end shows that the opening tag was a part of the prompt.
        const wanted = isFar || !text.includes('<think>') ? text : withoutThought({ text });
        t.equal(shown, wanted, `${JSON.stringify(pieces)}, round ${round}`);
      }
    }),
    { numRuns: runs(500) },
  );
  t.end();
});

t.test('CLI-4 · an answer is shown as it comes, its thought never', (t) => {
  const filter = createThoughtFilter();
  t.same(
    ['\n<th', 'ink>Let', ' me see.</thi', 'nk>\n', '\n', 'It is ', ' <think>'].map((piece) => filter.push(piece)),
    ['', '', '', '', '', 'It is ', ' <think>'],
  );
  t.equal(filter.flush(), '');
  t.same(
    ['<', 'b>', 'x'].map((piece) => filter.push(piece)),
    ['', '<b>', 'x'],
  );
  t.end();
});

t.test('CLI-4 · a long thought takes time proportional to its length', (t) => {
  const thinking = (words: number) => () => {
    const filter = createThoughtFilter();
    filter.push('<think>');
    for (let at = 0; at < words; at += 1) filter.push('word ');
    return filter.push('</think>');
  };
  t.ok(isLinear(thinking, 500));
  t.end();
});
