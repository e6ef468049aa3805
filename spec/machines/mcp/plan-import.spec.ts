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
  return planImport({ found, config: {}, secrets: new Map(), env: {}, userHome: '/me', ...change });
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
      ['vscode', '--lead', { command: 'q' }],
    ],
    { config: { mcp_servers: entries } },
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
      ['lead', 'new'],
    ],
  );
  t.equal(items.at(-1)?.name, 'lead', 'which no command reads as a flag');
  const written = items
    .filter(({ standing }) => standing.kind === 'new' || standing.kind === 'taken')
    .map(({ name }) => name);
  t.equal(new Set([...written, ...Object.keys(entries)]).size, written.length + 2, 'every name once');
  t.end();
});

t.test('CLI-5 · what is written in another form, or for the other transport, is named as left out', (t) => {
  const items = plan([
    ['cursor', 'local', { command: 'x', args: '-y a', env: ['A=1'], headers: { A: 'b' }, url: 'https://x.example' }],
    ['cursor', 'remote', { url: 'https://x.example/mcp', command: null, args: [], env: { A: '1' } }],
    ['cursor', 'empty', { command: 'x', args: [], env: {}, headers: {}, url: '' }],
  ]);
  const left = items.map(({ notes }) => notes.filter((note) => note.startsWith('not imported')));
  t.same(left, [['not imported: args, env, url, headers'], ['not imported: env'], []]);
  t.end();
});

