import t from 'tap';
import { wordsOf } from '../../../cli/setup/answers.ts';
import { fc } from '../../support/property.ts';

t.test('CLI-1 · a command is parted as a shell would part it, and nothing is expanded', (t) => {
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ['my-agent --headless', ['my-agent', '--headless']],
    ['  sh -c "echo $HOME; cat"  ', ['sh', '-c', 'echo $HOME; cat']],
    [`a 'b c' "d \\"e\\"" f\\ g h'i'"j"`, ['a', 'b c', 'd "e"', 'f g', 'hij']],
    [`a '' ""`, ['a', '', '']],
    ['a "b', []],
    [`a 'b`, []],
    [`${'a'.repeat(5_000)}"`, []],
    ['', []],
    ['   ', []],
  ];
  for (const [text, words] of rows) t.same(wordsOf(text), words, text);
  t.end();
});

t.test('CLI-1 · words that are quoted are read back', (t) => {
  const word = fc.string({ unit: 'binary', maxLength: 12 });
  const quoted = (text: string): string => `'${text.replaceAll("'", `'"'"'`)}'`;
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), (words) => {
      t.same(wordsOf(words.map(quoted).join(' ')), words);
    }),
  );
  fc.assert(fc.property(fc.string(), (text) => Array.isArray(wordsOf(text))));
  t.end();
});
