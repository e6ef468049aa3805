import t from 'tap';
import { never, openBench, targetContract } from '../../../conformance/target.ts';
import { sms, smsKey } from '../../../support/platforms/sms.ts';

targetContract(t, sms);

t.test('DLV-1 · a messaging service stands in for a number', async (t) => {
  const bench = await openBench(t, sms);
  const { from: _, ...options } = sms.options;

  t.match(await bench.with({ options: { ...options, messaging_service_sid: 'MG1' } }).deliver('hello'), {
    kind: 'delivered',
  });
  t.equal(bench.platform.requests[0]?.form.get('MessagingServiceSid'), 'MG1');
  t.match(await bench.with({ options }).deliver('hello'), {
    kind: 'refused',
    class: 'auth',
    reason: /platforms\.sms\.from/,
  });
});

t.test('DLV-1 · an API key of the usual kind is verified where it may look, and sends', async (t) => {
  const bench = await openBench(t, sms);
  const { auth_token: _, ...options } = sms.options;
  const keyed = bench.with({ options: { ...options, ...smsKey } });

  t.match(await keyed.target.verify(never), { kind: 'verified' });
  t.match(await keyed.deliver('hello'), { kind: 'delivered' });
  bench.platform.scripts.push({ status: 403, json: { code: 20403, message: 'no', status: 403 } });
  t.match(await keyed.target.verify(never), { kind: 'unverifiable', reason: /may not read messages/ });
  const wrong = bench.with({ options: { ...options, ...smsKey, api_secret: 'sec-other' } });
  t.match(await wrong.target.verify(never), { kind: 'refused', class: 'auth' });
});

t.test('DLV-4 · a text waits while the queue of the sender’s number is full', async (t) => {
  const bench = await openBench(t, sms);
  bench.platform.scripts.push({ status: 400, json: { code: 21611, message: 'queue', status: 400 } });
  t.match(await bench.deliver('hello'), { kind: 'rateLimited' });
});