t.test('CLI-5 · a placeholder of a server’s page is no value: it is asked for', (t) => {
  const env = { A_TOKEN: '<YOUR_TOKEN>', B_KEY: 'your-api-key-here', C_SECRET: 'xxxxxxxx', D_TOKEN: 'yours9f1' };
  const [item] = plan([['claude-code', 'docs', { command: 'x', env }]]);
  t.same(item?.variables, [{ variable: 'D_TOKEN', value: 'yours9f1' }]);
  t.same(
    item?.missing.map(({ variable }) => variable),
    ['A_TOKEN', 'B_KEY', 'C_SECRET'],
  );
  t.match(item?.entry, { env: { A_TOKEN: '${A_TOKEN}', B_KEY: '${B_KEY}' } });
  const own = { command: 'y', env: { A_TOKEN: '<YOUR_TOKEN>' } };
  const config = { mcp_servers: { one: { command: 'y', env: { A_TOKEN: '${A_TOKEN}' } } } };
  for (const secrets of [new Map(), new Map([['A_TOKEN', 'filled in']])])
    t.match(
      plan(
        [
          ['claude-code', 'one', own],
          ['claude-code', 'one', { ...own, command: 'z' }],
        ],
        { config, secrets },
      ),
      [{ standing: { kind: 'same' } }, { standing: { kind: 'taken' } }],
      'imported once more',
    );
  const others = plan([
    ['claude-code', 'one', own],
    ['claude-code', 'two', own],
    ['cursor', 'two', own],
  ]);
  t.same(
    others.map(({ entry, standing }) => [entry.env, standing.kind]),
    [
      [{ A_TOKEN: '${A_TOKEN}' }, 'new'],
      [{ A_TOKEN: '${A_TOKEN_2}' }, 'new'],
      [{ A_TOKEN: '${A_TOKEN_2}' }, 'same'],
    ],
    'SEC-2: the value for one server is not that of another',
  );
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

t.test('CLI-5 · what must be set by a person is named, and a default takes the place of what is not set', (t) => {
  const value = { command: '${BIN:-node}', args: ['${GIVEN}', '${WANTED}', '${HELD:-x}', '${WANTED}'] };
  const [item] = plan([['claude-code', 'a', value]], { env: { GIVEN: '1' }, secrets: new Map([['HELD', 'y']]) });
  t.same(item?.entry, { command: 'node', args: ['${GIVEN}', '${WANTED}', '${HELD}', '${WANTED}'] });
  t.same(item?.variables, []);
  t.same(
    item?.missing.map(({ variable }) => variable),
    ['WANTED'],
  );
  t.end();
});

t.test('SEC-2 · CLI-5 · no secret of a file gets a name in .env that configures more than its own entry', (t) => {
  const rows: readonly (readonly [string, string, boolean, string])[] = [
    ['a', 'API_TOKEN', false, 'API_TOKEN'],
    ['a', 'WEBHOOK_SECRET', false, 'MCP_A_WEBHOOK_SECRET'],
    ['a', 'AGENT_TOKEN', false, 'MCP_A_AGENT_TOKEN'],
    ['a', 'MODEL_KEY', false, 'MCP_A_MODEL_KEY'],
    ['a', 'SHELL_TOKEN', false, 'SHELL_TOKEN_2'],
    ['a', 'API_TOKEN', true, 'MCP_A_API_TOKEN'],
    ['api', 'API_TOKEN', true, 'MCP_API_TOKEN'],
  ];
  for (const [name, variable, isProject, expected] of rows) {
    const file: ForeignFile = {
      program: 'claude-code',
      path: '/f',
      form: 'json',
      workspace: isProject ? '/co' : '/me',
    };
    const server = { name, value: { command: 'x', env: { [variable]: 'theirs-0123456789' } }, inputs: {} };
    const [item] = planImport({
      found: [{ file, server }],
      config: { agent: { api_key: '${MODEL_KEY}' } },
      secrets: new Map(),
      env: { SHELL_TOKEN: 'mine' },
      userHome: '/me',
    });
    t.equal(item?.isProject, isProject);
    t.same(item?.variables, [{ variable: expected, value: 'theirs-0123456789' }], `${name} ${variable}`);
    t.same(item?.entry.env, { [variable]: `\${${expected}}` });
  }
  t.end();
});

t.test('SEC-2 · CLI-5 · no secret of a file becomes the value of a variable that another entry refers to', (t) => {
  const secret = 'theirs-0123456789';
  const theirs: ForeignFile = { program: 'claude-code', path: '/co/f', form: 'json', workspace: '/co' };
  const mine: ForeignFile = { program: 'codex', path: '/me/f', form: 'json', workspace: '/me' };
  const rows: readonly (readonly [says: string, change: Partial<ImportStart>, variable: string])[] = [
    ['set for the gateway alone', {}, 'MCP_GITHUB_TOKEN_3'],
    ['set in the environment', { env: { MCP_GITHUB_TOKEN: secret } }, 'MCP_GITHUB_TOKEN_3'],
    ['set in .env', { secrets: new Map([['MCP_GITHUB_TOKEN', 'mine']]) }, 'MCP_GITHUB_TOKEN_3'],
    ['the same in .env', { secrets: new Map([['MCP_GITHUB_TOKEN', secret]]) }, 'MCP_GITHUB_TOKEN'],
  ];
  for (const [says, change, variable] of rows) {
    const [item] = planImport({
      found: [
        {
          file: theirs,
          server: { name: 'github', value: { url: 'https://a.example', headers: { Token: secret } }, inputs: {} },
        },
        { file: mine, server: { name: 'other', value: { command: 'x', args: ['${MCP_GITHUB_TOKEN_2}'] }, inputs: {} } },
      ],
      config: {
        mcp_servers: { gh: { url: 'https://b.example', headers: { Authorization: 'Bearer ${MCP_GITHUB_TOKEN}' } } },
      },
      secrets: new Map(),
      env: {},
      userHome: '/me',
      ...change,
    });
    t.same(item?.entry.headers, { Token: `\${${variable}}` }, says);
  }
  t.end();
});

t.test('SEC-2 · every variable that an entry refers to is named with where its value goes', (t) => {
  const rows: readonly (readonly [ForeignProgram, JsonObject, readonly string[]])[] = [
    ['claude-code', { command: 'x', args: ['a'], env: { TOKEN: 'secret-0123456789', HOME_IN: '${userHome}' } }, []],
    [
      'claude-code',
      { command: 'sh', args: ['${A}'], env: { B: '${B:-x}', C: 'p${C}' }, cwd: '${workspaceFolder}/${D}' },
      ['gives $A to the program “sh”', 'gives $C to the program “sh”', 'gives $D to the program “sh”'],
    ],
    [
      'cursor',
      { url: 'https://api.github.com@evil.example/x?k=${env:A}', headers: { X: '${B}.${A}' } },
      ['sends $A to “https://evil.example”', 'sends $B to “https://evil.example”'],
    ],
    [
      'vscode',
      { url: 'https://${HOST}/', headers: { X: '${A:-$}{B}' } },
      ['sends $HOST to “https://${HOST}/”', 'sends $B to “https://${HOST}/”'],
    ],
    [
      'codex',
      { url: 'https://a.example/${A}', bearer_token_env_var: 'B' },
      ['sends $A to “https://a.example”', 'sends $B to “https://a.example”'],
    ],
    ['cursor', { url: 'https://a.example/', auth: { CLIENT_SECRET: '${A}' } }, ['sends $A to “https://a.example”']],
    [
      'claude-code',
      { command: 'npx (dry run). Allow the check of', args: ['${A}${B :-x}${C” , \n\u202eD}${ }'] },
      [
        'gives $A to the program “npx (dry run). Allow the check of”',
        'gives $“B :-x” to the program “npx (dry run). Allow the check of”',
        'gives $“C" , \\u202eD” to the program “npx (dry run). Allow the check of”',
        'gives $“” to the program “npx (dry run). Allow the check of”',
      ],
    ],
    [
      'claude-code',
      { command: 'x'.repeat(241), args: [`\${${'A'.repeat(241)}}`] },
      [`gives $“${'A'.repeat(240)}…” to the program “${'x'.repeat(240)}…”`],
    ],
    [
      'claude-code',
      { url: `https://${'a.'.repeat(130)}example/\${A}`, headers: {} },
      [`sends $A to “https://${'a.'.repeat(129)}a…”`],
    ],
    ['claude-code', { url: 'https://${A}/ (dry run)', headers: {} }, ['sends $A to “https://${A}/ (dry run)”']],
  ];
  for (const [program, value, words] of rows) {
    const [item] = plan([[program, 'it', value]]);
    t.same(
      item?.uses.map((use) => use.words),
      words,
      JSON.stringify(value),
    );
  }
  t.end();
});

t.test("CLI-5 · a secret of goose's variables goes to .env wherever the address or a header has it", (t) => {
  const value = {
    type: 'streamable_http',
    uri: 'https://$REGION.x/$ROOM_TOKEN/mcp?id=${ROOM_TOKEN}&org=$ORG',
    headers: { 'X-Room': '$ROOM_TOKEN', 'X-Org': '$ORG' },
    envs: { REGION: 'eu', ROOM_TOKEN: 'hunter2', ORG: 'acme' },
  };
  const entry = (variable: string) => ({
    url: `https://eu.x/\${${variable}}/mcp?id=\${${variable}}&org=acme`,
    headers: { 'X-Room': `\${${variable}}`, 'X-Org': 'acme' },
  });
  const rows: readonly (readonly [Partial<ImportStart>, string])[] = [
    [{}, 'ROOM_TOKEN'],
    [{ secrets: new Map([['ROOM_TOKEN', 'other']]) }, 'ROOM_TOKEN_2'],
    [{ config: { mcp_servers: { other: { url: 'https://${ROOM_TOKEN}/' } } } }, 'MCP_ROOM_TOKEN'],
  ];
  for (const [change, variable] of rows) {
    const [item] = plan([['goose', 'room', value]], change);
    t.same(item?.entry, entry(variable));
    t.same(item?.variables, [{ variable, value: 'hunter2' }]);
    t.same([item?.uses, item?.missing], [[], []], 'nothing of the user is sent');
  }
  t.end();
});
