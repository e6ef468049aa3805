/** To be given to `node --import` in front of the suite. */

import { register } from 'node:module';

register('./fs-hooks.js', import.meta.url);
