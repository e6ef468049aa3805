import t from 'tap';
import { chooseSkill, readSkill } from '../../../machines/agent/skill.ts';
import { resolveToolsets, webhookToolset } from '../../../machines/agent/toolset.ts';

t.test('DIS-5 · a list replaces the default; unknown and restricted names are dropped', (t) => {
  t.same(resolveToolsets(undefined), { names: webhookToolset, dropped: [] });
  t.same(resolveToolsets([]), { names: [], dropped: [] });
  t.same(resolveToolsets(['web_search', 'terminal', 'nope']), {
    names: ['web_search'],
    dropped: [
      { name: 'terminal', why: 'not for webhook runs' },
      { name: 'nope', why: 'unknown toolset' },
    ],
  });
  t.same(resolveToolsets(['agent-webhook']).names, webhookToolset);
  t.end();
});

t.test('DIS-6 · the first skill that is there is loaded', (t) => {
  const there = new Set(['b', 'c']);
  t.equal(
    chooseSkill(['a', 'b', 'c'], (name) => there.has(name)),
    'b',
  );
  t.equal(
    chooseSkill(['a'], (name) => there.has(name)),
    undefined,
  );
  t.same(readSkill('folder', '---\nname: "Review"\ndescription: how\n---\nDo it.\n'), {
    name: 'Review',
    description: 'how',
    text: 'Do it.',
  });
  t.same(readSkill('folder', 'Just text'), { name: 'folder', description: '', text: 'Just text' });
  t.end();
});
