import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { ForeignFile, ForeignProgram } from '../../../machines/mcp/foreign-files.ts';
import { type ImportItem, type ImportStart, planImport } from '../../../machines/mcp/plan-import.ts';

function plan(
  servers: readonly (readonly [ForeignProgram, string, JsonObject])[],
  change: Partial<ImportStart> = {},
): readonly ImportItem[] {
  const found = servers.map(([program, name, value]) => {
    const file: ForeignFile = { program, path: `/${program}`, form: 'json' };
    return { file, server: { name, value, inputs: {} } };
  });
  return planImport({ found, entries: {}, secrets: new Map(), env: {}, ...change });
}

t.test('CLI-5 · HOME-4 · a name that is taken is never planned over', (t) => {
  const entries = { files: { command: 'mine' }, 'files-cursor': { command: 'other' } };
  const items = plan(
    [
      ['claude-code', 'files', { command: 'mine' }],
      ['cursor', 'files', { command: 'theirs' }],
      ['cursor', 'new', { command: 'n' }],
      ['codex', 'new', { command: 'n' }],
      ['codex', 'new', { command: 'm' }],
      ['vscode', 'odd name/ü', { command: 'o' }],
      ['vscode', '...', { command: 'p' }],
      ['vscode', 'none', {}],
    ],
    { entries },
  );
  t.match(
    items.map(({ name, standing }) => [name, standing.kind]),
    [
      ['files', 'same'],
      ['files-cursor-2', 'taken'],
      ['new', 'new'],
      ['new', 'same'],
      ['new-codex', 'taken'],
      ['odd-name-', 'new'],
      ['server', 'new'],
      ['none', 'unusable'],
    ],
  );
  const written = items
    .filter(({ standing }) => standing.kind === 'new' || standing.kind === 'taken')
    .map(({ name }) => name);
  t.equal(new Set([...written, ...Object.keys(entries)]).size, written.length + 2, 'every name once');
  t.end();
});

t.test('CLI-5 · a variable that holds something else is left alone, and one that holds the same is used again', (t) => {
  const server = (token: string): JsonObject => ({ command: 'x', env: { TOKEN: token } });
  const [first, second, third, fourth] = plan(
    [
      ['cursor', 'a', server('one')],
      ['cursor', 'b', server('two')],
      ['cursor', 'c', server('kept')],
      ['cursor', 'd', server('two')],
    ],
    { secrets: new Map([['TOKEN', 'kept']]) },
  );
  t.same(first?.variables, [{ variable: 'TOKEN_2', value: 'one' }]);
  t.same(second?.variables, [{ variable: 'TOKEN_3', value: 'two' }]);
  t.same([third?.entry, third?.variables], [{ command: 'x', env: { TOKEN: '${TOKEN}' } }, []]);
  t.same(fourth?.entry, { command: 'x', env: { TOKEN: '${TOKEN_3}' } });
  t.end();
});

t.test('CLI-5 · what must be set by a person is named, and what has a default gets it', (t) => {
  const value = { command: '${BIN:-node}', args: ['${GIVEN}', '${WANTED}', '${HELD:-x}'] };
  const [item] = plan([['claude-code', 'a', value]], { env: { GIVEN: '1' }, secrets: new Map([['HELD', 'y']]) });
  t.same(item?.variables, [{ variable: 'BIN', value: 'node' }]);
  t.same(
    item?.missing.map(({ variable }) => variable),
    ['WANTED'],
  );
  t.end();
});
