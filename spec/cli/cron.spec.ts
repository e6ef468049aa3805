import t from 'tap';
import { addJob } from '../../cli/commands/cron.ts';
import { stageCommand } from '../support/command-stage.ts';

t.test(
  'CRN-1 · CLI-2 · who adds a job reads when it is due by its own clock, on a terminal how long that is',
  async (t) => {
    const job = { name: 'digest', schedule: '0 9 * * *', timezone: 'Europe/Berlin', state: 'scheduled' };
    const piped = stageCommand({
      answer: { ...job, next_due: '2026-06-01T07:00:00.000Z' },
      args: ['digest', '0 9 * * *'],
    });
    await addJob(piped.context);
    t.equal(piped.seen.printed, 'Added digest. Next: 2026-06-01T09:00:00+02:00\n');

    const inThreeDays = new Date(Date.now() + 3 * 86_400_000).toISOString();
    const shown = stageCommand({ answer: { ...job, next_due: inThreeDays }, args: ['digest'], isTerminal: true });
    await addJob(shown.context);
    t.match(shown.seen.printed, /^Added digest\. Next: in 3d, at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+0[12]:00\.\n$/);
  },
);
