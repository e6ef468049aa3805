/** The overview and the first steps: from the socket and in a real browser, over real daemons. */

import t from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import type { Overview } from '../../runtime/inspector/overview-wire.ts';
import { makeHome } from '../support/home.ts';
import { entryOf, type Gateway, startGateway } from '../support/mcp/gateway.ts';
import { started } from '../support/mcp/plain-client.ts';
import { startPlatform } from '../support/platforms/fake-platform.ts';
import { slackApi } from '../support/platforms/slack.ts';
import { postSigned } from '../support/sign.ts';

const secret = 'inspector-overview-secret-of-the-spec';

t.test('a daemon with work, and something wrong', async (t) => {
  const slack = await startPlatform(slackApi);
  t.teardown(() => slack.close());
  const toSlack = { deliver: 'slack', deliver_only: true };
  const config = {
    inspector: { port: 0 },
    agent: { runner: 'echo', concurrency: 4 },
    platforms: {
      slack: { enabled: true, api_base: slack.base, ...slackApi.options },
      webhook: {
        enabled: true,
        extra: {
          host: '127.0.0.1',
          port: 0,
          secret,
          routes: {
            reviews: { filters: [{ field: 'action', equals: 'opened' }], prompt: 'Review', deliver: 'log' },
            builds: { coalesce: { key: 'branch', window_seconds: 600 }, prompt: 'Built', deliver: 'log' },
            deploys: { prompt: 'Deployed {n}', ...toSlack, deliver_extra: { chat_id: slackApi.unknown?.chat ?? '' } },
            quiet: { prompt: 'Nothing yet', deliver: 'log', enabled: false },
          },
        },
      },
    },
  };
  const peer = await started(t);
  const gateway = await startGateway(
    t,
    { broken: { command: '/nowhere/server' }, peer: entryOf(peer, { trust: 'untrusted' }) },
    { config, home: makeHome(t) },
  );
  await gateway.reaches('peer', 'connected');
  await gateway.reaches('broken', 'failed', 'parked');
  await send(gateway, 'reviews', { action: 'opened' }, 'd-run');
  await send(gateway, 'reviews', { action: 'closed' }, 'd-ignored');
  await send(gateway, 'builds', { branch: 'main' }, 'd-batch');
  for (const n of [1, 2]) await send(gateway, 'deploys', { n }, `d-deploy-${n}`);
  const call = gateway.call('mcp__peer__write_note', { text: 'hello' }).catch(() => undefined);
  const question = await gateway.asked();
  const read = async (range?: string): Promise<Overview> =>
    (await gateway.control.call('overview.read', range === undefined ? {} : { range })) as unknown as Overview;
  console.error(JSON.stringify(await read(), null, 1), question);
  await gateway.answer(question.id, true);
  await call;
});

async function send({ daemon }: Gateway, route: string, payload: JsonObject, id: string) {
  return postSigned(`${daemon.url}/webhooks/${route}`, payload, { secret, id });
}
