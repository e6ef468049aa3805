/** Begins the page: listens to the daemon and draws. */

import { render } from 'preact';
import { openStream } from './data/live.ts';
import { Shell } from './shell.tsx';

openStream();
const page = document.getElementById('page');
if (page !== null) render(<Shell />, page);
