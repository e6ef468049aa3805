import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { Command, CommandHost, CommandPeer } from '../../../runtime/control/command.ts';
import { deliveryCommands } from '../../../runtime/control/delivery-commands.ts';

t.test(
  'DLV-4 · CLI-2 · whatever narrows a list of deliveries reaches the service, and a limit has its bounds',
  async (t) => {
    const asked: unknown[] = [];
    const deliveryService = {
      list: (query: unknown) => {
        asked.push(query);
        return [];
      },
    };
    const host = { daemon: { deliveryService } } as unknown as CommandHost;
    const narrow = { route: 'r', profile: 'work', status: 'queued', target: 'slack', before: 'k9' };
    const rows: readonly (readonly [JsonObject, object])[] = [
      [{}, { limit: 50 }],
      [narrow, { limit: 50, ...narrow }],
      [{ limit: 0 }, { limit: 1 }],
      [{ limit: 5_000 }, { limit: 1_000 }],
      [{ profile: null, target: null }, { limit: 50 }],
    ];
    for (const [params, expected] of rows) {
      await new Map<string, Command>(Object.entries(deliveryCommands)).get('deliveries.list')?.(
        host,
        params,
        {} as CommandPeer,
      );
      t.same(asked.at(-1), expected, JSON.stringify(params));
    }
  },
);

t.test('CLI-3 · deliveries that are confirmed are named by ids or by a group', async (t) => {
  const host = { daemon: { deliveryService: {}, failures: {} } } as unknown as CommandHost;
  const confirm = deliveryCommands['deliveries.confirm'] as Command;
  for (const params of [{}, { id: 'k1' }]) {
    await t.rejects(Promise.resolve(confirm(host, params, {} as CommandPeer)), {
      code: 'params-missing',
      message: /"ids"/,
    });
  }
});
