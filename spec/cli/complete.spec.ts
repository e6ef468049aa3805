import t from 'tap';
import { catalogue } from '../../cli/catalogue.ts';
import { expectedAt } from '../../cli/complete.ts';
import { parseWords } from '../../cli/parse.ts';
import { fc } from '../support/property.ts';

t.test('CLI-2 · the word at the cursor is a command, a flag, a value or a name', (t) => {
  const words = (...given: string[]): readonly string[] => {
    const expected = expectedAt(given);
    return expected.kind === 'words' ? expected.words.map(({ word }) => word) : [`<${expected.names}>`];
  };
  t.ok(words('').includes('webhook'));
  t.notOk(words('').includes('complete'), 'what is for programs alone is not offered');
  t.ok(words('webhook', 's').includes('subscribe'));
  t.same(words('webhook', 'nothing', ''), []);
  t.same(words('webhook', 'show', ''), ['<route>']);
  t.same(words('webhook', 'show', 'a', ''), [], 'no second argument');
  t.same(words('mcp', 'call', 'a', ''), [], 'an argument without names');
  t.same(words('mcp', 'tools', '--profile', ''), ['<profile>']);
  t.same(words('webhook', 'subscribe', 'x', '--deliver', ''), ['<target>']);
  t.same(words('mcp', 'login', 'x', '--flow', ''), ['browser', 'device']);
  t.same(words('mcp', 'login', 'x', '--flow='), ['--flow=browser', '--flow=device']);
  t.same(
    words('webhook', 'list', '-').filter((word) => word.startsWith('--j')),
    ['--json'],
  );
  t.ok(words('webhook', 'list', '-').includes('--node'));
  t.notOk(words('gateway', 'run', '-').includes('--node'), 'it would be refused');
  t.notOk(words('webhook', 'list', '--json', '-').includes('--json'), 'given already');
  t.ok(words('mcp', 'add', 'x', '--env', 'A=1', '-').includes('--env'), 'may be given again');
  t.same(words('help', ''), words(''));
  t.ok(words('help', 'mcp', '').includes('tools'));
  t.match(expectedAt(['approvals', '']), { kind: 'words' });
  t.end();
});

t.test('CLI-2 · PRF-1 · names are of the profile that the command will look in', (t) => {
  const rows: readonly (readonly [words: string, profile: string | undefined])[] = [
    ['mcp test ', 'default'],
    ['mcp test --profile work ', 'work'],
    ['--profile=work mcp logs ', 'work'],
    ['mcp reauth --profile work --profile home ', 'home'],
    ['cron show ', 'default'],
    ['webhook remove ', 'default'],
    ['webhook show ', undefined],
    ['webhook show --profile work ', 'work'],
    ['webhook subscribe ci --prompt --profile --cron-job ', 'default'],
    ['webhook subscribe ci --route-profile work --cron-job ', 'work'],
    ['events --route ', undefined],
    ['inspect follow --server ', undefined],
  ];
  for (const [words, profile] of rows) {
    const expected = expectedAt(words.split(' '));
    t.strictSame(expected.kind === 'names' ? expected.profile : expected, profile, words);
  }
  t.end();
});

t.test('CLI-2 · every path of the catalogue can be completed word by word', (t) => {
  for (const { path } of catalogue.filter(({ hidden }) => hidden !== true)) {
    for (const [at, word] of path.entries()) {
      const expected = expectedAt([...path.slice(0, at), '']);
      t.ok(
        expected.words.some((one) => one.word === word),
        path.slice(0, at + 1).join(' '),
      );
    }
  }
  t.end();
});

t.test('CLI-2 · no words crash the parser or the completion, and what is accepted names a command', (t) => {
  const known = catalogue.flatMap(({ path, flags }) => [...path, ...flags.map(({ name }) => `--${name}`)]);
  const word = fc.oneof(fc.constantFrom(...known, '--', '-h', '--home', '--home=x', '-', '=', ''), fc.string());
  fc.assert(
    fc.property(fc.array(word, { maxLength: 6 }), (words) => {
      expectedAt(words);
      const parsed = parseWords(words);
      if (parsed.kind === 'command') return catalogue.includes(parsed.command);
      return parsed.kind !== 'misused' || (parsed.message !== '' && parsed.cure !== '');
    }),
  );
  t.end();
});
