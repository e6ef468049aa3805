import t from 'tap';
import { openBench, targetContract } from '../../../conformance/target.ts';
import { sms } from '../../../support/platforms/sms.ts';

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
