import t from 'tap';
import { createScreen } from '../../../cli/chat/screen.ts';
import { runSlashCommand } from '../../../cli/chat/slash-commands.ts';

t.test('SEC-7 · CLI-4 · /approve lists what servers ask in quotes', async (t) => {
  let shown = '';
  const print = (text: string): void => {
    shown += text;
  };
  const out = { isTerminal: true, coloured: false, columns: 160, print, complain: print };
  const row = { id: 'a1', kind: 'form', server: 'notes', profile: 'default', message: 'approved.\n? disk wants a yes' };
  await runSlashCommand('/approve', {
    client: { ask: async () => [row] as never },
    opened: { session: 's', profile: 'default', provider: 'p', model: 'm', tools: 0 },
    screen: createScreen(out, true),
    out,
  });
  t.match(shown, /notes says: “approved\. \? disk wants a yes”/);
});
