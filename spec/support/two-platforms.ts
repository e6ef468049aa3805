/** A home with an agent of a script and two platforms, for journeys about where responses and notices go. */

import { existsSync } from 'node:fs';
import type { Test } from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { type Daemon, startDaemon } from './daemon.ts';
import { doorsOf, entryOf, type Sending } from './delivering.ts';
import { makeHome } from './home.ts';
import { type FakePlatform, startPlatform } from './platforms/fake-platform.ts';
import { mattermostApi } from './platforms/mattermost.ts';
import { slackApi } from './platforms/slack.ts';
import { until } from './processes.ts';
import { postSigned } from './sign.ts';
import { adapterOf } from './webhook-adapter.ts';

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

export type Row = Pick<Sending, 'id' | 'delivery_id' | 'target' | 'status' | 'failed_run'>;

export async function openHome(t: Test) {
  const home = makeHome(t, { 'scripts/agent.sh': agent });
  const slack = await startPlatform(t, slackApi);
  const mattermost = await startPlatform(t, mattermostApi);
  const configure = (routes: JsonObject, more: JsonObject = {}): void => {
    const config = {
      agent: { runner: 'command', command: ['sh', 'scripts/agent.sh'], ...more },
      platforms: {
        slack: entryOf(slackApi, slack, { home_channel: chat }),
        mattermost: entryOf(mattermostApi, mattermost),
        webhook: adapterOf(routes, { secret }),
      },
    };
    // JSON is YAML.
    home.write('config.yaml', JSON.stringify(config));
  };
  const { json, row, reaches } = doorsOf(home);
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
    reaches,
    /** Resolves with an event, or its run, once its row shows a status. */
    event: (id: string, status: string) => row<Row & JsonObject>(['events'], id, status),
    ended: (id: string, status: string) => row<Row>(['runs', 'list'], id, status),
  };
}
