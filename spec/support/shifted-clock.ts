/**
 * Loaded into a daemon before anything else: moves its wall clock by the milliseconds that a file says, as they stand at
 * each look. What only rises, such as timers, goes on as it is.
 */

import { readFileSync } from 'node:fs';

const file = process.env.SPEC_CLOCK_FILE ?? '';
const trueNow = Date.now;

Date.now = () => trueNow() + Number(readFileSync(file, 'utf8'));
