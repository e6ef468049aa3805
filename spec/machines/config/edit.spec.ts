import t from 'tap';
import { editConfig } from '../../../machines/config/edit.ts';

const add = (text: string) => editConfig(text, [{ path: ['mcp_servers', 'a'], value: { command: 'x' } }]);
const take = (text: string) => editConfig(text, [{ path: ['mcp_servers', 'a'], value: undefined }]);

t.test('HOME-4 · a key is added to any mapping, to an empty file and under a key without a value', (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['', 'mcp_servers:\n  a:\n    command: x\n'],
    ['# only words\n', '# only words\n\nmcp_servers:\n  a:\n    command: x\n'],
    ['mcp_servers:\n', 'mcp_servers:\n  a:\n    command: x\n'],
    ['mcp_servers: {}\n', 'mcp_servers: { a: { command: x } }\n'],
    [
      '# first\nagent:\n  # the runner\n  runner: echo\n',
      '# first\nagent:\n  # the runner\n  runner: echo\nmcp_servers:\n  a:\n    command: x\n',
    ],
    [
      'mcp_servers:\n  # mine\n  a:\n    command: y\n  b: { command: z } # other\n',
      'mcp_servers:\n  # mine\n  a:\n    command: x\n  b: { command: z } # other\n',
    ],
  ];
  for (const [before, after] of rows) t.equal(add(before), after, before);
  t.end();
});

t.test('HOME-4 · what is not there is taken out without a trace', (t) => {
  for (const text of ['', '# only words\n', 'mcp_servers:\n', 'mcp_servers: text\n', 'agent:\n  runner: echo\n'])
    t.equal(take(text), editConfig(text, []), text);
  t.equal(
    take('mcp_servers:\n  a: { command: x }\n  # kept\n  b: { command: y }\n'),
    'mcp_servers:\n  # kept\n  b: { command: y }\n',
  );
  t.end();
});

t.test('HOME-4 · what cannot be kept is left alone', (t) => {
  for (const text of ['a: [\n', '- a\n- b\n', 'just a text\n', 'mcp_servers: text\n', 'mcp_servers: [a]\n'])
    t.equal(add(text), undefined, text);
  t.end();
});
