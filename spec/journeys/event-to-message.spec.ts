/**
 * The whole job at once: a signed event, a run of the model, a tool of a real server, a message on a platform, with a
 * kill -9 in the middle. Two profiles do it side by side, and neither reaches anything of the other.
 */

import { fileURLToPath } from 'node:url';
import t from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { type AskedModel, type ModelReply, startModelServer } from '../support/model-server.ts';
import { startPlatform } from '../support/platforms/fake-platform.ts';
import { slackApi } from '../support/platforms/slack.ts';
import { until } from '../support/processes.ts';
import { postSigned } from '../support/sign.ts';
import { cliJson } from '../support/webhook-home.ts';

const memory = fileURLToPath(new URL('../servers/memory.js', import.meta.url));
const profiles = ['default', 'work'] as const;
type Profile = (typeof profiles)[number];
const secretOf = (profile: Profile): string => `secret-of-${profile}-secret`;
const keyOf = (profile: Profile): string => `sk-model-key-of-${profile}`;

t.test(
  'DIS-3 · PRF-1 · PRF-2 · DUR-1 · an event becomes a message, by the means of its own profile alone',
  async (t) => {
    const slacks = { default: await startPlatform(t, slackApi), work: await startPlatform(t, slackApi) };
    const home = makeHome(t);
    const fileOf = (profile: Profile) => `${home.path}/memory-of-${profile}.jsonl`;
    /** Asks for the notes; falls silent in mid-answer when it first has them, and answers the second time. */
    const answers = (profile: Profile) => {
      let reads = 0;
      return ({ body }: AskedModel): ModelReply => {
        const result = (body.messages as unknown as JsonObject[]).find(({ role }) => role === 'tool');
        if (result === undefined) {
          return { kind: 'says', calls: [{ name: `mcp__${profile}_memory__read_graph`, args: '{}' }] };
        }
        reads += 1;
        return reads === 1
          ? { kind: 'silent', text: 'Half of ' }
          : { kind: 'says', text: `It says: ${result.content}` };
      };
    };
    const models = {
      default: await startModelServer(t, answers('default')),
      work: await startModelServer(t, answers('work')),
    };
    for (const profile of profiles) {
      const note = { type: 'entity', name: `note-of-${profile}`, entityType: 'note', observations: [] };
      home.write(`memory-of-${profile}.jsonl`, JSON.stringify(note));
      const prefix = profile === 'default' ? '' : 'profiles/work/';
      home.write(`${prefix}.env`, `MODEL_KEY=${keyOf(profile)}\n`);
      const toolsets = [`mcp-${profile}-memory`];
      const route = { prompt: 'Read it, {n}', deliver: 'slack', toolsets, profile, secret: secretOf(profile) };
      const webhook = { enabled: true, extra: { host: '127.0.0.1', port: 0, routes: { [profile]: route } } };
      home.write(
        `${prefix}config.yaml`,
        JSON.stringify({
          gateway: { multiplex_profiles: true },
          agent: {
            runner: 'model',
            model: {
              provider: 'openai-compatible',
              base_url: models[profile].url,
              api_key: '${MODEL_KEY}',
              name: `model-of-${profile}`,
            },
          },
          mcp_servers: {
            [`${profile}-memory`]: {
              command: process.execPath,
              args: [memory],
              env: { MEMORY_FILE_PATH: fileOf(profile) },
            },
          },
          platforms: {
            slack: {
              enabled: true,
              api_base: slacks[profile].base,
              ...slackApi.options,
              home_channel: slackApi.chat ?? '',
            },
            webhook,
          },
        }),
      );
    }
    const first = await startDaemon(t, home.path);
    const address = (url: string, profile: Profile) =>
      `${url}${profile === 'default' ? '' : '/p/work'}/webhooks/${profile}`;
    for (const profile of profiles) {
      const answer = await postSigned(
        address(first.url, profile),
        { n: 1 },
        { secret: secretOf(profile), id: profile },
      );
      t.equal(answer.status, 202, profile);
    }
    // Both have the tool's result, and half of an answer.
    await until(() => profiles.every((profile) => models[profile].asked.length === 2));

    await first.kill('SIGKILL');
    const second = await startDaemon(t, home.path);

    await until(() => profiles.every((profile) => slacks[profile].world.messages.length > 0));
    let rows: readonly JsonObject[] = [];
    await until(async () => {
      rows = (await cliJson(home.path, 'runs', 'list')) as readonly JsonObject[];
      return rows.every(({ status }) => status === 'delivered');
    });
    t.same(rows.map(({ profile, attempt }) => [profile, attempt]).sort(), [
      ['default', 2],
      ['work', 2],
    ]);
    for (const profile of profiles) {
      const other = profile === 'default' ? 'work' : 'default';
      t.match(slacks[profile].world.messages, [{ text: new RegExp(`^It says: [^]*note-of-${profile}`) }]);
      t.equal(slacks[profile].world.messages.length, 1);
      const asked = JSON.stringify(models[profile].asked);
      t.match(asked, keyOf(profile));
      t.match(asked, `mcp__${profile}_memory__read_graph`);
      for (const alien of [keyOf(other), `mcp__${other}_memory`, `note-of-${other}`]) t.notMatch(asked, alien);
      for (const secret of [keyOf(profile), secretOf(profile), String(slackApi.options.token)])
        t.notMatch(JSON.stringify([...first.log, ...second.log, rows]), secret);
    }
  },
);
