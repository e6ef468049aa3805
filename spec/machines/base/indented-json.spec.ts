import t from 'tap';
import { indentedJson, indentedStart } from '../../../machines/base/indented-json.ts';

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

t.test('INS-4 · the beginning of JSON is indented too, wherever it was cut', (t) => {
  const value = { title: 'a, {b}', rows: [{ n: 1, say: 'x\\"y\\u00e9' }, { n: 2 }], end: {} };
  const text = JSON.stringify(value);
  const whole = indentedJson(text);
  for (let at = text.indexOf(',"rows"') + 1; at < text.length; at += 1) {
    const start = indentedStart(text.slice(0, at));
    t.ok(whole.startsWith(start), start);
    t.match(start, /^\{\n {2}"title": /);
  }
  for (const other of ['[12:01] INFO up, well', '1, 2', `${'['.repeat(60_000)},`, 'no JSON, "at all', '"a, b', ''])
    t.equal(indentedStart(other), other);
  t.end();
});
