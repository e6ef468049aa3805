/** Starts the page: reads the stream and draws. */

import { options, render } from 'preact';
import { inOrder } from '../../../machines/base/shown-json.ts';
import { openStream } from './data/live.ts';
import { look } from './data/place.ts';
import { takeSession } from './data/session.ts';
import { Shell } from './frame/shell.tsx';

// Every text node of the page comes by here, so no name or reason of a sender or a server can reverse what is around it.
const { vnode: ofCompat } = options;
options.vnode = (node) => {
  ofCompat?.(node);
  const { props }: { readonly props: unknown } = node;
  if (typeof props === 'string') Object.assign(node, { props: inOrder(props) });
};

takeSession();
// A link continues where the last session ended.
look();
void openStream();
const page = document.getElementById('page');
if (page !== null) render(<Shell />, page);
