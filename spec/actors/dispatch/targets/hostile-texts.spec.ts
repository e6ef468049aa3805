/** What each target sends of a text that calls people, renders templates or is markup elsewhere. */

import { readFileSync } from 'node:fs';
import t from 'tap';
import { defaultGithubComment } from '../../../../actors/dispatch/deliver.ts';
import { createEmail } from '../../../../actors/dispatch/targets/email.ts';
import { createGithubComment } from '../../../../actors/dispatch/targets/github-comment.ts';
import { createLogTarget } from '../../../../actors/dispatch/targets/log.ts';
import { targets } from '../../../../machines/config/targets.ts';
import { never, openBench, requestOf } from '../../../conformance/target.ts';
import { makeHome } from '../../../support/home.ts';
import { bluebubblesApi } from '../../../support/platforms/bluebubbles.ts';
import {
  giteaApi,
  gitlabApi,
  googleChatApi,
  httpApi,
  jiraApi,
  lineApi,
  linearApi,
  ntfyApi,
  pagerdutyApi,
  sentryOnce,
  teamsApi,
} from '../../../support/platforms/described.ts';
import { dingtalkApp, dingtalkRobot } from '../../../support/platforms/dingtalk.ts';
import { discordApi } from '../../../support/platforms/discord.ts';
import type { FakeRequest, PlatformFixture } from '../../../support/platforms/fake-platform.ts';
import { feishuApi } from '../../../support/platforms/feishu.ts';
import { homeNotice, homeService } from '../../../support/platforms/homeassistant.ts';
import { matrixApi } from '../../../support/platforms/matrix.ts';
import { mattermostApi } from '../../../support/platforms/mattermost.ts';
import { qqbotApi } from '../../../support/platforms/qqbot.ts';
import { signalApi } from '../../../support/platforms/signal.ts';
import { slackApi } from '../../../support/platforms/slack.ts';
import { sms } from '../../../support/platforms/sms.ts';
import { smtpRecipient, smtpUser, startSmtp } from '../../../support/platforms/smtp-server.ts';
import { telegramApi } from '../../../support/platforms/telegram.ts';
import { wecomApp, wecomRobot } from '../../../support/platforms/wecom.ts';
import { weixinApi } from '../../../support/platforms/weixin.ts';
import { whatsappApi, whatsappBridge } from '../../../support/platforms/whatsapp.ts';

const ports = { now: () => 0, wait: () => Promise.resolve(), random: () => 1 };

const joiner = '\u2060';
const texts = {
  everybody: 'Hi @all @channel @here @everyone @room &#64;all',
  people:
    '<users/all> <https://evil.example|bank> <!channel> <!here> <@U1> <#C1> <@!1234567> <qqbot-at-everyone /> <at user_id="all"></at> tg://user?id=7',
  team: 'cc @acme/ops and @ada, not ops@example.org',
  code: 'Run:\n```sh\nnpm i @acme/app {{ x }}\n```\nor `npm i @acme/app`.',
  template: '${{ secrets.TOKEN }} {{ states("person.anna") }} {% raw %} {# x #} {{{',
  markup: 'List<String> a<b && c>d *b* _i_ ~s~ [l](http://x) <a href="http://evil">bank</a> <b>&amp;</b>',
  commands:
    '/close\n  /merge it\nsee /tmp/x and http://x/y\n```\n/assign me\n```\nhttps://linear.app/acme/profiles/ada',
  wiki: '[~ada] [~accountid:1] {html}x{html} !http://x/y.png! !x.png|width=1! a[1] wow! no!',
  controls: 'a\u0000b\u001b[31mred\u0007\u202Eevil\r\nBcc: x@y.z',
} as const;
type Sent = Record<keyof typeof texts, string>;

/** NUL is shown as such everywhere, since some platforms refuse it; else a text is sent as it is. */
const plain: Sent = { ...texts, controls: texts.controls.replace('\u0000', '\ufffd') };
const changed = (change: (text: string) => string): Sent =>
  Object.fromEntries(Object.entries(plain).map(([name, text]) => [name, change(text)])) as Sent;

