/** The log of a server: its standard error, read again while the page shows it. @see LIF-10 and INS-4 */

import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { ServerRow } from '../../../control/contract.ts';
import { copyText } from '../data/copy-text.ts';
import { link } from '../data/live.ts';
import { call, useAsked } from '../data/rpc.ts';
import { useFresh } from '../data/use-fresh.ts';
import { Button } from '../parts/button.tsx';
import { Check } from '../parts/choice.tsx';
import { LogLines } from '../parts/log-lines.tsx';
import { Answer, Empty } from '../parts/panel.tsx';

const logLines = 2_000;
const readMs = 2_000;
const changing = /^serverConnection$/;

export function ServerLog({ row: { name, profile } }: { readonly row: ServerRow }): JSX.Element {
  const { asked, again } = useAsked(`log ${profile}/${name}`, () =>
    call('mcp.logs', { server: name, profile, lines: logLines }),
  );
  const [follows, follow] = useState(true);
  // A person who has scrolled up keeps the lines in place.
  const read = (): void => {
    if (follows) again();
  };
  useFresh(changing, read);
  useEffect(() => {
    const timer = setInterval(() => {
      // A hidden page is not read.
      if (!document.hidden && link.get() === 'live') read();
    }, readMs);
    return () => clearInterval(timer);
  }, [again, follows]);
  return (
    <section class="panel" aria-label="Log">
      <header>
        <span class="small muted cut grow">Standard error of the server, newest last, secrets taken out</span>
        <Check checked={follows} onChange={follow}>
          Follow
        </Check>
        {asked.kind === 'there' ? <Copy lines={asked.value} /> : null}
      </header>
      <Answer asked={asked} again={again} what="The log">
        {(lines) =>
          lines.length === 0 ? (
            <Empty title="The server has written nothing." />
          ) : (
            <Lines lines={lines} follows={follows} onFollow={follow} />
          )
        }
      </Answer>
    </section>
  );
}

/** Keeps the list's identity while its lines are the same, so that nothing moves. */
function Lines({
  lines,
  ...more
}: {
  readonly lines: readonly string[];
  readonly follows: boolean;
  readonly onFollow: (follows: boolean) => void;
}): JSX.Element {
  const text = lines.join('\n');
  const steady = useMemo(() => lines, [text]);
  return <LogLines lines={steady} label="Log of the server" {...more} />;
}

function Copy({ lines }: { readonly lines: readonly string[] }): JSX.Element {
  return (
    <Button icon="copy" class="quiet" onClick={() => void copyText(lines.join('\n'))}>
      Copy
    </Button>
  );
}
