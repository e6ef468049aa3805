import t from 'tap';
import { atOnce } from '../../../machines/base/pieces.ts';
import { maskingSource } from '../../../machines/config/masked-source.ts';

t.test('INS-4 · CFG-2 · secrets of a source are masked line by line, references and all else are shown', (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['secret: abc # ours', 'secret: *** # ours'],
    ['secret: a-long-one-of-many-characters', 'secret: ***'],
    ["schedule: '*/5 * * * *'", "schedule: '*/5 * * * *'"],
    ['secret: ${NAME}', 'secret: ${NAME}'],
    ['token: "a${NAME}b"', 'token: "***${NAME}***"'],
    ['secret: |\n  abc\n  de\nport: 1', 'secret: |\n  ***\n  ***\nport: 1'],
    ['secret:\n  - abc\n  - ${B}\nport: 1', 'secret:\n  *** ***\n  *** ${B}\nport: 1'],
    ['headers:\n  X-Team: abc\n  Other: ${B}\nurl: x', 'headers:\n  X-Team: ***\n  Other: ${B}\nurl: x'],
    ['private_key: |\n  abc\nport: 1', 'private_key: |\n  ***\nport: 1'],
    ['env: { A_PASSPHRASE: abc, B: c }', 'env: { A_PASSPHRASE: ***, B: c }'],
    ['a: { headers: { X-Team: abc } }', 'a: { headers: { X-Team: *** } }'],
    ['headers: { X-Team: abc, B: ${C} }', 'headers: { X-Team: ***, B: ${C} }'],
    ["args: ['--api-key', 'a, b', --model, c]", "args: ['--api-key', '***', --model, c]"],
    ["args: ['--token=abc', --token, --api-key=${B}]", "args: ['--token=***', --token, --api-key=${B}]"],
    ['args: [--api-key, abc', 'args: [--api-key, ***'],
    [
      'args:\n  - --api-key\n  - abc\n  - --token\n  - -v\n  - c',
      'args:\n  - --api-key\n  - ***\n  - --token\n  - -v\n  - c',
    ],
    ["args: [-e, 'API_TOKEN=a,b', --env=A_SECRET=c, -v]", "args: [-e, 'API_TOKEN=***', --env=A_SECRET=***, -v]"],
    ['args:\n  - -e\n  - API_TOKEN=abc', 'args:\n  - -e\n  - API_TOKEN=***'],
    ['url: https://host/?token=abc&page=2', 'url: https://host/?token=***&page=2'],
    ["args: ['--token=a,b', -v]", "args: ['--token=***', -v]"],
    ['args:\n  - --token=a,b\n  - c', 'args:\n  - --token=***\n  - c'],
    ['args:\n  - --token\n  # ours\n\n  - abc\n  - c', 'args:\n  - --token\n  # ours\n\n  - ***\n  - c'],
    ['- --token\n- |\n  abc\n- c', '- --token\n- ***\n  ***\n- c'],
    ['- --token\n-   -v\n- c', '- --token\n-   -v\n- c'],
    ['args: [\n  "--token",\n  "a, b", "c"\n]', 'args: [\n  "--token",\n  "***", "c"\n]'],
    ['args: [--token,\n  -v,\n  c]', 'args: [--token,\n  -v,\n  c]'],
    ['- "--secret" # ours\n- "${B}"', '- "--secret" # ours\n- "${B}"'],
    ['prompt: |\n  Say: hello', 'prompt: |\n  Say: hello'],
    ['agent: {\n  api_key: [', 'agent: {\n  api_key: ['],
  ];
  for (const [given, shown] of rows) t.equal(atOnce(maskingSource(given)).join('\n'), shown, given);
  t.end();
});
