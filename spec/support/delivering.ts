/** A real daemon whose routes deliver to platforms on loopback, and its real doors. */

import type { Test } from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { askCli, type CliResult, type Daemon, startDaemon } from './daemon.ts';
import { makeHome, type TestHome } from './home.ts';
import { eventually } from './mcp/gateway.ts';
import { discordApi } from './platforms/discord.ts';
import { type FakePlatform, type PlatformFixture, startPlatform } from './platforms/fake-platform.ts';
import { mattermostApi } from './platforms/mattermost.ts';
import { slackApi } from './platforms/slack.ts';
import { smtpRecipient } from './platforms/smtp-server.ts';
import { type Answer, postSigned } from './sign.ts';
import { adapterOf } from './webhook-adapter.ts';

const secret = 'deliveries-secret-deliveries';
/** Short enough for a spec, long enough that each wait is one. */
export const hasty = { max_attempts: 3, base_seconds: 0.05, longest_seconds: 0.2 };

export interface Sending {
  readonly id: string;
  readonly delivery_id: string;
  readonly target: string;
  readonly status: string;
  readonly attempts: number;
  readonly reason?: string;
  readonly next_try_at?: string;
  readonly failed_run?: string;
}

export interface Target {
  readonly name: string;
  readonly target: string;
  readonly state: string;
  readonly since: string;
  readonly account?: string;
  readonly error?: string;
}

/** The environment of a daemon beside the spec's own, and how it is started. */
type Started = Parameters<typeof startDaemon> extends [unknown, unknown, ...infer More] ? More : never;

export interface Delivering extends Pick<ReturnType<typeof doorsOf>, 'json' | 'reaches'> {
  readonly home: TestHome;
  /** Knows a message again by its nonce. */
  readonly discord: FakePlatform;
  /** Knows none again. */
  readonly slack: FakePlatform;
  /** Writes the configuration: keys of each platform beside its address and credentials. */
  configure(more?: { readonly [part in 'slack' | 'discord' | 'others' | 'gateway']?: JsonObject }): void;
  start(...given: Started): Promise<Daemon>;
  /** Sends a signed event to the route of a platform. */
  post(daemon: Daemon, route: string, id: string, signal?: AbortSignal): Promise<Answer>;
  cli(...words: readonly string[]): Promise<CliResult>;
  target(name: string, state: string): Promise<Target>;
}

/** The entry of a platform in the configuration. */
export function entryOf({ options }: PlatformFixture, { base }: FakePlatform, more: JsonObject = {}): JsonObject {
  return { enabled: true, api_base: base, ...options, ...more };
}

/** What the command line says of a home. */
export function doorsOf({ path }: TestHome) {
  const json = async <Value>(...words: readonly string[]): Promise<Value> =>
    JSON.parse((await askCli([...words, '--json'], path)).stdout) as Value;
  /** Resolves with the row of an event in a list once it has a status. */
  const row = <Row extends { readonly delivery_id: string; readonly status: string }>(
    list: readonly string[],
    id: string,
    status: string,
  ): Promise<Row> =>
    eventually(async () =>
      (await json<readonly Row[]>(...list)).find((one) => one.delivery_id === id && one.status === status),
    );
  return {
    json,
    row,
    /** Resolves with the delivery of an event once it has a status. */
    reaches: (id: string, status: string): Promise<Sending> => row(['deliveries', 'list'], id, status),
  };
}

export async function openDelivering(t: Test): Promise<Delivering> {
  const home = makeHome(t);
  const slack = await startPlatform(t, slackApi);
  const discord = await startPlatform(t, discordApi);
  const route = (deliver: string, chat: string | undefined, more: JsonObject = {}): JsonObject => ({
    prompt: 'Build {n} is green.',
    deliver,
    ...(chat === undefined ? {} : { deliver_extra: { chat_id: chat } }),
    ...more,
  });
  const configure: Delivering['configure'] = (more = {}) => {
    const config = {
      gateway: more.gateway ?? {},
      platforms: {
        slack: entryOf(slackApi, slack, more.slack ?? {}),
        discord: entryOf(discordApi, discord, more.discord ?? {}),
        ...more.others,
        webhook: adapterOf(
          {
            slack: route('slack', slackApi.chat),
            discord: route('discord', discordApi.chat),
            aliased: route('team_chat_a', slackApi.chat),
            home: route('slack', undefined),
            homeDiscord: route('discord', undefined),
            telegram: route('telegram', '7'),
            mattermost: route('mattermost', mattermostApi.chat),
            mail: route('email', smtpRecipient),
            directSlack: route('slack', slackApi.chat, { deliver_only: true }),
            directMattermost: route('mattermost', mattermostApi.chat, { deliver_only: true }),
            directDiscord: route('discord', discordApi.chat, { deliver_only: true }),
          },
          { secret, rate_limit: 10_000 },
        ),
      },
    };
    // JSON is YAML.
    home.write('config.yaml', JSON.stringify(config));
  };
  configure();
  const doors = doorsOf(home);
  return {
    home,
    slack,
    discord,
    configure,
    start: (...given) => startDaemon(t, home.path, ...given),
    post: (daemon, name, id, signal) =>
      postSigned(
        `${daemon.url}/webhooks/${name}`,
        { n: id },
        { secret, id, ...(signal === undefined ? {} : { signal }) },
      ),
    cli: (...words) => askCli(words, home.path),
    ...doors,
    target: (name, state) =>
      eventually(async () =>
        (await doors.json<readonly Target[]>('deliveries', 'targets')).find(
          (row) => row.name === name && row.state === state,
        ),
      ),
  };
}
