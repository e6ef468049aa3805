import t from 'tap';
import { placeWords } from '../../../machines/config/targets.ts';
import type { DeliveryRecord } from '../../../machines/webhook/record.ts';
import { attemptsOf, openedDelivery } from '../../../runtime/inspector/event-attempts.ts';
import { answerOf } from '../../../runtime/inspector/event-checks.ts';
import { spansOf } from '../../../runtime/inspector/event-spans.ts';
import type { TimelineSources } from '../../../runtime/inspector/timeline-sources.ts';

const record = {
  target: 'slack',
  chat: '#deploys',
  extra: {},
  queuedAtMs: 0,
  startedAtMs: 10,
  attempts: 2,
} as unknown as DeliveryRecord;
const failed = [{ startedAtMs: 2, endedAtMs: 5, kind: 'transient', reason: 'HTTP 503' }] as const;

t.test('DLV-4 · INS-4 · each attempt has its number, time and answer', (t) => {
  const rows = (one: Partial<DeliveryRecord>) =>
    attemptsOf({ ...record, ...one } as DeliveryRecord).map(({ number, at, ms, answer }) => [number, at, ms, answer]);

  const first = [1, 2, 3, 'HTTP 503'];
  t.same(rows({ status: 'delivered', failed, endedAtMs: 14, messageId: 'm1' }), [
    first,
    [2, 10, 4, 'accepted as message m1'],
  ]);
  t.same(rows({ status: 'sending', failed }), [first, [2, 10, undefined, 'waiting for the answer']]);
  const second = { startedAtMs: 11, endedAtMs: 20, kind: 'refused', reason: 'no such channel' } as const;
  t.same(rows({ status: 'deadLettered', failed: [...failed, second] }), [first, [2, 11, 9, 'no such channel']]);
  t.same(rows({ status: 'unknown', failed, reason: 'cut off' }), [first, [2, 10, undefined, 'cut off']]);
  t.same(attemptsOf({ status: 'queued', queuedAtMs: 0 } as DeliveryRecord), []);
  t.end();
});

t.test('INS-4 · what may have arrived is unconfirmed, not failed, wherever an event is opened', (t) => {
  const tones = (one: Partial<DeliveryRecord>) => {
    const { tone, attempts } = openedDelivery({ key: 'd', record: { ...record, ...one } as DeliveryRecord });
    return [tone, ...attempts.map((attempt) => attempt.tone)];
  };
  t.same(tones({ status: 'unknown', failed, reason: 'cut off' }), ['unconfirmed', 'unconfirmed', 'failed']);
  const second = { startedAtMs: 11, endedAtMs: 20, kind: 'unknown', reason: 'HTTP 500' } as const;
  t.same(tones({ status: 'unknown', failed: [...failed, second] }), ['unconfirmed', 'unconfirmed', 'failed']);
  t.same(tones({ status: 'deadLettered', failed: [...failed, second] }), ['failed', 'failed', 'failed']);
  t.same(tones({ status: 'waitingToRetry', failed }), ['working', 'failed', 'failed']);
  t.end();
});

t.test(
  'INS-4 · what a person does with a direct delivery later changes nothing of the answer that its sender got',
  (t) => {
    const shown = (one: Partial<DeliveryRecord>) => {
      const sources = {
        ...{ key: 'e', event: { status: 'delivering', receivedAtMs: 0 }, questions: [], callsUnderWay: [], calls: [] },
        ...{ deliveries: [{ key: 'd', record: { ...record, ...one } }], transcript: [], stateOf: () => undefined },
      } as unknown as TimelineSources;
      const [request] = spansOf(sources, []);
      return [answerOf(sources, undefined)?.status, request?.end];
    };
    const tried = [{ startedAtMs: 10, endedAtMs: 40, kind: 'unknown', reason: 'cut off' }] as const;
    t.same(shown({ status: 'delivered', endedAtMs: 14 }), [200, 14]);
    t.same(shown({ status: 'sending' }), [undefined, undefined]);
    t.same(shown({ status: 'unknown', failed: tried, endedAtMs: 40 }), [502, 40]);
    t.same(shown({ status: 'delivered', failed: tried, endedAtMs: 900, note: 'a person confirmed it' }), [502, 40]);
    t.same(shown({ status: 'queued', failed: tried, sinceMs: 800 }), [502, 40]);
    t.same(shown({ status: 'delivered', failed: tried, sinceMs: 800, endedAtMs: 900 }), [502, 40]);
    t.end();
  },
);

t.test('INS-4 · a place is the platform and the chat, or the comment', (t) => {
  t.equal(placeWords(record), 'Slack #deploys');
  t.equal(placeWords({ target: 'github_comment', extra: { repo: 'acme/web', pr_number: 7 } }), 'GitHub acme/web#7');
  t.equal(placeWords({ target: 'log', extra: {} }), 'Log');
  t.end();
});
