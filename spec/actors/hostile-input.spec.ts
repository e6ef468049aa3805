/** What reads streams and answers of other machines, against hostile input. */

import t from 'tap';
import { createPlatformTarget } from '../../actors/dispatch/targets/all.ts';
import { createLineReader } from '../../actors/mcp/line-reader.ts';
import { createRedactedLines } from '../../actors/mcp/redacted-lines.ts';
import { messageOf } from '../../actors/mcp/stdio-transport.ts';
import { pollForTokens, requestDeviceCode } from '../../actors/oauth/device-authorization.ts';
import { discoverForBrowser, discoverForDevice } from '../../actors/oauth/discover.ts';
import { createOauthFetch } from '../../actors/oauth/oauth-fetch.ts';
import { registerOauthClient } from '../../actors/oauth/register-client.ts';
import { exchangeForTokens, refreshTokens } from '../../actors/oauth/token-request.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { createLineSplitter } from '../../runtime/control/lines.ts';
import { createBlockReader } from '../../runtime/inspector/page/data/listen.ts';
import { requestOf } from '../conformance/target.ts';
import { checkParser } from '../support/hostile.ts';
import { listenHttp } from '../support/http-listener.ts';
import { bluebubblesApi } from '../support/platforms/bluebubbles.ts';
import { describedApis } from '../support/platforms/described.ts';
import { dingtalkApp, dingtalkRobot } from '../support/platforms/dingtalk.ts';
import { discordApi } from '../support/platforms/discord.ts';
import { feishuApi } from '../support/platforms/feishu.ts';
import { homeNotice, homeService } from '../support/platforms/homeassistant.ts';
import { matrixApi } from '../support/platforms/matrix.ts';
import { mattermostApi } from '../support/platforms/mattermost.ts';
import { qqbotApi } from '../support/platforms/qqbot.ts';
import { signalApi } from '../support/platforms/signal.ts';
import { slackApi } from '../support/platforms/slack.ts';
import { sms } from '../support/platforms/sms.ts';
import { telegramApi } from '../support/platforms/telegram.ts';
import { wecomApp, wecomRobot } from '../support/platforms/wecom.ts';
import { weixinApi } from '../support/platforms/weixin.ts';
import { whatsappApi } from '../support/platforms/whatsapp.ts';

const nowMs = 1_700_000_000_000;
const never = new AbortController().signal;
const jsonParts = ['{"a":', '[', '"a"', ',', 'null', '1e5', '\\u0000', '"__proto__":', ' '];

