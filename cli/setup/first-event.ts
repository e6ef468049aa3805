/**
 * Sends a first event through the gateway and reports its outcome: creates a subscription, signs an event with its secret,
 * waits until the event's work has ended, and removes the subscription.
 * @see CLI-1 and SUB-4 in docs/specification.md
 */

import { setTimeout as wait } from 'node:timers/promises';
import { readJson } from '../../machines/base/read-json.ts';
import type { CommandContext } from '../context.ts';
import { oneLine } from '../terminal.ts';
import { cutTo } from '../text-width.ts';

type FirstEvent =
  | { readonly kind: 'went'; readonly result: string }
  /** By Ctrl-C. */
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'failed'; readonly why: string };

const route = 'setup-test';
const prompt = 'This is the first event of a new gateway: {message} Answer with one short sentence.';
const pollMs = 100;
/** An agent may take a while; after this the person can check themselves. */
const patienceMs = 120_000;
const ended: ReadonlySet<string> = new Set([
  'delivered',
  'partial',
  'failed',
  'ignored',
  'refused',
  'interrupted',
  'cancelled',
  'unknown',
  'deadLettered',
]);
const maxShownLength = 300;

export async function sendFirstEvent({ ask }: Pick<CommandContext, 'ask'>): Promise<FirstEvent> {
  const cancel = new AbortController();
  const onInterrupt = (): void => cancel.abort();
  // Without this, Ctrl-C would end the process and leave the subscription.
  process.on('SIGINT', onInterrupt);
  try {
    await ask('webhook.subscribe', { name: route, record: { prompt, deliver: 'log' }, force: true });
    const answer = await ask('webhook.test', {
      name: route,
      event: 'setup',
      payload: { message: 'it works.' },
    });
    const id = deliveryOf(answer.body);
    if (answer.status !== 202 || id === undefined) {
      return { kind: 'failed', why: `it was answered HTTP ${answer.status}: ${oneLine(answer.body)}` };
    }
    return await outcomeOf(id, ask, cancel.signal);
  } finally {
    await ask('webhook.remove', { name: route }).catch(() => {});
    process.off('SIGINT', onInterrupt);
  }
}

async function outcomeOf(id: string, ask: CommandContext['ask'], signal: AbortSignal): Promise<FirstEvent> {
  for (let waitedMs = 0; waitedMs < patienceMs; waitedMs += pollMs) {
    if (signal.aborted) return { kind: 'cancelled' };
    const row = await ask('webhook.delivery', { id });
    const { status } = row;
    if (ended.has(status)) {
      const { response, reason } = { ...row.run, ...row };
      if (status !== 'delivered')
        return { kind: 'failed', why: `it ended as ${status}: ${oneLine(reason ?? 'no reason is known')}` };
      const said = response !== undefined ? ` The agent said: ${cutTo(oneLine(response), maxShownLength)}` : '';
      return { kind: 'went', result: `The event was signed, accepted, run and delivered to the log.${said}` };
    }
    await wait(pollMs, undefined, { signal }).catch(() => {});
  }
  return { kind: 'went', result: `The event was accepted and its run continues; see \`agent events show ${id}\`.` };
}

function deliveryOf(body: string): string | undefined {
  const { delivery_id: id } = { ...(readJson(body) as { readonly delivery_id?: unknown } | undefined) };
  return typeof id === 'string' ? id : undefined;
}
