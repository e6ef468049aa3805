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

t.test('LIF-13 · a stream of events and an answer without a body are left alone', async (t) => {
  for (const response of [
    new Response('12345', { headers: { 'content-type': 'Text/Event-Stream; charset=utf-8' } }),
    new Response(null, { status: 204 }),
  ]) {
    t.equal(await boundBody(response, 4, 'here'), response);
  }
});
