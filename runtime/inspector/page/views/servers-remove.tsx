/** The confirmation before a server is removed: what is deleted and what remains. @see INS-4 in docs/specification.md */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ServerRow } from '../../../control/contract.ts';
import { announce } from '../data/announce.ts';
import { counted } from '../data/format.ts';
import { goWithin } from '../data/place.ts';
import { call, wordsOf } from '../data/rpc.ts';
import { withCode } from '../parts/basics.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { NeedsFresh } from '../parts/needs-fresh.tsx';

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
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<{ readonly why: string; readonly code: string }>();
  const yes = `Remove server ${server}`;

  async function remove(): Promise<void> {
    setBusy(true);
    try {
      const { not_in_force: why } = await call('mcp.remove', { server, profile });
      if (why === undefined) announce(`Server ${server} removed.`);
      else announce(`Server ${server} is removed from config.yaml, but not in force: ${why}`, true);
      onClose();
      goWithin('servers');
    } catch (error) {
      setRefused(wordsOf(error));
      setBusy(false);
    }
  }

  return (
    <Confirm
      title={`Remove the server ${server}?`}
      yes={yes}
      busy={busy ? 'Removing…' : undefined}
      onYes={() => void remove()}
      onClose={onClose}
    >
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
      {refused === undefined ? null : refused.code === 'link-not-fresh' ? (
        <NeedsFresh what="Nothing was removed yet." button={yes} />
      ) : (
        <p class="hint fault" role="alert">
          {withCode(refused.why)}
        </p>
      )}
    </Confirm>
  );
}
