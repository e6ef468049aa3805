/** Begins the page: listens to the daemon and draws. */

import { render } from 'preact';
import { openStream } from './data/live.ts';
import { takeSession } from './data/session.ts';
import { Shell } from './frame/shell.tsx';

takeSession();
void openStream();
const page = document.getElementById('page');
if (page !== null) render(<Shell />, page);
