import t from 'tap';
import { atOnce } from '../../../machines/base/pieces.ts';
import {
  type Diagnostic,
  maskMark,
  maskSecrets,
  printDiagnostic,
  sourceAt,
} from '../../../machines/config/diagnostic.ts';
import { maskingSource } from '../../../machines/config/masked-source.ts';
import { isLinear } from '../../support/linear.ts';

const found: Diagnostic = {
  file: 'config.yaml',
  line: 3,
  column: 5,
  code: 'unknown-key',
  message: 'unknown key "promt"',
  severity: 'error',
  scope: { kind: 'webhook' },
  sourceLine: '    promt: x',
};

t.test('CFG-2 · a finding is printed with its place, its line and a caret', (t) => {
  t.equal(printDiagnostic(found), 'config.yaml:3:5: unknown key "promt" [unknown-key]\n      promt: x\n      ^');
  t.equal(
    printDiagnostic({ ...found, severity: 'warning', line: 0, sourceLine: '' }),
    'config.yaml: warning: unknown key "promt" [unknown-key]',
    'one about no line has none',
  );
  t.match(printDiagnostic({ ...found, sourceLine: '\t\t  promt: x' }), /\n {2}\t\t {2}\^$/, 'tabs keep their width');
  t.end();
});

t.test('CFG-2 · OBS-1 · a secret in the line is masked, columns kept for the caret', (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['secret: hunter2', 'secret: *******'],
    ['  api_key: "a\\"b c"  # why', '  api_key: "******"  # why'],
    ["{bot_token: 'x y', url: z}", "{bot_token: '***', url: z}"],
    ['secret: ${SECRET}', 'secret: ${SECRET}'],
    ['secret: "${SECRET}"', 'secret: "${SECRET}"'],
    ['prompt: the secret is out', 'prompt: the secret is out'],
    ['Authorization: Bearer abc', 'Authorization: **********'],
    ['{ Authorization: Bearer ${TOKEN} }', '{ Authorization: *******${TOKEN} }'],
    ['Authorization: "Bearer ${env:TOKEN}x"', 'Authorization: "*******${env:TOKEN}*"'],
    ['secret: s3cr3t,with,commas', 'secret: ******************'],
    ['password: ab]cd}ef # mine', 'password: ******** # mine'],
    ['api_key: [abc, def]', 'api_key: **********'],
    ["token: 'it''s hidden' # why", "token: '************' # why"],
    ['{token: a]b, url: z}', '{token: *]b, url: z}'],
    ['{headers: {Authorization: "a b", Cookie: c}, url: z}', '{headers: {Authorization: "***", Cookie: *}, url: z}'],
    ['token: ${TOKEN:-hunter2}', 'token: *****************'],
    ['{url: "https://a.example/?token=${TOKEN}&b=c"}', '{url: "https://a.example/?token=${TOKEN}&b=c"}'],
    ['url: https://a.example/?sig=ab${TOKEN}cd', 'url: https://a.example/?sig=**${TOKEN}**'],
  ];
  for (const [line, masked] of rows) {
    t.equal(maskSecrets(line).replaceAll(maskMark, '*'), masked);
    t.equal(masked.length, line.length);
  }
  t.end();
});

t.test('CFG-2 · OBS-1 · a mask does not show the length of the secret, and the caret is where it belongs', (t) => {
  const rows: readonly (readonly [line: string, column: number, shown: string])[] = [
    ['a: {secret: hunter2, b: c}', 22, '  a: {secret: ***, b: c}\n                   ^'],
    ['a: {secret: x, b: c}', 16, '  a: {secret: ***, b: c}\n                   ^'],
    ['secret: hunter2', 9, '  secret: ***\n          ^'],
    ['secret: hunter2', 12, '  secret: ***\n          ^'],
    [`secret: ${'x'.repeat(150)}`, 9, '  secret: ***…\n          ^'],
    [`{secret: ${'x'.repeat(150)}, b: c}`, 162, '  …***, b: c}\n        ^'],
  ];
  for (const [line, column, shown] of rows) {
    const printed = printDiagnostic({ ...found, column, ...sourceAt(maskSecrets(line), column) });
    t.equal(printed.slice(printed.indexOf('\n') + 1), shown, line);
  }
  t.end();
});

t.test('CFG-2 · a line is masked in time linear in its length, whatever it holds', (t) => {
  const rows = [
    'a',
    'secret',
    'secret: a # ',
    'token: ${',
    '{token: ${',
    'token: " ',
    "token: '",
    'token: a  ',
    'a\t:',
    '[',
    '--token,',
    '--token, ',
    "'--token=",
    '--token,#',
    'token=',
  ];
  for (const part of rows) {
    t.ok(
      isLinear((size) => {
        const line = `token: ${part.repeat(size)}.`;
        return () => maskSecrets(line) + maskSecrets(part.repeat(size)) + maskSecrets(`token: a${' '.repeat(size)}b`);
      }, 1_000),
      part,
    );
  }
  t.ok(
    isLinear((size) => () => atOnce(maskingSource(`- --token\n-${' '.repeat(size)}a`)), 1_000),
    'the value of a flag',
  );
  t.end();
});
