/**
 * What `BROWSER` names in the specs: writes down the address that it is given, and follows it as a person's browser would
 * who is known to the authorization server.
 */

import { appendFileSync } from 'node:fs';
import { createBrowser } from './browser.ts';

const [file = '', url = ''] = process.argv.slice(2);
appendFileSync(file, `${url}\n`);
if (process.env.FAKE_BROWSER_ONLY_OPENS === undefined) await createBrowser().visit(url);
