import t from 'tap';
import { filterWords } from '../../../machines/webhook/filter-words.ts';

t.test('FIL-1 · a condition in words, whatever group it is in', (t) => {
  const live = { field: 'live', equals: true };
  const draft = { field: 'draft', exists: true };
  for (const [condition, words] of [
    [live, 'live equals true'],
    [{ field: 'draft', missing: false }, 'draft exists'],
    [{ any: [live, draft] }, '(live equals true) or (draft exists)'],
    [{ not: live }, 'not (live equals true)'],
    [{ not: [live, draft] }, 'not ((live equals true) and (draft exists))'],
  ] as const)
    t.equal(filterWords(condition), words);
  t.end();
});
