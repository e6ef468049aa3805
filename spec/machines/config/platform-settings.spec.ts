import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { checkPlatform, platformSchemas, readPlatform, secretsOf } from '../../../machines/config/platform-settings.ts';
import { targets } from '../../../machines/config/targets.ts';
import { validate } from '../../../machines/config/validate.ts';
import { bluebubblesApi } from '../../support/platforms/bluebubbles.ts';
import { describedApis } from '../../support/platforms/described.ts';
import { dingtalkApp, dingtalkRobot } from '../../support/platforms/dingtalk.ts';
import { discordApi } from '../../support/platforms/discord.ts';
import type { PlatformFixture } from '../../support/platforms/fake-platform.ts';
import { feishuApi } from '../../support/platforms/feishu.ts';
import { homeNotice } from '../../support/platforms/homeassistant.ts';
import { matrixApi } from '../../support/platforms/matrix.ts';
import { mattermostApi } from '../../support/platforms/mattermost.ts';
import { qqbotApi } from '../../support/platforms/qqbot.ts';
import { signalApi } from '../../support/platforms/signal.ts';
import { slackApi } from '../../support/platforms/slack.ts';
import { sms } from '../../support/platforms/sms.ts';
import { telegramApi } from '../../support/platforms/telegram.ts';
import { wecomApp, wecomRobot } from '../../support/platforms/wecom.ts';
import { weixinApi } from '../../support/platforms/weixin.ts';
import { whatsappApi, whatsappBridge } from '../../support/platforms/whatsapp.ts';

const codes = (name: string, entry: JsonObject): string[] => checkPlatform(name, entry).map(({ code }) => code);

t.test('DLV-5 · DLV-1 · every target but the log is configured by either of its names', (t) => {
  const names = [...targets]
    .flatMap(([name, { alias = name }]) => [...new Set([name, alias])])
    .filter((name) => name !== 'log');
  t.same(Object.keys(platformSchemas).sort(), names.sort());
  t.match(platformSchemas.team_chat_a, {
    ...platformSchemas.slack,
    description: 'The same as slack.',
    deprecated: true,
  });
  t.end();
});

t.test(
  'CON-3 · the credentials that a target reads are those that its entry may have, and its secrets are known',
  (t) => {
    const fixtures: readonly PlatformFixture[] = [
      telegramApi,
      discordApi,
      slackApi,
      signalApi,
      sms,
      matrixApi,
      mattermostApi,
      homeNotice,
      whatsappApi,
      whatsappBridge,
      dingtalkRobot,
      dingtalkApp,
      wecomApp,
      wecomRobot,
      feishuApi,
      weixinApi,
      bluebubblesApi,
      qqbotApi,
      ...describedApis,
    ];
    for (const { target, options } of fixtures) {
      const entry = { enabled: true, api_base: 'http://127.0.0.1:1', ...options };
      t.same(validate(platformSchemas[target] ?? {}, entry), [], target);
      t.same(codes(target, entry), [], target);
      const secrets = Object.values(options).filter((value) => typeof value === 'string' && /sec[-_]/.test(value));
      t.same(secretsOf(target, readPlatform(target, entry, undefined)).sort(), secrets.sort(), target);
    }
    const headers = { authorization: 'Bearer of-the-receiver', 'x-number': 7 };
    const http = readPlatform('http', { secret: 'of-the-sender', headers }, undefined);
    t.same(secretsOf('http', http), ['of-the-sender', 'Bearer of-the-receiver'], 'a header may hold a token');
    t.end();
  },
);

t.test('CON-3 · either way of logging in is enough, and what lacks least is asked for', (t) => {
  const rows: readonly (readonly [string, JsonObject, RegExp | undefined])[] = [
    ['whatsapp', { bridge_url: 'http://127.0.0.1:1' }, undefined],
    ['whatsapp', { token: 't' }, /lacks phone_number_id; set platforms\.whatsapp\.phone_number_id/],
    ['wecom', { robot_key: 'k' }, undefined],
    ['wecom', { corp_id: 'c', corp_secret: 's' }, /lacks agent_id/],
    ['wecom', {}, /lacks corp_id and corp_secret and agent_id/],
    ['whatsapp', {}, /lacks token and phone_number_id/],
    ['dingtalk', { app_key: 'k', app_secret: 's', robot_code: 'r' }, undefined],
    ['sms', { account_sid: 'a', api_key: 'k', api_secret: 's', from: '+1' }, undefined],
    ['email', { host: 'h', username: 'me@example.org' }, undefined],
    ['email', {}, /lacks host and from; set platforms\.email\.host and platforms\.email\.from/],
    ['mattermost', { token: 't' }, /lacks api_base/],
    ['telegram', { token: ' ' }, /lacks token/],
    ['signal', {}, undefined],
    ['github_comment', {}, undefined],
    ['gitlab_comment', {}, /lacks token/],
    ['gitea_comment', { token: 't' }, /lacks api_base/],
    ['jira', { api_base: 'http://127.0.0.1:1' }, /lacks token/],
    ['linear', {}, /lacks token/],
    ['sentry', { token: 't' }, /lacks organization/],
    ['pagerduty', { token: 't' }, /lacks from/],
    ['ntfy', {}, undefined],
    ['teams', {}, /lacks url/],
    ['google_chat', {}, /lacks url/],
    ['line', {}, /lacks token/],
    ['http', { url: 'http://127.0.0.1:1' }, /lacks secret/],
  ];
  for (const [name, entry, message] of rows) {
    const found = checkPlatform(name, { enabled: true, ...entry });
    if (message === undefined) t.same(found, [], name);
    else t.match(found, [{ code: 'credential-missing', path: [], message }], name);
    t.same(checkPlatform(name, { ...entry, enabled: false }), [], 'one that is switched off may lack anything');
  }
  t.end();
});

t.test('DLV-3 · GitHub is on unless it is switched off; the platforms are off unless they are switched on', (t) => {
  for (const [name, entry, enabled] of [
    ['github_comment', {}, true],
    ['github_comment', { enabled: false }, false],
    ['slack', {}, false],
    ['slack', { enabled: true }, true],
  ] as const) {
    t.match(readPlatform(name, entry, undefined), { enabled, name });
  }
  t.match(readPlatform('slack', {}, 'config.yaml:1: x'), { problem: 'config.yaml:1: x' });
  t.end();
});

t.test('DLV-4 · defaults are filled in, seconds become milliseconds', (t) => {
  t.same(readPlatform('slack', { enabled: true, token: 't' }, undefined), {
    name: 'slack',
    orderHoldMs: 600_000,
    enabled: true,
    concurrency: 4,
    timeoutMs: 10_000,
    retries: { attempts: 15, baseDelayMs: 2_000, maxDelayMs: 3_600_000 },
    options: { token: 't' },
  });
  const own = { concurrency: 2, messages_per_minute: 60, retries: { max_attempts: 1, base_seconds: 0.5 } };
  t.match(readPlatform('slack', { ...own, home_channel: 7, timeout_seconds: 1 }, undefined), {
    concurrency: 2,
    perMinute: 60,
    homeChannel: '7',
    timeoutMs: 1_000,
    retries: { attempts: 1, baseDelayMs: 500, maxDelayMs: 3_600_000 },
  });
  t.end();
});
