import t from 'tap';
import { openBench, targetContract } from '../../../conformance/target.ts';
import { homeNotice, homeService } from '../../../support/platforms/home-automation.ts';

for (const fixture of [homeNotice, homeService]) targetContract(t, fixture);

t.test('DLV-1 · a title comes along', async (t) => {
  const bench = await openBench(t, homeNotice);
  await bench.deliver('hello', { title: 'Build' });

  t.match(bench.platform.requests[0]?.json, { title: 'Build', message: 'hello', notification_id: /^[\w-]{32}$/ });
});
