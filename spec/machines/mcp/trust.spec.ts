import t from 'tap';
import type { Json } from '../../../machines/base/json.ts';
import { normaliseServerEntry } from '../../../machines/config/server-entry.ts';
import { readServerSettings } from '../../../machines/mcp/server-settings.ts';
import { afterLostCall, needsApproval, type ToolAnnotations } from '../../../machines/mcp/trust.ts';

const readOnly: ToolAnnotations = { readOnlyHint: true };
/** Everything that is no `readOnlyHint: true`. */
const others: readonly (ToolAnnotations | undefined)[] = [
  undefined,
  {},
  { readOnlyHint: false },
  { readOnlyHint: undefined },
  { readOnlyHint: 'true' },
  { readOnlyHint: 1 },
  { readOnlyHint: [true] },
  { idempotentHint: true, destructiveHint: false } as ToolAnnotations,
];

t.test('TRU-1 · on an untrusted server a tool without readOnlyHint: true waits for approval', (t) => {
  for (const annotations of others) {
    t.equal(needsApproval('untrusted', annotations), true, JSON.stringify(annotations));
    t.equal(needsApproval('full', annotations), false, JSON.stringify(annotations));
  }
  t.equal(needsApproval('untrusted', readOnly), false);
  t.equal(needsApproval('full', readOnly), false);
  t.end();
});

t.test('TRU-1 · any trust but full is untrusted', (t) => {
  const trust = (value?: Json): string =>
    readServerSettings(normaliseServerEntry('s', { command: 'x', ...(value === undefined ? {} : { trust: value }) }))
      .trust;
  for (const value of ['untrusted', 'FULL', 'Full', 'none', '', 1, true, null])
    t.equal(trust(value), 'untrusted', String(value));
  t.equal(trust('full'), 'full');
  t.equal(trust(), 'full');
  t.end();
});

t.test('TRU-2 · a lost call on a read-only tool is replayed once', (t) => {
  t.equal(afterLostCall({ annotations: readOnly, replayed: false, dispatched: true }), 'replay');
  t.equal(afterLostCall({ annotations: readOnly, replayed: true, dispatched: true }), 'outcomeUncertain');
  t.end();
});

t.test('TRU-2 · a lost call on any other tool is uncertain and never replayed', (t) => {
  for (const annotations of others) {
    for (const replayed of [false, true])
      t.equal(
        afterLostCall({ annotations, replayed, dispatched: true }),
        'outcomeUncertain',
        JSON.stringify(annotations),
      );
  }
  t.end();
});

t.test('TRU-2 · a call that never left is sent to the new connection', (t) => {
  for (const annotations of [readOnly, ...others]) {
    for (const replayed of [false, true]) t.equal(afterLostCall({ annotations, replayed, dispatched: false }), 'send');
  }
  t.end();
});
