import t from 'tap';
import { createTargets } from '../../../actors/dispatch/deliver.ts';
import type { DeliveryOutcome, LogFields, Logger } from '../../../actors/ports.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { knownTargets } from '../../../machines/config/targets.ts';
import type { DeliveryRecord } from '../../../machines/webhook/record.ts';

const never = new AbortController().signal;
const on: PlatformSettings = { enabled: true, timeoutMs: 1, options: {} };

function send(
  target: string,
  platforms: Readonly<Record<string, PlatformSettings>> = {},
  extra: JsonObject = {},
  log: Logger = { log: () => {}, warnOnce: () => {} },
): Promise<DeliveryOutcome> {
  const record = { target, deliveryId: 'd1', profile: 'default', text: 'Done.', extra } as unknown as DeliveryRecord;
  return createTargets({ platforms, log, scope: new Map(), cwd: '.' }).send(record, never);
}

t.test('DLV-2 · every target that cannot be used says which it is and what to do', async (t) => {
  const { codehost_comment: _, log: __, ...others } = Object.fromEntries(knownTargets.map((name) => [name, name]));
  delete others.github_comment;
  for (const name of Object.keys(others)) {
    t.match(await send(name), { kind: 'failed', reason: new RegExp(`"${name}" is not enabled; set platforms\\.`) });
  }
  t.match(await send('telegram', { messenger_a: on }), {
    kind: 'failed',
    reason: /"telegram" has nowhere to deliver to; set deliver_extra\.chat_id .* platforms\.messenger_a\.home_channel/,
  });
  for (const outcome of [
    await send('telegram', { messenger_a: on }, { chat_id: 7 }),
    await send('messenger_a', { messenger_a: { ...on, homeChannel: '7' } }),
  ]) {
    t.match(outcome, { kind: 'failed', reason: /is not connected/ });
  }
  for (const name of ['fax', '', 'constructor', '__proto__', 'LOG', ' log']) {
    t.match(await send(name), { kind: 'failed', reason: /is not known/ }, JSON.stringify(name));
  }
});

t.test('OBS-1 · the log target writes the text as one line with its delivery id', async (t) => {
  const lines: [string, string, LogFields | undefined][] = [];
  const log: Logger = { log: (...line) => void lines.push(line as [string, string, LogFields]), warnOnce: () => {} };

  t.same(await send('log', {}, {}, log), { kind: 'delivered' });

  t.same(lines, [['info', 'response: Done.', { delivery_id: 'd1', profile: 'default' }]]);
});

t.test('DLV-5 · a target answers to its platform’s own name', async (t) => {
  for (const name of ['codehost_comment', 'github_comment']) {
    t.match(await send(name, {}, { repo: 'no' }), { kind: 'failed', reason: /^codehost_comment: deliver_extra\.repo/ });
  }
  const { deduplicates } = createTargets({
    platforms: {},
    log: { log: () => {}, warnOnce: () => {} },
    scope: new Map(),
    cwd: '.',
  });
  t.same(['log', 'codehost_comment', 'github_comment', 'fax'].map(deduplicates), [true, false, false, false]);
});
