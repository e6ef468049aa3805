/** The page's few icons, drawn with one line. */

import type { ComponentChildren, JSX } from 'preact';
import type { View } from '../data/hash.ts';

function icon(lines: ComponentChildren): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 20 20" aria-hidden="true">
      {lines}
    </svg>
  );
}

export const icons: Readonly<Record<View | 'agent', JSX.Element>> = {
  agent: icon(
    <>
      <rect x="3" y="3.5" width="8.5" height="5.5" rx="2" />
      <rect x="8.5" y="11.5" width="8.5" height="5.5" rx="2" />
      <path d="M6 9v3.2c0 1.2.8 2 2 2h.5" />
    </>,
  ),
  now: icon(
    <>
      <path d="M4 4h6M7 4v12M7 9h4M7 15h4" />
      <circle cx="13.5" cy="9" r="2" />
      <circle cx="13.5" cy="15" r="2" />
    </>,
  ),
  events: icon(<path d="M3 5h5v4h4v4h5v3" />),
  servers: icon(
    <>
      <rect x="3" y="4" width="14" height="5" rx="1.5" />
      <rect x="3" y="11" width="14" height="5" rx="1.5" />
      <path d="M6 6.5h.01M6 13.5h.01" />
    </>,
  ),
  approvals: icon(<path d="m4 10.5 4 4 8-9" />),
  cron: icon(
    <>
      <circle cx="10" cy="10" r="6.8" />
      <path d="M10 6v4l3 2" />
    </>,
  ),
  targets: icon(<path d="M3 9.5 17 4l-4.5 13-3-5.5zM17 4l-7.5 7.5" />),
};
