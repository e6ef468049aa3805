import t from 'tap';
import { comparable } from '../../../../../runtime/inspector/page/data/differences.ts';
import { jsonParts } from '../../../../../runtime/inspector/page/data/json-parts.ts';
import { isLinear } from '../../../../support/linear.ts';

const named = (text: string): readonly string[] =>
  jsonParts(text).flatMap(({ name, text: part }) => (name === '' ? [] : [`${name} ${part}`]));

t.test('INS-4 · keys, strings, numbers and words are distinguished, also where a string is cut', (t) => {
  const text = '{"a": "x \\"1\\" y", "b": [-1.5e3, true, null]}';
  t.same(named(text), ['k "a":', 's "x \\"1\\" y"', 'k "b":', 'n 1.5e3', 'n true', 'n null']);
  for (const one of [text, '', 'plain', text.slice(0, 9)])
    t.equal(
      jsonParts(one)
        .map((part) => part.text)
        .join(''),
      one,
    );
  t.same(named('{"a":"x \\"1'), ['k "a":', 's "x \\"1']);
  t.same(named('"x\\'), ['s "x\\']);
  t.end();
});

t.test('INS-4 · a cut string with many quotes is divided, and one that is no JSON compared, in linear time', (t) => {
  const cut = (size: number): string => `{"text":"${'\\"'.repeat(size)}`;
  for (const read of [jsonParts, comparable]) t.ok(isLinear((size) => () => read(cut(size)), 500));
  t.end();
});
