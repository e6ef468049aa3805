import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { chartName, charts, diagramOf, nameOf, statesOf } from './charts.ts';
import { sourcesPage } from './sources-page.ts';

const specification = readFileSync('docs/specification.md', 'utf8');

t.test('there are charts, each with the name of its file', (t) => {
  t.ok(charts.size > 10);
  for (const [file, machine] of charts) t.equal(machine.id, chartName(file), file);
  t.end();
});

t.test('every state says what it means and which rule it keeps', (t) => {
  for (const machine of charts.values()) {
    for (const node of statesOf(machine)) {
      const rule = (node.meta as { readonly rule?: string } | undefined)?.rule ?? '';
      t.match(node.description, /^[A-Z].*\.$/, `${machine.id}.${nameOf(node)}: a sentence`);
      t.ok(
        specification.includes(`**${rule}**`),
        `${machine.id}.${nameOf(node)}: rule ${rule} is in the specification`,
      );
      t.match(node.key, /^[a-z][A-Za-z]*$/, `${machine.id}.${nameOf(node)}: camelCase`);
    }
  }
  t.end();
});

t.test('every action, guard, delay and effect that a chart declares is used in it, or by the rules beside it', (t) => {
  for (const [file, machine] of charts) {
    const rules = readdirSync(dirname(file)).filter((name) => name.endsWith('.ts') && !name.endsWith('.machine.ts'));
    const text = [file, ...rules.map((name) => join(dirname(file), name))]
      .map((path) => readFileSync(path, 'utf8'))
      .join('\n');
    for (const name of Object.values(machine.implementations).flatMap((declared) => Object.keys(declared)))
      t.ok((text.match(new RegExp(`\\b${name}\\b`, 'g')) ?? []).length > 1, `${machine.id}: ${name}`);
  }
  t.end();
});

/** What the rest of the program may ask of a state, so that no name of a state is known outside its chart. */
const tags: readonly string[] = [
  // What it does now.
  ...['working', 'resting', 'ended'],
  // That a person has to act, that something went wrong, that it is tried again.
  ...['needsUser', 'failed', 'retrying'],
  // That a drain waits for it; that its part of the gateway does its job; that a run counts against the runs at a time.
  ...['underWay', 'serving', 'holdsSlot'],
];

t.test('INS-1 · every state has tags, of the known ones', (t) => {
  for (const machine of charts.values()) {
    for (const node of statesOf(machine)) {
      const unknown = node.tags.filter((tag) => !tags.includes(tag));
      t.same(unknown, [], `${machine.id}.${nameOf(node)}`);
      const isLeaf = Object.keys(node.states).length === 0;
      const kinds = node.tags.filter((tag) => tags.indexOf(tag) < 3);
      if (isLeaf && !node.tags.includes('needsUser')) {
        t.equal(kinds.length, 1, `${machine.id}.${nameOf(node)}: works, rests or has ended`);
      }
      if (node.type === 'final') t.same(kinds, ['ended'], `${machine.id}.${nameOf(node)}`);
    }
  }
  t.end();
});

t.test('every event is a noun and a verb with a dot between', (t) => {
  for (const machine of charts.values()) {
    for (const node of statesOf(machine)) {
      for (const type of node.ownEvents as string[]) {
        if (!type.startsWith('xstate.')) t.match(type, /^[a-z]+\.[a-zA-Z]+$/, `${machine.id}: ${type}`);
      }
    }
  }
  t.end();
});

t.test('the diagrams are current: npm run diagrams', (t) => {
  for (const [file, machine] of charts)
    t.equal(readFileSync(`docs/machines/${machine.id}.md`, 'utf8'), diagramOf(file, machine), machine.id);
  t.equal(readdirSync('docs/machines').length, charts.size, 'no page of a chart that is gone');
  t.end();
});

t.test('SRC-1 · the page of the sources is what their data makes', async (t) => {
  t.equal(readFileSync('docs/sources.md', 'utf8'), sourcesPage(), 'npm run diagrams writes it');
});
