import t from 'tap';
import type { Answers } from '../../../cli/setup/answers.ts';
import { editsOf, placeOfModelKey } from '../../../cli/setup/edits.ts';
import { editConfig, valueAt } from '../../../machines/config/edit.ts';

const model = { provider: 'anthropic', baseUrl: 'https://m.example', name: 'm', key: 'sk-setup-secret' };

t.test('CLI-1 · HOME-4 · answers change their keys and no other character; no secret is among them', (t) => {
  const rows: readonly (readonly [string, Answers, string])[] = [
    [
      '# c\nagent: {runner: echo} # d\n',
      { runner: 'command', command: ['a', 'b c'] },
      '# c\nagent: {runner: command, command: [ a, b c ]} # d\n',
    ],
    ['agent:\n  runner: echo # r\n', { runner: 'echo' }, 'agent:\n  runner: echo # r\n'],
    [
      '',
      { runner: 'model', model },
      'agent:\n  runner: model\n  model:\n    provider: anthropic\n    base_url: https://m.example\n    name: m\n    api_key: ${AGENT_MODEL_KEY}\n',
    ],
    [
      'agent:\n  model:\n    api_key: ${MINE} # k\n',
      { model: { key: 'sk-setup-secret' } },
      'agent:\n  model:\n    api_key: ${MINE} # k\n',
    ],
    [
      'agent:\n  model:\n    api_key: literal # k\n',
      { model: { key: 'sk-setup-secret' } },
      'agent:\n  model:\n    api_key: "${AGENT_MODEL_KEY}" # k\n',
    ],
  ];
  for (const [before, answers, after] of rows) {
    const standing = (...path: readonly string[]) => valueAt(before, path);
    const edited = editConfig(before, editsOf(answers, standing));
    t.equal(edited, after);
    t.notMatch(edited, /sk-setup-secret/);
  }
  t.match(
    placeOfModelKey(() => '${MINE}'),
    { variable: 'MINE' },
  );
  t.match(
    placeOfModelKey(() => 'literal'),
    { variable: 'AGENT_MODEL_KEY', replaces: true },
  );
  t.end();
});
