import t from 'tap';
import type { RequestContext } from '../../../machines/webhook/webhook-request.machine.ts';
import { type LiveRequest, liveRequest } from '../../../runtime/webhook/exchanges.ts';
import { createRequestEnds } from '../../../runtime/webhook/request-ends.ts';

const ending = () => {
  const exchanges = new Map<string, LiveRequest>();
  const told = { decided: [] as RequestContext[], traced: 0, replies: [] as number[] };
  const ends = createRequestEnds({
    exchanges,
    find: () => undefined,
    decided: (output) => told.decided.push(output),
    traced: () => {
      told.traced += 1;
    },
    nowMs: () => 7,
  });
  const open = (key: string, checksOnly?: true): void => {
    const head = { method: 'POST', path: '/webhooks/a', headers: { 'x-request-id': 'd' } };
    const reply = ({ status }: { readonly status: number }) => void told.replies.push(status);
    exchanges.set(key, { ...liveRequest({ head, readBody: () => {}, reply }), checksOnly });
  };
  return { told, ends, open, exchanges };
};
const output = (id: string): RequestContext => ({ id, origin: 'http', method: 'POST', path: '/', receivedAtMs: 0 });

t.test('INS-1 · a request that ends has its row and its trace, and a check by the owner neither', (t) => {
  const { ends, open, told, exchanges } = ending();
  open('a');
  open('b', true);
  for (const key of ['a', 'b']) ends.onDone(key, output(key));
  t.match(told, { decided: [{ id: 'a' }], traced: 1, replies: [] });
  t.equal(exchanges.size, 0);
  t.end();
});

t.test('RTE-3 · INS-1 · a request whose chart crashed is answered 500, with a row that names the log', (t) => {
  const { ends, open, told, exchanges } = ending();
  open('a');
  ends.onCrashed('a');
  ends.onCrashed('unknown');
  const row = { id: 'a', path: '/webhooks/a', receivedAtMs: 7, outcome: { kind: 'internal' }, reason: /request a$/ };
  t.match(told, { decided: [row], traced: 0, replies: [500] });
  t.equal(told.decided.length, 1);
  t.equal(exchanges.size, 0);
  t.end();
});
