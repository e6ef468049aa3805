/**
 * The lines of a log, newest last. Only the visible ones are drawn, except on a phone, where lines wrap and so differ in
 * height. While it follows, the end stays visible; scrolling up stops that.
 * @see INS-4 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useMedia } from '../data/use-media.ts';

const lineHeight = 18;
const overscan = 20;
const padding = 12;
const complaint = /\b(?:error|fatal|panic|exception|traceback)\b/i;

interface LogLinesProps {
  readonly lines: readonly string[];
  readonly label: string;
  readonly follows: boolean;
  readonly onFollow: (follows: boolean) => void;
}

export function LogLines({ lines, label, follows, onFollow }: LogLinesProps): JSX.Element {
  const wraps = useMedia('(max-width: 760px)');
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 288 });
  useLayoutEffect(() => {
    const held = box.current;
    if (held === null) return;
    if (follows) held.scrollTop = held.scrollHeight;
    setView({ top: held.scrollTop, height: held.clientHeight });
  }, [lines, follows, wraps]);
  const first = wraps ? 0 : Math.max(0, Math.floor(view.top / lineHeight) - overscan);
  const end = wraps
    ? lines.length
    : Math.min(lines.length, Math.ceil((view.top + view.height) / lineHeight) + overscan);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset belongs to a form.
    <div
      ref={box}
      class="code loglines"
      role="group"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys.
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        // On a zoomed page, scroll positions are fractions of pixels.
        const isAtEnd = scrollTop + clientHeight >= scrollHeight - 2;
        if (isAtEnd !== follows) onFollow(isAtEnd);
        setView({ top: scrollTop, height: clientHeight });
      }}
    >
      <div style={wraps ? {} : { height: `${lines.length * lineHeight + padding}px` }}>
        <div style={{ transform: `translateY(${first * lineHeight}px)` }}>
          {lines.slice(first, end).map((line, at) => (
            <div key={first + at} class={`ll${complaint.test(line) ? ' bad' : ''}`}>
              {line === '' ? ' ' : line}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}
