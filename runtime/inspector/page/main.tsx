/** Starts the page: reads the stream and draws. */

import { render } from 'preact';
import { openStream } from './data/live.ts';
import { look } from './data/place.ts';
import { takeSession } from './data/session.ts';
import { Shell } from './frame/shell.tsx';

takeSession();
// A link continues where the last session ended.
look();
void openStream();
const page = document.getElementById('page');
if (page !== null) render(<Shell />, page);
