import t from 'tap';
import { indentedJson } from '../../../machines/base/indented-json.ts';

t.test('INS-4 · JSON is indented, and each of its numbers and keys stays as its sender wrote it', (t) => {
  const values = [{}, [], 'a "b" \\ {c', 1, null, [[], {}, [{ a: [1, { b: '[,]' }], c: true }]], { a: {}, b: [[]] }];
  for (const value of values) {
    const text = JSON.stringify(value, null, 2);
    for (const given of [JSON.stringify(value), text, ` ${text} `]) t.equal(indentedJson(given), text);
  }
  t.equal(
    indentedJson('{"2":1.0,"1":9007199254740993,"text":"\\u4f60\\/\\u007f","2":-0}'),
    '{\n  "2": 1.0,\n  "1": 9007199254740993,\n  "text": "你/\u007f",\n  "2": -0\n}',
  );
  for (const text of ['no {json', 'a=1&b=2', '', `${'['.repeat(500_000)}${']'.repeat(500_000)}`])
    t.equal(indentedJson(text), text);
  t.end();
});
