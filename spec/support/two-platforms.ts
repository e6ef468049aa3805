/** A home with an agent of a script and two platforms, for journeys about where responses and notices go. */

import { existsSync } from 'node:fs';
import type { Test } from 'tap';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import { askCli, type Daemon, startDaemon } from './daemon.ts';
import { makeHome } from './home.ts';
import { eventually } from './mcp/gateway.ts';
import { type FakePlatform, type PlatformFixture, startPlatform } from './platforms/fake-platform.ts';
import { mattermostApi } from './platforms/mattermost.ts';
import { slackApi } from './platforms/slack.ts';
import { until } from './processes.ts';
import { postSigned } from './sign.ts';

const secret = 'notices-secret-notices-secret';
export const chat = slackApi.chat ?? '';

/** Fails unless its prompt asks for an answer, and waits for a file where it asks for that. */
const agent = `prompt=$(cat)
case "$prompt" in *wait*)
  printf x >>began.txt
  while [ ! -e go ] && [ -e config.yaml ]; do sleep 0.02; done
esac
case "$prompt" in
  *answer*) printf Fine. ;;
  *) printf 'no such build: key ${secret}' >&2; exit 1 ;;
esac
`;

export interface Row {
  readonly id: string;
  readonly delivery_id: string;
  readonly target: string;
  readonly status: string;
  readonly failed_run?: string;
}

export async function openHome(t: Test) {
  const home = makeHome(t, { 'scripts/agent.sh': agent });
  const slack = await startPlatform(slackApi);
  const mattermost = await startPlatform(mattermostApi);
  t.teardown(() => slack.close());
  t.teardown(() => mattermost.close());
  const entry = ({ options }: PlatformFixture, { base }: FakePlatform, more: JsonObject): Json => ({
    enabled: true,
    api_base: base,
    ...options,
    ...more,
  });
  const configure = (routes: JsonObject, more: JsonObject = {}): void => {
    const config = {
      agent: { runner: 'command', command: ['sh', 'scripts/agent.sh'], ...more },
      platforms: {
        slack: entry(slackApi, slack, { home_channel: chat }),
        mattermost: entry(mattermostApi, mattermost, {}),
        webhook: { enabled: true, extra: { host: '127.0.0.1', port: 0, secret, routes } },
      },
    };
    // JSON is YAML.
    home.write('config.yaml', JSON.stringify(config));
  };
  const json = async <Value>(...words: readonly string[]): Promise<Value> =>
    JSON.parse((await askCli([...words, '--json'], home.path)).stdout) as Value;
  const sent = ({ world }: FakePlatform): string[] => world.messages.map(({ text }) => text);
  return {
    home,
    slack,
    mattermost,
    configure,
    json,
    sent,
    start: () => startDaemon(t, home.path),
    post: (daemon: Daemon, route: string, n: string, id: string) =>
      postSigned(`${daemon.url}/webhooks/${route}`, { n }, { secret, id }),
    began: () => until(() => existsSync(`${home.path}/began.txt`)),
    /** Resolves with the delivery of an event once it has a status. */
    reaches: (id: string, status: string): Promise<Row> =>
      eventually(async () =>
        (await json<readonly Row[]>('deliveries', 'list')).find(
          (row) => row.delivery_id === id && row.status === status,
        ),
      ),
    /** Resolves with an event once its row shows a status. */
    event: (id: string, status: string): Promise<JsonObject> =>
      eventually(async () =>
        (await json<readonly JsonObject[]>('events')).find((row) => row.delivery_id === id && row.status === status),
      ),
    ended: (id: string, status: string): Promise<Row> =>
      eventually(async () =>
        (await json<readonly Row[]>('runs', 'list')).find((row) => row.delivery_id === id && row.status === status),
      ),
  };
}
