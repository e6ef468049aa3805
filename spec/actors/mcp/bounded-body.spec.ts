import t from 'tap';
import { boundBody } from '../../../actors/mcp/bounded-body.ts';

t.test('LIF-13 · a body up to the cap passes with status and headers', async (t) => {
  const bounded = await boundBody(new Response('1234', { status: 404, headers: { 'x-a': 'b' } }), 4, 'here');
  t.equal(bounded.status, 404);
  t.equal(bounded.headers.get('x-a'), 'b');
  t.equal(await bounded.text(), '1234');
});

t.test('LIF-13 · a longer one fails, before it is read where it says so', async (t) => {
  const longer = await boundBody(new Response('12345'), 4, 'here');
  await t.rejects(longer.text(), { message: 'here: answers with more than 4 bytes' });
  const declared = new Response('12345', { headers: { 'content-length': '5' } });
  await t.rejects(boundBody(declared, 4, 'here'), { message: 'here: answers with more than 4 bytes' });
});

t.test('LIF-13 · an answer without a body is left alone', async (t) => {
  const empty = new Response(null, { status: 204 });
  t.equal(await boundBody(empty, 4, 'here'), empty);
});

function stream(chunks: readonly string[]): Response {
  const bytes = chunks.map((chunk) => new TextEncoder().encode(chunk));
  return new Response(ReadableStream.from(bytes), { headers: { 'content-type': 'Text/Event-Stream; charset=utf-8' } });
}

t.test('LIF-13 · a stream of events may go on for ever, and none of its events', async (t) => {
  const rows: readonly (readonly [readonly string[], 'passes' | 'fails'])[] = [
    [Array.from({ length: 50 }, () => 'data: 1\n\n'), 'passes'],
    [Array.from({ length: 50 }, () => 'data: 1\r\r'), 'passes'],
    [Array.from({ length: 50 }, () => 'data: 1\r\n\r\n'), 'passes'],
    [Array.from({ length: 50 }, () => ['data: 1\n', '\n']).flat(), 'passes'],
    [Array.from({ length: 50 }, () => ['data: 1\r', '\n', '\r', '\n']).flat(), 'passes'],
    [[...'data: 1\n\n'.repeat(20)], 'passes'],
    [['data: 1\n\n'.repeat(50)], 'passes'],
    [['data: 1\n\n', 'data: 123', '4567890', '1234567890'], 'fails'],
    [Array.from({ length: 50 }, () => 'data: 1\n'), 'fails'],
  ];
  for (const [chunks, expected] of rows) {
    const { text, name } = { text: chunks.join(''), name: JSON.stringify(chunks).slice(0, 80) };
    const bounded = await boundBody(stream(chunks), 20, 'here');
    if (expected === 'passes') t.equal(await bounded.text(), text, name);
    else await t.rejects(bounded.text(), { message: 'here: answers with an event of more than 20 bytes' }, name);
  }
});
