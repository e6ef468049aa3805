/**
 * Browser notifications about new questions, if a person has allowed them. They name the tool, but not its arguments.
 * @see TRU-3 in docs/specification.md
 */

import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from './rpc.ts';
import { toolWords } from './server-words.ts';

export type NoticeState = 'off' | 'on' | 'blocked' | 'absent';

function stateNow(): NoticeState {
  if (typeof Notification === 'undefined') return 'absent';
  return Notification.permission === 'granted' ? 'on' : Notification.permission === 'denied' ? 'blocked' : 'off';
}

/** Returns the state, and a function that requests the permission; only a click may call it. */
export function useNoticeState(): readonly [NoticeState, () => void] {
  const [state, setState] = useState(stateNow);
  return [state, () => void Notification.requestPermission().then(() => setState(stateNow()))];
}

/** Shows a notification for each new question while the page is hidden. */
export function useNotices(waiting: number): void {
  const known = useRef<ReadonlySet<string> | undefined>(undefined);
  useEffect(() => {
    if (stateNow() !== 'on') return;
    void call('approvals.list').then(
      (rows) => {
        const before = known.current;
        known.current = new Set(rows.map(({ id }) => id));
        if (before === undefined || !document.hidden) return;
        for (const { id, tool = '', server, kind } of rows) {
          if (before.has(id)) continue;
          const title = kind === 'tool' ? `Approve ${toolWords(tool, server)}?` : 'A question waits for you';
          new Notification(title, { tag: id }).onclick = () => window.focus();
        }
      },
      () => {},
    );
  }, [waiting]);
}
