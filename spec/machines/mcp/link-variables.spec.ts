import t from 'tap';
import { takenAlong } from '../../../machines/mcp/link-variables.ts';
import { fc } from '../../support/property.ts';

t.test('LNK-2 · variables that go to a host are named with it, wherever in the entry they stand', (t) => {
  const taken = takenAlong({
    url: 'https://user:${PASSWORD}@hub.example:8443/${TENANT}/mcp',
    headers: { Authorization: 'Bearer ${env:GITHUB_TOKEN}', 'X-Same': '${GITHUB_TOKEN}' },
    oauth: { client_secret: '${SECRET}' },
    tools: { include: ['${IN_A_LIST}'] },
  });
  t.same(taken?.variables, ['PASSWORD', 'TENANT', 'GITHUB_TOKEN', 'SECRET', 'IN_A_LIST']);
  t.equal(taken?.to, 'hub.example:8443');
  t.equal(
    taken?.words,
    'It sends the values of your variables PASSWORD, TENANT, GITHUB_TOKEN, SECRET, IN_A_LIST to hub.example:8443. Add it only if they are meant for it.',
  );
  t.end();
});

t.test('LNK-2 · one that goes to a command is named with it', (t) => {
  t.match(takenAlong({ command: 'npx', args: ['x', '${TOKEN}'], env: {} }), {
    variables: ['TOKEN'],
    to: 'npx',
    words: /^It hands the value of your variable TOKEN to the command npx\./,
  });
  t.end();
});

t.test('LNK-2 · a host that is a variable is said to be one', (t) => {
  t.match(takenAlong({ url: 'https://${HOST}/mcp' })?.to, 'the host that ${HOST} comes to name');
  t.end();
});

t.test('LNK-2 · what names no variable takes nothing, and places of this machine are none', (t) => {
  for (const text of ['plain', '$HOME', '${}', '${userHome}/x', 'a${/}b', '${workspaceFolder}'])
    t.equal(takenAlong({ command: text, args: [text] }), undefined, text);
  t.equal(takenAlong({ url: 'https://hub.example/mcp' }), undefined);
  t.end();
});

t.test('LNK-2 · no variable is missed', (t) => {
  const name = fc.stringMatching(/^[A-Z][A-Z0-9_]{0,20}$/);
  fc.assert(
    fc.property(name, fc.string(), fc.string(), (variable, before, after) => {
      const taken = takenAlong({ url: 'https://hub.example/mcp', headers: { a: `${before}\${${variable}}${after}` } });
      return taken?.variables.includes(variable) === true;
    }),
  );
  t.end();
});
