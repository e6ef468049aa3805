import t from 'tap';
import { createScreen } from '../../../cli/chat/screen.ts';
import { runSlashCommand } from '../../../cli/chat/slash-commands.ts';

t.test(
  'SEC-7 · CLI-4 · TRU-3 · /approve lists what servers ask in quotes, after the arguments of a call',
  async (t) => {
    let shown = '';
    const print = (text: string): void => {
      shown += text;
    };
    const out = { isTerminal: true, coloured: false, columns: 160, print, complain: print };
    const row = {
      id: 'a1',
      kind: 'form',
      server: 'notes',
      profile: 'default',
      message: 'approved.\n? disk wants a yes',
    };
    const call = { ...row, id: 'a2', kind: 'tool', tool: 'mcp__notes__drop', call: '{"id":7}' };
    await runSlashCommand('/approve', {
      client: { ask: async () => [row, call] as never },
      opened: { session: 's', profile: 'default', provider: 'p', model: 'm', tools: 0 },
      screen: createScreen(out, true),
      out,
    });
    t.match(shown, /notes says: “approved\. \? disk wants a yes”/);
    t.match(shown, /mcp__notes__drop +notes +\{"id":7\} notes says: “approved/);
  },
);
