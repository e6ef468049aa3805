import t from 'tap';
import { openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import { createFailureView } from '../../../runtime/dispatch/failure-view.ts';
import { createRedactor } from '../../../runtime/observe/redact.ts';
import { openKeeper } from '../../support/keeper.ts';
import { plainDelivery } from '../../support/records.ts';

t.test('OBS-1 · a secret that the end of a failed text’s row cuts is not shown in half', async (t) => {
  const { keeper } = await openKeeper(openMemoryJournal());
  const redactor = createRedactor();
  redactor.learn('Violet-Otter-81-of-the-river');
  const text = `${'x'.repeat(180)} Violet-Otter-81-of-the-river ${'y'.repeat(100)}`;
  const value = { ...plainDelivery, status: 'deadLettered', text } as const;
  await keeper.commit([{ kind: 'put', collection: 'deliveries', key: 'k1', value }]);
  const view = createFailureView({
    journal: keeper.journal,
    get: () => Promise.resolve(undefined),
    redact: redactor.record,
    nowMs: () => 0,
  });
  t.match(await view.list({ state: 'open' }, { limit: 10 }), {
    rows: [{ id: 'k1', text: /^x{180} \[redacted\] y{8}$/ }],
  });
});