/** The bytes in three chunks, cut wherever the text says. */
function chunksOf(text: string): readonly Buffer[] {
  const bytes = Buffer.from(text);
  const [first, second] = [Math.floor(bytes.length / 3), Math.floor(bytes.length / 2)];
  return [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
}

checkParser(t, {
  name: 'LIF-14 · MCP messages from stdio, cut anywhere',
  parts: ['{"jsonrpc":"2.0",', '"id":1,', '"result":{}', '}', '\n', '\r\n', ' ', '\t', 'rubbish\n', '{', '[]\n'],
  fields: ['jsonrpc', 'id', 'method', 'params', 'result', 'error', 'code', 'message', '_meta', 'progressToken'],
  frames: [
    (inner) => `${inner}\n{"jsonrpc":"2.0","id":1,"result":{}}\n`,
    (inner) => `{"jsonrpc":"2.0","method":${JSON.stringify(inner)}}\n`,
  ],
  read(text) {
    const messages: unknown[] = [];
    const reader = createLineReader(65_536, {
      line: (line) => messages.push(messageOf(line)) % 3 !== 0,
      rubbish: (_, count) => count < 8,
    });
    for (const chunk of [...chunksOf(text), Buffer.from('\n')]) {
      for (let state = reader.push(chunk); state === 'waiting'; state = reader.resume());
    }
    return messages;
  },
});

checkParser(t, {
  name: 'CLI-3 · lines of the control socket, cut anywhere',
  parts: ['{}', '\n', '\r\n', ' \n', '\t', 'words'],
  read(text) {
    const lines: string[] = [];
    const splitter = createLineSplitter(
      65_536,
      (line) => void lines.push(line),
      () => void lines.push(''),
    );
    for (const chunk of [...chunksOf(text), Buffer.from('\n')]) splitter.add(chunk);
    return lines;
  },
});

checkParser(t, {
  name: 'LIF-10 · lines that servers write to stderr',
  parts: ['secret', '\n', ' ', 'secre', 't\n'],
  read(text) {
    const lines = createRedactedLines((line) => line.replaceAll('secret', '[redacted]'));
    return [...chunksOf(text).map((chunk) => lines.add(chunk).length), lines.rest().length];
  },
});

checkParser(t, {
  name: 'INS-2 · events of the page’s stream, cut anywhere',
  parts: ['event: ', 'data: ', '\n', '\n\n', 'x'],
  read(text) {
    const reader = createBlockReader();
    return [...chunksOf(text).map((chunk) => reader(chunk.toString())), reader('\n\n')];
  },
});

const oauthFields = [
  ...['resource', 'authorization_servers', 'scopes_supported', 'issuer', 'authorization_endpoint', 'token_endpoint'],
  ...['registration_endpoint', 'device_authorization_endpoint', 'response_types_supported', 'grant_types_supported'],
  ...['code_challenge_methods_supported', 'client_id', 'client_secret', 'redirect_uris', 'access_token', 'token_type'],
  ...['refresh_token', 'expires_in', 'scope', 'error', 'error_description', 'device_code', 'user_code', 'interval'],
  ...['verification_uri', 'verification_uri_complete'],
];

checkParser(t, {
  name: 'OAU-1 · metadata, registrations, tokens and challenges of authorization servers',
  isAsync: true,
  parts: [
    'Bearer ',
    'resource_metadata="',
    'https://as.example/',
    '"',
    ',',
    ' ',
    'error="insufficient_scope"',
    'scope=',
    '=',
  ],
  fields: oauthFields,
  frames: [
    (inner) =>
      `{"resource":"https://mcp.example/mcp","authorization_servers":["https://as.example"],"scopes_supported":${inner}}`,
    (inner) =>
      `{"issuer":"https://as.example","authorization_endpoint":"https://as.example/a","token_endpoint":"https://as.example/t","response_types_supported":["code"],"grant_types_supported":[${inner}]}`,
    (inner) => `{"access_token":"a","token_type":"Bearer","expires_in":${inner}}`,
    (inner) =>
      `{"device_code":"d","user_code":"u","verification_uri":"https://as.example","expires_in":1,"interval":${inner}}`,
    (inner) => `{"error":"access_denied","error_description":${JSON.stringify(inner)}}`,
  ],
  async read(text) {
    // What no header can carry does not arrive in one.
    const challenge = text.replace(/[^\t\x20-\x7e]/g, '').slice(0, 8_192);
    const isError = text.startsWith('{"error"');
    const oauth = createOauthFetch({
      fetch: async (url) => {
        const headers = { 'content-type': 'application/json', 'www-authenticate': challenge };
        if (String(url) === 'https://mcp.example/mcp') return new Response('', { status: 401, headers });
        return new Response(text, { status: isError ? 400 : 200, headers });
      },
      version: '1',
      userAgent: undefined,
    });
    const url = 'https://mcp.example/mcp';
    const issuer = 'https://as.example';
    const metadata = {
      issuer,
      authorization_endpoint: `${issuer}/a`,
      token_endpoint: `${issuer}/t`,
      registration_endpoint: `${issuer}/r`,
      device_authorization_endpoint: `${issuer}/d`,
      response_types_supported: ['code'],
    };
    const endpoint = { authorizationServerUrl: issuer, issuer, metadata, client: { clientId: 'c' }, url, oauth };
    const grant = {
      code: 'x',
      iss: undefined,
      codeVerifier: 'v'.repeat(43),
      redirectUri: 'http://127.0.0.1:1/callback',
    };
    const record = { accessToken: 'a', refreshToken: 'r', issuer, clientId: 'c', url };
    return [
      await discoverForBrowser(url, oauth),
      await discoverForDevice(url, oauth),
      await registerOauthClient({
        settings: { flow: 'device', timeoutMs: 1, cimd: false },
        discovery: { authorizationServerUrl: issuer, metadata, issuer },
        oauth,
      }),
      await exchangeForTokens(endpoint, grant, nowMs),
      await refreshTokens(endpoint, record, nowMs),
      await requestDeviceCode(endpoint, undefined),
      await pollForTokens(endpoint, 'd', { intervalMs: 5_000, nowMs }),
    ];
  },
});

const platforms = [
  ...[discordApi, matrixApi, homeNotice, homeService, bluebubblesApi, telegramApi, whatsappApi, qqbotApi],
  ...[signalApi, sms, slackApi, mattermostApi, dingtalkApp, dingtalkRobot, feishuApi, wecomApp, wecomRobot, weixinApi],
  ...describedApis,
];

t.test('answers of platforms', async (t) => {
  let answer = { status: 200, text: '' };
  const { url: base } = await listenHttp(t, (request, response) => {
    request.resume();
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.text);
  });
  const ports = { now: () => nowMs, wait: () => Promise.resolve(), random: () => 1 };
  const targets = platforms.map((fixture) => {
    const options = Object.entries(fixture.options).map(([key, value]) => [key, value === '<base>' ? base : value]);
    const settings = { enabled: true, apiBase: base, timeoutMs: 20_000, options: Object.fromEntries(options) };
    const target = createPlatformTarget(fixture.target, settings, ports);
    if (target === undefined) throw new Error(`no target ${fixture.target}`);
    const place = fixture.chat === undefined ? {} : { chat_id: fixture.chat };
    return { target, extra: { ...place, ...fixture.extra } };
  });
  let turn = 0;

  checkParser(t, {
    name: 'DLV-4 · answers of platforms, one after the other',
    isAsync: true,
    parts: jsonParts,
    fields: [
      ...[
        'ok',
        'error',
        'errors',
        'error_code',
        'errcode',
        'errmsg',
        'code',
        'msg',
        'message',
        'description',
        'status',
      ],
      ...[
        'parameters',
        'retry_after',
        'retry_after_ms',
        'result',
        'id',
        'ts',
        'event_id',
        'access_token',
        'accessToken',
      ],
      ...[
        'tenant_access_token',
        'expire',
        'expires_in',
        'expireIn',
        'data',
        'sid',
        'messages',
        'type',
        'error_subcode',
      ],
    ],
    async read(text) {
      answer = { status: [200, 400, 401, 429, 500][turn % 5] ?? 200, text };
      const { target, extra } = targets[turn % targets.length] as (typeof targets)[number];
      turn += 1;
      const request = requestOf('hello', extra as JsonObject, `d${turn}`);
      return [await target.deliver(request, never), await target.verify(never)];
    },
  });
});
