import { mkdirSync, symlinkSync } from 'node:fs';
import t from 'tap';
import { createSkillsStore } from '../../../actors/agent/skills.store.ts';
import { makeHome } from '../../support/home.ts';

t.test('DIS-6 · a skill is the text of its SKILL.md, as it stands now', (t) => {
  const home = makeHome(t, {
    'skills/review/SKILL.md': '---\nname: review\ndescription: Reviews.\n---\n# Review\nBe kind.\n',
    'skills/plain/SKILL.md': 'Only text.',
  });
  const skills = createSkillsStore({ folder: `${home.path}/skills` });
  t.equal(skills.text('review'), '# Review\nBe kind.');
  t.equal(skills.text('plain'), 'Only text.');
  home.write('skills/plain/SKILL.md', 'Changed.');
  t.equal(skills.text('plain'), 'Changed.');
  t.end();
});

t.test('DIS-6 · a skill may be in the folder of a category, as those of Hermes Agent are', (t) => {
  const home = makeHome(t, {
    'skills/own/SKILL.md': 'Own.',
    'skills/b/own/SKILL.md': 'Of a category.',
    'skills/b/review/SKILL.md': 'Second.',
    'skills/a/review/SKILL.md': 'First.',
    'skills/a/deeper/still/SKILL.md': 'Too deep.',
  });
  const skills = createSkillsStore({ folder: `${home.path}/skills` });
  t.same(['own', 'review', 'b/review', 'still', '../skills/a/review'].map(skills.text), [
    'Own.',
    'First.',
    'Second.',
    undefined,
    'First.',
  ]);
  t.end();
});

t.test('DIS-6 · what lies outside the folder, or is no file, is no skill', (t) => {
  const home = makeHome(t, { 'SKILL.md': 'secret', 'other/SKILL.md': 'secret', 'skills/x': '' });
  mkdirSync(`${home.path}/skills/folder/SKILL.md`, { recursive: true });
  mkdirSync(`${home.path}/skills/link`);
  symlinkSync('../../SKILL.md', `${home.path}/skills/link/SKILL.md`);
  symlinkSync('../other', `${home.path}/skills/linked`);
  const skills = createSkillsStore({ folder: `${home.path}/skills` });
  const names = ['gone', 'folder', 'link', 'linked', '..', '../other', `${home.path}/other`, '', '.', 'x', 'a\0b'];
  for (const name of names) t.equal(skills.text(name), undefined, JSON.stringify(name));
  t.equal(createSkillsStore({ folder: `${home.path}/none` }).text('x'), undefined);
  t.end();
});
