import t from 'tap';
import { chooseSkill, readSkill } from '../../../machines/agent/skill.ts';

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
  t.same(readSkill('folder', '\uFEFF---\r\nname: Review\r\n---\r\nDo it.\r\n'), {
    name: 'Review',
    description: '',
    text: 'Do it.',
  });
  t.same(readSkill('folder', 'Just text'), { name: 'folder', description: '', text: 'Just text' });
  t.end();
});
