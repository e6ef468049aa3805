import t from 'tap';
import { ownReferences, type WantedVariable } from '../../../machines/mcp/foreign-references.ts';

interface Row {
  readonly text: string;
  readonly becomes: string;
  readonly workspace?: string;
  readonly wants?: readonly WantedVariable[];
  readonly unknown?: readonly string[];
}

const why = 'it is read from the environment';
const rows: readonly Row[] = [
  { text: 'plain $HOME {x}', becomes: 'plain $HOME {x}' },
  { text: 'a ${A} b', becomes: 'a ${A} b', wants: [{ variable: 'A', why }] },
  { text: '${env:A}', becomes: '${A}', wants: [{ variable: 'A', why }] },
  { text: '${A:-b:-c}', becomes: '${A}', wants: [{ variable: 'A', why, fallback: 'b:-c' }] },
  { text: '${A:-}', becomes: '${A}', wants: [{ variable: 'A', why, fallback: '' }] },
  { text: '${input:key}', becomes: '${IT_KEY}', wants: [{ variable: 'IT_KEY', why: 'The key' }] },
  { text: '${input:it-x}', becomes: '${IT_X}', wants: [{ variable: 'IT_X', why: 'it-x' }] },
  { text: '${workspaceFolder}${/}${userHome}', becomes: '${workspaceFolder}${/}${userHome}' },
  { text: '${workspaceFolder}/${cwd}', becomes: '/w/a//w/a', workspace: '/w/a' },
  { text: '${workspaceFolderBasename}', becomes: 'a', workspace: '/w/a' },
  { text: '${cwd}', becomes: '${cwd}', unknown: ['${cwd}'] },
  {
    text: '${config:a.b} ${command:c}',
    becomes: '${config:a.b} ${command:c}',
    unknown: ['${config:a.b}', '${command:c}'],
  },
  { text: '${workspaceFolder:two}', becomes: '${workspaceFolder:two}', unknown: ['${workspaceFolder:two}'] },
];

t.test('CLI-5 · INT-2 · each reference becomes ours, or is named', (t) => {
  for (const { text, becomes, workspace, wants = [], unknown = [] } of rows) {
    const wanted: WantedVariable[] = [];
    const strange = new Set<string>();
    const server = { name: 'it', inputs: { key: 'The key' } };
    const value = ownReferences({ deep: [text, 1, null] }, { server, workspace, wanted, unknown: strange });
    t.same(value, { deep: [becomes, 1, null] }, text);
    t.same(wanted, wants, text);
    t.same([...strange], unknown, text);
  }
  t.end();
});
