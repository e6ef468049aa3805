import t from 'tap';
import type { Exchange } from '../../../runtime/http/http-server.ts';
import { liveRequest, parsedOf, textOf } from '../../../runtime/webhook/exchanges.ts';

const exchange: Exchange = {
  head: { method: 'POST', path: '/webhooks/a', headers: { 'x-test': 'b' } },
  readBody: () => {},
  reply: () => {},
};

t.test('LIM-3 · a request begins with its headers, no body and nothing opened', (t) => {
  const live = liveRequest(exchange);
  t.same(
    { headers: live.headers, body: live.body.length, text: textOf(live), opened: live.opened },
    { headers: { 'x-test': 'b' }, body: 0, text: '', opened: { kind: 'nothing' } },
  );
  t.end();
});

t.test('LIM-3 · the body is parsed once; of a request that has ended there is none', (t) => {
  const live = liveRequest({ ...exchange, head: { ...exchange.head, headers: {} } }, Buffer.from('[{"n":1}]'));
  const parsed = parsedOf(live, { shape: 'each' });
  t.same(parsed, { ok: true, value: { items: [{ n: 1 }] }, items: [{ n: 1 }] });
  t.equal(parsedOf(live, { shape: 'each' }), parsed);
  t.match(parsedOf(undefined), { ok: false });
  t.end();
});

t.test(
  'SRC-1 · the text that is kept of a body with a credential is without it, also where the body is one event',
  (t) => {
    const live = liveRequest(exchange, Buffer.from('{"value":[{"id":"a","clientState":"s"},1],"more":true}'));
    const parsed = parsedOf(live, { shape: 'raw', items: 'value', omit: 'clientState' });
    t.match(parsed, { value: { value: [{ clientState: 's' }, 1] } }, 'which verifies the request');
    t.equal(textOf(live), '{"value":[{"id":"a"},1],"more":true}');
    t.end();
  },
);

t.test('DUR-2 · LIM-3 · the text that is kept of a form with files is its payload, which a replay reads alike', (t) => {
  const head = { ...exchange.head, headers: { 'content-type': 'multipart/form-data; boundary=x' } };
  const field = 'Content-Disposition: form-data; name=';
  const form = `--x\r\n${field}"a"\r\n\r\n1\r\n--x\r\n${field}"b"; filename="c"\r\n\r\n\xff\r\n--x--`;
  const value = { a: '1', b: { name: 'c', type: 'application/octet-stream', size: 1 } };
  for (const shape of ['object', 'each', 'raw'] as const) {
    const live = liveRequest({ ...exchange, head }, Buffer.from(form, 'latin1'));
    t.same(parsedOf(live, { shape }), { ok: true, value });
    t.equal(textOf(live), JSON.stringify(value));
    t.same(parsedOf(liveRequest({ ...exchange, head }, Buffer.from(textOf(live) ?? '')), { shape }), {
      ok: true,
      value,
    });
  }
  const part = {
    scheme: undefined,
    signature: undefined,
    deliveryId: 'd',
    index: 0,
    claim: () => {},
    answered: () => {},
  };
  const item = { ...liveRequest({ ...exchange, head }, Buffer.from('{"n":1}')), part };
  t.same(parsedOf(item), { ok: true, value: { n: 1 } }, 'an event of an array that came in one is JSON');
  t.end();
});

t.test('LIM-3 · the body is decoded once, and is no text where it is not UTF-8', (t) => {
  const live = liveRequest(exchange, Buffer.from('ä'));
  t.equal(textOf(live), 'ä');
  live.body = Buffer.from('other');
  t.equal(textOf(live), 'ä', 'whoever asks later gets the same');
  t.equal(textOf(liveRequest(exchange, Buffer.from([0x7b, 0xff]))), undefined);
  t.end();
});
