/** The confirmation before a server is removed: what is deleted and what remains. @see INS-4 in docs/specification.md */

import type { JSX } from 'preact';
import type { ServerRow } from '../../../control/contract.ts';
import { announce } from '../data/announce.ts';
import { counted } from '../data/format.ts';
import { goWithin } from '../data/place.ts';
import { call } from '../data/rpc.ts';
import { useAttempt } from '../parts/attempt.ts';
import { Confirm } from '../parts/dialog.tsx';
import { WhyNot } from '../parts/needs-fresh.tsx';

export function RemoveServer({
  row,
  own,
  onClose,
}: {
  readonly row: ServerRow;
  /** Variables of `.env` that only this entry uses. */
  readonly own: readonly string[];
  readonly onClose: () => void;
}): JSX.Element {
  const { name: server, profile } = row;
  const { busy, refused, attempt } = useAttempt();
  const yes = `Remove server ${server}`;

  const remove = (): Promise<void> =>
    attempt('Removing…', async () => {
      const { not_in_force: why } = await call('mcp.remove', { server, profile });
      if (why === undefined) announce(`Server ${server} removed.`);
      else announce(`Server ${server} is removed from config.yaml, but not in force: ${why}`, true);
      onClose();
      goWithin('servers');
    });

  return (
    <Confirm title={`Remove the server ${server}?`} yes={yes} busy={busy} onYes={() => void remove()} onClose={onClose}>
      <p>
        Its entry leaves config.yaml, its connection ends, and{' '}
        {row.tools === 0 ? 'its tools' : counted(row.tools, 'tool')} can no longer be called. Calls in progress are
        answered with the reason.
      </p>
      <p>
        Its log and its stored login remain on disk
        {own.length === 0 ? '' : `, and ${own.join(', ')} ${own.length === 1 ? 'remains' : 'remain'} in .env`}. To keep
        the entry, disable the server instead.
      </p>
      <WhyNot refused={refused} button={yes} />
    </Confirm>
  );
}