const withoutCalls = (text: string): string => text.replace(/(?<![a-z])(@|&#64;)(?=\S)/g, `$1${joiner}`);
/** The two platforms that read no mention in code. */
const calls: Sent = { ...changed(withoutCalls), code: plain.code };
const entities = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const noTags = (text: string): string => text.replace(/<(?=@|a )|<(?=\/a>)/g, `<${joiner}`);
const noQqTags = (text: string): string => withoutCalls(text).replace(/<(?=[@#!]|qqbot)/g, `<${joiner}`);

interface Row {
  readonly fixture: PlatformFixture;
  /** Where the text stands in the request. */
  read(request: FakeRequest): string;
  readonly sent: Sent;
  /** What else keeps the text from calling anybody, and links from showing what they lead to. */
  readonly beside?: object;
  readonly chat?: string;
}

const rows: readonly Row[] = [
  {
    fixture: telegramApi,
    read: ({ json }) => json.text,
    sent: changed((text) => withoutCalls(text).replace('tg:', `tg${joiner}:`)),
    beside: { link_preview_options: { is_disabled: true } },
  },
  {
    fixture: discordApi,
    read: ({ json }) => json.content,
    sent: plain,
    // No embeds, in which a link shows its pictures.
    beside: { allowed_mentions: { parse: [] }, flags: 4 },
  },
  {
    fixture: slackApi,
    read: ({ json }) => json.text,
    // An escape of Slack is not escaped again.
    sent: changed((text) => entities(text.replace('&amp;', '&'))),
    beside: { unfurl_links: false, unfurl_media: false },
  },
  { fixture: signalApi, read: ({ json }) => json.params.message, sent: plain },
  { fixture: sms, read: ({ form }) => form.get('Body') ?? '', sent: plain },
  { fixture: whatsappApi, read: ({ json }) => json.text.body, sent: plain },
  { fixture: whatsappBridge, read: ({ json }) => json.message, sent: plain },
  { fixture: matrixApi, read: ({ json }) => json.body, sent: plain, beside: { 'm.mentions': {} } },
  { fixture: mattermostApi, read: ({ json }) => json.message, sent: calls },
  ...[homeNotice, homeService].map((fixture) => ({
    fixture,
    read: ({ json }: FakeRequest): string => json.message,
    sent: changed((text) => text.replace(/\{(?=[{%#])/g, `{${joiner}`)),
  })),
  {
    fixture: dingtalkRobot,
    read: ({ json }) => json.text.content,
    sent: plain,
    beside: { at: { isAtAll: false } },
  },
  { fixture: dingtalkApp, read: ({ json }) => JSON.parse(json.msgParam).content, sent: plain },
  {
    fixture: feishuApi,
    read: ({ json }) => JSON.parse(json.content).text,
    sent: changed((text) => text.replace(/<(?=\/?(?:at\b|b>))|\](?=\()/g, `$&${joiner}`)),
  },
  { fixture: wecomApp, read: ({ json }) => json.text.content, sent: changed(noTags) },
  { fixture: wecomRobot, read: ({ json }) => json.text.content, sent: changed(noTags) },
  { fixture: weixinApi, read: ({ json }) => json.msg.item_list[0].text_item.text, sent: plain },
  { fixture: bluebubblesApi, read: ({ json }) => json.message, sent: plain },
  {
    fixture: gitlabApi,
    read: ({ json }) => json.body,
    sent: changed((text) => withoutCalls(text).replace(/^(\s*\/)(?=[cma])/gm, `$1${joiner}`)),
  },
  { fixture: giteaApi, read: ({ json }) => json.body, sent: changed(withoutCalls) },
  {
    fixture: linearApi,
    read: ({ json }) => json.variables.input.body,
    sent: changed((text) => withoutCalls(text).replace('profiles/', `profiles${joiner}/`)),
  },
  {
    fixture: jiraApi,
    read: ({ json }) => json.body,
    sent: changed((text) =>
      withoutCalls(text)
        .replace(/\[(?=\S)|\{(?=\S)/g, `$&${joiner}`)
        .replaceAll('!http', `!${joiner}http`)
        .replace('!x.png', `!${joiner}x.png`)
        .replace(/```(?:sh)?/g, '{noformat}'),
    ),
  },
  { fixture: sentryOnce, read: ({ json }) => json.text, sent: changed(withoutCalls) },
  { fixture: pagerdutyApi, read: ({ json }) => json.note.content, sent: changed(withoutCalls) },
  { fixture: lineApi, read: ({ json }) => json.messages[0].text, sent: plain },
  { fixture: httpApi, read: ({ json }) => json.data.text, sent: plain },
  { fixture: ntfyApi, read: ({ json }) => json.message, sent: plain },
  {
    fixture: teamsApi,
    read: ({ json }) => json.attachments[0].content.body[0].inlines[0].text,
    sent: changed((text) => text.replace(/\{(?=[{%#])|<(?=\/?at\b)/g, `$&${joiner}`)),
  },
  {
    fixture: googleChatApi,
    read: ({ json }) => json.text,
    sent: changed((text) => text.replace(/<(?=users|http)/g, `<${joiner}`)),
  },
  { fixture: qqbotApi, read: ({ json }) => json.content, sent: changed(noQqTags) },
  {
    fixture: qqbotApi,
    chat: 'channel:7',
    read: ({ json }) => json.content,
    sent: changed((text) => entities(noQqTags(text))),
  },
];

for (const { fixture, chat, read, sent, beside = {} } of rows) {
  const who = [fixture.target, fixture.variant, chat].filter((part) => part !== undefined).join(', ');
  t.test(`DLV-4 · nothing in a text calls people or runs at ${who}`, async (t) => {
    const bench = await openBench(t, fixture);
    for (const [name, text] of Object.entries(texts)) {
      t.match(await bench.deliver(text, chat === undefined ? {} : { chat_id: chat }), { kind: 'delivered' }, name);
      const request = bench.platform.requests.filter((one) => fixture.sends(one)).at(-1) as FakeRequest;
      t.equal(read(request), sent[name as keyof Sent], name);
      t.match(request.json, beside, name);
    }
  });
}

t.test('DLV-4 · nothing in a text calls people or runs in a comment on GitHub', async (t) => {
  const home = makeHome(t);
  home.write('bin/gh', '#!/bin/bash\ncat >text\n', 0o700);
  const client = { command: `${home.path}/bin/gh`, cwd: home.path, timeoutMs: 60_000, scope: new Map() };
  const target = createGithubComment(client, defaultGithubComment, ports);
  for (const [name, text] of Object.entries(texts)) {
    t.match(await target.deliver(requestOf(text, { repo: 'acme/app', pr_number: 7 }), never), { kind: 'delivered' });
    t.equal(readFileSync(`${home.path}/text`, 'utf8'), calls[name as keyof Sent], name);
  }
});

t.test('DLV-4 · nothing in a text becomes a header of a mail', async (t) => {
  const server = await startSmtp(t);
  const options = { host: '127.0.0.1', port: server.port, from: smtpUser };
  const target = createEmail({ enabled: true, timeoutMs: 20_000, options }, ports);
  for (const [name, text] of Object.entries(texts)) {
    const extra = { chat_id: smtpRecipient, subject: text };
    t.match(await target.deliver(requestOf(text, extra), never), { kind: 'delivered' }, name);
    const [head = ''] = (server.mails.at(-1) ?? '').split(/\r?\n\r?\n/);
    t.match(head, /^Content-Type: text\/plain/m, name);
    t.notMatch(head, /^(?:Bcc|Cc):/m, name);
    t.notOk(head.includes('\u001b'), name);
    t.same([...head.matchAll(/^(?:To|Subject):/gm)].length, 2, name);
  }
});

t.test('DLV-4 · the log gets a text as one value', async (t) => {
  const lines: string[] = [];
  const target = createLogTarget({ log: (_, message) => void lines.push(message), warnOnce: () => {} });
  for (const text of Object.values(texts)) await target.deliver(requestOf(text, {}), never);

  t.same(
    lines,
    Object.values(texts).map((text) => `response: ${text}`),
  );
});

t.test('DLV-4 · the table leaves no target out', (t) => {
  const shown = new Set(['github_comment', 'email', 'log', ...rows.map(({ fixture }) => fixture.target)]);

  t.same([...shown].sort(), [...targets.keys()].sort(), 'the rows above');
  t.end();
});
