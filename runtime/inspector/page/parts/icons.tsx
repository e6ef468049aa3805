/** The page's icons, as line drawings. */

import type { ComponentChildren, JSX } from 'preact';

const lines = {
  overview: (
    <>
      <rect x="2" y="2.5" width="5" height="6" rx="1.2" />
      <rect x="9" y="2.5" width="5" height="3.5" rx="1.2" />
      <rect x="2" y="10.5" width="5" height="3" rx="1.2" />
      <rect x="9" y="8" width="5" height="5.5" rx="1.2" />
    </>
  ),
  events: <path d="M2 4h12M2 8h12M2 12h7" />,
  failures: <path d="M8 2 14.5 13.5h-13zM8 6.5v3.2M8 11.7v.01" />,
  approvals: (
    <>
      <path d="M8 1.8 13.5 4v4c0 3.3-2.3 5.4-5.5 6.4C4.8 13.4 2.5 11.3 2.5 8V4z" />
      <path d="m5.7 8 1.7 1.7 3-3.2" />
    </>
  ),
  routes: (
    <>
      <circle cx="3.5" cy="12.5" r="1.7" />
      <circle cx="12.5" cy="3.5" r="1.7" />
      <path d="M5.2 12.5h5a2.2 2.2 0 0 0 0-4.5H5.8a2.2 2.2 0 0 1 0-4.5h5" />
    </>
  ),
  servers: (
    <>
      <rect x="2" y="2.5" width="12" height="4.5" rx="1.2" />
      <rect x="2" y="9" width="12" height="4.5" rx="1.2" />
      <path d="M4.6 4.8h.01M4.6 11.3h.01" />
    </>
  ),
  targets: <path d="M1.8 7.3 14 2.3l-3.7 11.4L8 8.9zM14 2.3 8 8.9" />,
  schedules: (
    <>
      <circle cx="8" cy="8" r="6" />
      <path d="M8 4.5V8l2.5 1.7" />
    </>
  ),
  actors: (
    <>
      <circle cx="8" cy="3.5" r="1.8" />
      <circle cx="3.5" cy="12.5" r="1.8" />
      <circle cx="12.5" cy="12.5" r="1.8" />
      <path d="M8 5.3v2.2M3.5 10.7V9A1.5 1.5 0 0 1 5 7.5h6A1.5 1.5 0 0 1 12.5 9v1.7" />
    </>
  ),
  nodes: (
    <>
      <rect x="5.8" y="1.8" width="4.4" height="4" rx="1" />
      <rect x="1.8" y="10.2" width="4.4" height="4" rx="1" />
      <rect x="9.8" y="10.2" width="4.4" height="4" rx="1" />
      <path d="M8 5.8V8M4 10.2V8h8v2.2" />
    </>
  ),
  config: (
    <>
      <path d="M2 4.5h6M12 4.5h2M2 11.5h2M8 11.5h6" />
      <circle cx="10" cy="4.5" r="1.9" />
      <circle cx="6" cy="11.5" r="1.9" />
    </>
  ),
  audit: <path d="M4 2.5h8v11H4zM6 5.5h4M6 8h4M6 10.5h2" />,
  person: (
    <>
      <circle cx="8" cy="5.2" r="2.6" />
      <path d="M3 13.5c.6-2.6 2.6-4 5-4s4.4 1.4 5 4" />
    </>
  ),
  search: (
    <>
      <circle cx="7" cy="7" r="4.5" />
      <path d="m10.5 10.5 3.2 3.2" />
    </>
  ),
  bell: <path d="M4 11V7a4 4 0 0 1 8 0v4l1.2 1.5H2.8zM6.8 14.2h2.4" />,
  check: <path d="m3 8.5 3.2 3.2L13 4.8" />,
  copy: (
    <>
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
      <path d="M10.5 3.2a1.2 1.2 0 0 0-1.2-.7H4A1.5 1.5 0 0 0 2.5 4v5.3a1.2 1.2 0 0 0 .7 1.2" />
    </>
  ),
  link: <path d="M6.5 9.5 9.5 6.5M7 4.5 8.7 2.8A3 3 0 0 1 13 7.1L11.5 9M9 11.5l-1.7 1.7A3 3 0 0 1 3 8.9L4.5 7" />,
  filter: <path d="M2.5 4h11M4.5 8h7M6.5 12h3" />,
  bolt: <path d="M9 1.8 3.5 9H8l-1 5.2L12.5 7H8z" />,
  more: <path d="M3.5 8h.01M8 8h.01M12.5 8h.01" stroke-width="2.2" />,
  download: <path d="M8 2.5v8M4.8 7.5 8 10.7l3.2-3.2M3 13.5h10" />,
  upwards: <path d="M8 13V3M4 7l4-4 4 4" />,
  up: <path d="m4.5 9.5 3.5-3.5 3.5 3.5" />,
  down: <path d="m4.5 6.5 3.5 3.5 3.5-3.5" />,
  back: <path d="M10 3.5 5.5 8l4.5 4.5" />,
  close: <path d="m4 4 8 8M12 4l-8 8" />,
  replay: (
    <>
      <path d="M3 8a5 5 0 1 0 1.6-3.7L3 5.8" />
      <path d="M3 2.6v3.2h3.2" />
    </>
  ),
  add: <path d="M8 3v10M3 8h10" />,
  edit: <path d="M10.5 3 13 5.5 6 12.5l-3 .5.5-3z" />,
  power: <path d="M8 2v5M4.5 4.5a5 5 0 1 0 7 0" />,
  leave: <path d="M7 2.5H3v11h4M10 5l3 3-3 3M13 8H6" />,
  switch: <path d="m5 6 3-3 3 3M5 10l3 3 3-3" />,
} satisfies Readonly<Record<string, ComponentChildren>>;

export type IconName = keyof typeof lines;

export function Icon({ name, small = false }: { readonly name: IconName; readonly small?: boolean }): JSX.Element {
  return (
    <svg class={small ? 'icon s' : 'icon'} viewBox="0 0 16 16" aria-hidden="true">
      {lines[name]}
    </svg>
  );
}

export function Logo(): JSX.Element {
  return (
    <svg class="logo" viewBox="0 0 32 32" aria-hidden="true">
      <rect class="ground" width="32" height="32" rx="7" />
      <g>
        <rect x="6" y="6.5" width="12" height="8" rx="3" />
        <rect x="14" y="18" width="12" height="8" rx="3" />
        <path d="M12 14.5v5a2.5 2.5 0 0 0 2 2.5" />
      </g>
    </svg>
  );
}
