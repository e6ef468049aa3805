/** Starts the page: reads the stream and draws. */

import { options, render } from 'preact';
import { inOrder } from '../../../machines/base/shown-json.ts';
import { openStream } from './data/live.ts';
import { look } from './data/place.ts';
import { takeSession } from './data/session.ts';
import { Shell } from './frame/shell.tsx';

/** Attributes that are shown or read out as text. */
const texts = ['title', 'aria-label', 'placeholder'] as const;

// Every text of the page comes by here, so no name or reason of a sender or a server can reverse what is around it.
const { vnode: ofCompat } = options;
options.vnode = (node) => {
  ofCompat?.(node);
  const { type, props }: { readonly type: unknown; readonly props: unknown } = node;
  if (typeof props === 'string') Object.assign(node, { props: inOrder(props) });
  if (typeof type !== 'string') return;
  for (const name of texts) {
    const text = (node.props as Readonly<Record<string, unknown>>)[name];
    if (typeof text === 'string') Object.assign(node.props, { [name]: inOrder(text) });
  }
};

takeSession();
// A link continues where the last session ended.
look();
void openStream();
const page = document.getElementById('page');
if (page !== null) render(<Shell />, page);
