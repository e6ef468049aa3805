/**
 * Browser notifications about new questions, if a person has allowed them. They name the tool, but not its arguments.
 * @see TRU-3 in docs/specification.md
 */

import { useEffect, useState } from 'preact/hooks';
import { heard } from './live.ts';
import { call } from './rpc.ts';
import { toolWords } from './server-words.ts';

type NoticeState = 'off' | 'on' | 'blocked' | 'absent';

function stateNow(): NoticeState {
  if (typeof Notification === 'undefined') return 'absent';
  return Notification.permission === 'granted' ? 'on' : Notification.permission === 'denied' ? 'blocked' : 'off';
}

/** Returns the state, and a function that requests the permission; only a click may call it. */
export function useNoticeState(): readonly [NoticeState, () => void] {
  const [state, setState] = useState(stateNow);
  return [state, () => void Notification.requestPermission().then(() => setState(stateNow()))];
}

/** Shows a notification for each question that comes while the page is hidden, when nothing of it is drawn. */
export function useNotices(): void {
  useEffect(() => {
    let known: ReadonlySet<string> | undefined;
    let isAsking = false;
    const look = (): void => {
      const waiting = heard.get()?.approvals;
      if (waiting === undefined || isAsking || stateNow() !== 'on') return;
      if (waiting === 0) {
        known = new Set();
        return;
      }
      // By their ids: the number stays the same when one is answered and another comes.
      isAsking = true;
      call('approvals.list')
        .then((rows) => {
          const before = known;
          known = new Set(rows.map(({ id }) => id));
          if (before === undefined || !document.hidden) return;
          for (const { id, tool = '', server, kind } of rows) {
            if (before.has(id)) continue;
            const title = kind === 'tool' ? `Approve ${toolWords(tool, server)}?` : 'A question waits for you';
            new Notification(title, { tag: id }).onclick = () => window.focus();
          }
        })
        .catch(() => {
          // The daemon cannot be reached, or the browser shows none.
        })
        .finally(() => {
          isAsking = false;
        });
    };
    look();
    return heard.onChange(look);
  }, []);
}
