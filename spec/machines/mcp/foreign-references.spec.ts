import t from 'tap';
import type { ForeignProgram } from '../../../machines/mcp/foreign-files.ts';
import { ownReferences, type WantedVariable } from '../../../machines/mcp/foreign-references.ts';

interface Row {
  readonly text: string;
  readonly becomes: string;
  readonly program?: ForeignProgram;
  readonly workspace?: string;
  readonly set?: string;
  readonly wants?: readonly WantedVariable[];
  readonly unknown?: readonly string[];
}

const why = 'it is read from the environment';
const rows: readonly Row[] = [
  { text: 'plain $HOME {x}', becomes: 'plain $HOME {x}' },
  { text: 'a ${A} b', becomes: 'a ${A} b', wants: [{ variable: 'A', why }] },
  { text: '${env:A}', becomes: '${A}', wants: [{ variable: 'A', why }] },
  { text: '${A:-b:-c}', becomes: '${A}', set: 'A', wants: [{ variable: 'A', why }] },
  { text: '${A:-b:-c}', becomes: 'b:-c' },
  { text: 'x${A:-}', becomes: 'x' },
  { text: '${WEBHOOK_SECRET:-known}', becomes: 'known' },
  { text: '${input:key}', becomes: '${IT_KEY}', wants: [{ variable: 'IT_KEY', why: '“The key”' }] },
  { text: '${input:it-x}', becomes: '${IT_X}', wants: [{ variable: 'IT_X', why: '“it-x”' }] },
  { text: '${input:item}', becomes: '${IT_ITEM}', wants: [{ variable: 'IT_ITEM', why: '“item”' }] },
  { text: '${workspaceFolder}${/}${userHome}', becomes: '${workspaceFolder}${/}${userHome}' },
  { text: '${workspaceFolder}/${cwd}', becomes: '/w/a//w/a', workspace: '/w/a' },
  { text: '${workspaceFolderBasename}', becomes: 'a', workspace: '/w/a' },
  { text: '${cwd}', becomes: '${cwd}', unknown: ['${cwd}'] },
  {
    text: '${config:a.b} ${command:c}',
    becomes: '${config:a.b} ${command:c}',
    unknown: ['${config:a.b}', '${command:c}'],
  },
  {
    program: 'gemini-cli',
    text: 'a $A_1/$b $5 ${C}',
    becomes: 'a ${A_1}/$b $5 ${C}',
    wants: [
      { variable: 'A_1', why },
      { variable: 'C', why },
    ],
  },
  { program: 'gemini-cli', text: '$b', becomes: '${b}', set: 'b', wants: [{ variable: 'b', why }] },
  { program: 'opencode', text: '{env:A} {x}', becomes: '${A} {x}', wants: [{ variable: 'A', why }] },
  { program: 'opencode', text: '{file:~/a}', becomes: '${file:~/a}', unknown: ['${file:~/a}'] },
  { text: '{env:A} $A', becomes: '{env:A} $A' },
  { text: '${workspaceFolder:two}', becomes: '${workspaceFolder:two}', unknown: ['${workspaceFolder:two}'] },
];

t.test('CLI-5 · INT-2 · each reference becomes ours, or is named', (t) => {
  for (const { text, becomes, program = 'cursor', workspace, set, wants = [], unknown = [] } of rows) {
    const wanted: WantedVariable[] = [];
    const strange = new Set<string>();
    const server = { name: 'it', inputs: { key: 'The key' } };
    const value = ownReferences(
      { deep: [text, 1, null] },
      {
        server,
        program,
        workspace,
        isSet: (variable) => variable === set,
        wanted,
        unknown: strange,
      },
    );
    t.same(value, { deep: [becomes, 1, null] }, text);
    t.same(wanted, wants, text);
    t.same([...strange], unknown, text);
  }
  const sink = {
    program: 'vscode' as const,
    workspace: undefined,
    isSet: () => true,
    wanted: [],
    unknown: new Set<string>(),
  };
  const value = ownReferences('${input:secret}', { server: { name: 'webhook', inputs: {} }, ...sink });
  t.equal(value, '${MCP_WEBHOOK_SECRET}', 'no name that the gateway reads');
  t.end();
});
