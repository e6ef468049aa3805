/** The button that saves all matching events as JSON, also those not listed yet. @see INS-4 in docs/specification.md */

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { announce } from '../data/announce.ts';
import { collectEvents } from '../data/event-list.ts';
import { counted } from '../data/format.ts';
import { stream, wordsOf } from '../data/rpc.ts';
import { saveFile } from '../data/save-file.ts';
import { Button } from '../parts/button.tsx';

const maxExported = 10_000;

export function ExportButton({ q, range }: { readonly q: string; readonly range: string }): JSX.Element {
  const [count, setCount] = useState<number>();
  const run = useRef<AbortController>(undefined);
  const isGone = useRef(false);
  useEffect(
    () => () => {
      isGone.current = true;
      run.current?.abort();
    },
    [],
  );

  async function exportEvents(): Promise<void> {
    run.current = new AbortController();
    const { signal } = run.current;
    setCount(0);
    const { rows, isAll, error } = await collectEvents(
      (page) => stream('events.search', { q, ...page }, { signal, heard: () => {} }),
      { range, max: maxExported, signal, heard: setCount },
    );
    if (isGone.current) return;
    setCount(undefined);
    const why = error === undefined || signal.aborted ? undefined : wordsOf(error).why;
    if (rows.length === 0 && !isAll) {
      announce(why === undefined ? 'Export stopped.' : `Not exported: ${why}`, why !== undefined);
      return;
    }
    const time = new Date().toISOString().slice(0, 19).replaceAll(':', '-');
    saveFile(`events-${time}.json`, JSON.stringify(rows, null, 2));
    const words = `${counted(rows.length, 'event')} exported${isAll ? '' : ', the newest of those that match'}`;
    announce(why === undefined ? `${words}.` : `${words}, before it failed: ${why}`, why !== undefined);
  }

  return (
    <Button
      icon="download"
      class="not-s"
      onClick={() => (count === undefined ? void exportEvents() : run.current?.abort())}
    >
      {count === undefined ? 'Export' : `Stop export (${count.toLocaleString('en')})`}
    </Button>
  );
}
