/**
 * Sends a first event through the gateway and tells what became of it: makes a subscription, signs an event by its secret,
 * waits until the event's work has ended, and takes the subscription away again.
 * @see CLI-1 and SUB-4 in docs/specification.md
 */

import { setTimeout as wait } from 'node:timers/promises';
import type { JsonObject } from '../../machines/base/json.ts';
import type { CommandContext } from '../context.ts';
import { oneLine } from '../terminal.ts';

export type FirstEvent =
  | { readonly kind: 'went'; readonly told: string }
  | { readonly kind: 'failed'; readonly why: string };

const route = 'setup-test';
const prompt = 'This is the first event of a new gateway: {message} Answer with one short sentence.';
const pollMs = 100;
/** An agent may think for a while; who waits longer looks for himself. */
const patienceMs = 120_000;
const ended: ReadonlySet<string> = new Set([
  'delivered',
  'failed',
  'ignored',
  'refused',
  'interrupted',
  'unknown',
  'deadLettered',
]);
const longestShown = 300;

export async function sendFirstEvent({ call }: Pick<CommandContext, 'call'>): Promise<FirstEvent> {
  await call('webhook.subscribe', { name: route, record: { prompt, deliver: 'log' }, force: true });
  try {
    const answer = (await call('webhook.test', {
      name: route,
      event: 'setup',
      payload: { message: 'it works.' },
    })) as { readonly status: number; readonly body: string };
    const id = deliveryOf(answer.body);
    if (answer.status !== 202 || id === undefined) {
      return { kind: 'failed', why: `it was answered HTTP ${answer.status}: ${oneLine(answer.body)}` };
    }
    return await outcomeOf(id, call);
  } finally {
    await call('webhook.remove', { name: route }).catch(() => {});
  }
}

async function outcomeOf(id: string, call: CommandContext['call']): Promise<FirstEvent> {
  for (let waitedMs = 0; waitedMs < patienceMs; waitedMs += pollMs) {
    const row = (await call('webhook.delivery', { id })) as JsonObject;
    const status = String(row.status);
    if (ended.has(status)) {
      const { response, reason } = { ...(row.run as JsonObject | undefined), ...row } as JsonObject;
      if (status !== 'delivered')
        return { kind: 'failed', why: `it ended as ${status}: ${oneLine(String(reason ?? 'no reason is known'))}` };
      const said = typeof response === 'string' ? ` The agent said: ${oneLine(response).slice(0, longestShown)}` : '';
      return { kind: 'went', told: `The event was signed, accepted, run and delivered to the log.${said}` };
    }
    await wait(pollMs);
  }
  return { kind: 'went', told: `The event was accepted and its run goes on; see \`agent webhook deliveries ${id}\`.` };
}

function deliveryOf(body: string): string | undefined {
  try {
    const { delivery_id: id } = JSON.parse(body) as { readonly delivery_id?: unknown };
    return typeof id === 'string' ? id : undefined;
  } catch {
    return undefined;
  }
}
