/**
 * Measures what the inspector's page costs the browser at 100 events a second: the processor time of its process, the
 * elements of the document and the heap, view by view, in a real headless Chromium. Prints; judges nothing.
 * @see INS-2 and INS-4 in docs/specification.md
 */

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { connectControl } from '../../runtime/control/client.ts';
import type { GatewayStatus } from '../../runtime/control/contract/gateway.ts';
import { chromiumPath, noChromium } from '../support/chromium.ts';
import { linkOf } from '../support/inspector.ts';
import { adapterOf } from '../support/webhook-adapter.ts';
import { ended, homeWith, started, wait } from './daemon.ts';
import { secret } from './handler.ts';
import { sendPaced } from './load.ts';
import { print } from './table.ts';

const perSecond = 100;
const views = ['overview', 'events', 'failures', 'routes', 'actors'] as const;

/** @param full - an hour at Events, a line every ten minutes, in place of each view for a minute. */
export async function measurePage(quick: boolean, full: boolean): Promise<void> {
  if (chromiumPath === undefined) {
    process.stdout.write(`page: not measured, ${noChromium}\n\n`);
    return;
  }
  const seconds = full ? 600 : quick ? 2 : 60;
  const home = homeWith({});
  writeFileSync(join(home, 'config.yaml'), JSON.stringify(config));
  const { child } = await started(home);
  const client = await connectControl(join(home, 'gateway.sock'));
  const { webhook } = (await client?.call('gateway.status')) as unknown as GatewayStatus;
  client?.close();
  const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', '--disable-gpu'] });
  const page = await browser.newPage({ viewport: { width: 1_440, height: 900 } });
  await page.goto(await linkOf(home));
  await page.getByText('Live', { exact: true }).first().waitFor();
  const ofPage = await page.context().newCDPSession(page);
  const ofBrowser = await browser.newBrowserCDPSession();
  const cpuSeconds = async (): Promise<number> =>
    (await ofBrowser.send('SystemInfo.getProcessInfo')).processInfo
      .filter(({ type }) => type === 'renderer')
      .reduce((sum, { cpuTime }) => sum + cpuTime, 0);
  const heapBytes = async (): Promise<number> => {
    await ofPage.send('HeapProfiler.collectGarbage');
    return (await ofPage.send('Runtime.getHeapUsage')).usedSize;
  };

  print([`page, ${perSecond} events/s, ${seconds} s each`, 'CPU %', 'elements', 'heap MB', 'grew MB']);
  for (const [n, view] of (full ? Array<string>(6).fill('events') : views).entries()) {
    await page.evaluate(`location.hash = '#/${view}'`);
    const sent = sendPaced({
      port: Number(new URL(webhook.url ?? '').port),
      path: '/webhooks/bench',
      connections: 16,
      requests: perSecond * (seconds + 4),
      round: `${view}-${n}`,
      perSecond,
    });
    // The view is drawn, and its list is full.
    await wait(3_000);
    const heapBefore = await heapBytes();
    const cpuBefore = await cpuSeconds();
    const began = performance.now();
    let elements = 0;
    while (performance.now() - began < seconds * 1_000) {
      await wait(1_000);
      elements = Math.max(elements, Number(await page.evaluate(`document.querySelectorAll('*').length`)));
    }
    const percent = ((await cpuSeconds()) - cpuBefore) / ((performance.now() - began) / 100_000);
    const heap = await heapBytes();
    await sent;
    const megabytes = (bytes: number): string => (bytes / 1_048_576).toFixed(1);
    print([view, percent.toFixed(1), String(elements), megabytes(heap), megabytes(heap - heapBefore)]);
  }
  process.stdout.write('\n');
  await browser.close();
  await ended(child, 'SIGKILL');
  rmSync(home, { recursive: true, force: true });
}

const config = {
  agent: { runner: 'echo', concurrency: 8 },
  inspector: { port: 0 },
  platforms: {
    webhook: adapterOf({ bench: { prompt: 'n', deliver: 'log' } }, { secret, rate_limit: 1_000_000 }),
  },
};
