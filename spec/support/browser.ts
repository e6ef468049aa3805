/** A real headless Chromium with the inspector's page in it, and what the page said, asked for and did not get. */

import axe from 'axe-core';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
  type Request,
} from 'playwright-core';
import tap, { type Test } from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { chromiumPath, noChromium } from './chromium.ts';
import { eventually, type Gateway } from './mcp/gateway.ts';
import { deferred } from './turns.ts';

/** For a test that needs a browser. */
export const options = chromiumPath === undefined ? { skip: noChromium } : {};

const flags =
  '--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync';

export interface OpenPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** The addresses of everything that the page asked for. */
  readonly asked: readonly string[];
  /** Errors and warnings of the page's console, and what was thrown in it. */
  readonly complaints: readonly string[];
}

export interface PageOptions {
  readonly scheme?: 'light' | 'dark';
  readonly calm?: boolean;
  /** What the link is asked for with: for whom the session is, and whether it only reads. */
  readonly link?: JsonObject;
}

let launched: Promise<Browser> | undefined;

/** A browser of its own, as far as cookies go; it closes with the spec. */
export async function openContext(t: Test, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  launched ??= launch();
  const context = await (await launched).newContext(options);
  t.teardown(async () => {
    await Promise.all(context.pages().map((page) => page.unrouteAll({ behavior: 'ignoreErrors' })));
    await context.close();
  });
  return context;
}

/**
 * The browser of this process, started for the first spec that wants one. Names that end in `.invalid` resolve to this
 * machine, as an attacker's DNS would resolve them.
 */
async function launch(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: chromiumPath ?? '',
    args: [...flags.split(' '), '--host-resolver-rules=MAP *.invalid 127.0.0.1'],
  });
  tap.teardown(() => browser.close());
  return browser;
}

/** A browser of its own with nothing open. */
export async function openBlank(t: Test, { scheme, calm }: PageOptions = {}): Promise<OpenPage> {
  const context = await openContext(t, {
    viewport: { width: 1280, height: 800 },
    colorScheme: scheme ?? 'light',
    reducedMotion: calm === true ? 'reduce' : 'no-preference',
  });
  const page = await context.newPage();
  const asked: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  return { page, context, asked, complaints };
}

/** Opens the page by a fresh link, as `agent inspect --web` prints it. */
export async function openInspector(t: Test, gateway: Gateway, options?: PageOptions): Promise<OpenPage> {
  const open = await openBlank(t, options);
  await open.page.goto(await linkOf(gateway, options?.link));
  await open.page.getByText('Live', { exact: true }).first().waitFor();
  return open;
}

export function linkOf({ control }: Gateway, params: JsonObject = {}): Promise<string> {
  return eventually(async () => {
    try {
      return ((await control.call('inspect.link', params)) as unknown as { readonly url: string }).url;
    } catch (thrown) {
      // The listener stands a moment after the daemon.
      if ((thrown as { readonly code?: unknown }).code !== 'inspector-closed') throw thrown;
      return undefined;
    }
  });
}

export async function goTo(page: Page, hash: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
}

/** Holds back what the daemon answers to a method, until the returned function is called. */
export async function holdAnswer(page: Page, method: string): Promise<() => Promise<void>> {
  const held = deferred<void>();
  await page.route('**/rpc', async (asked) => {
    if (!calls(method)(asked.request())) return asked.continue();
    const response = await asked.fetch();
    await held.promise;
    return asked.fulfill({ response });
  });
  await isIntercepted(page);
  return async () => {
    held.resolve();
    await page.unrouteAll({ behavior: 'wait' });
  };
}

/** Answers a method with what the function returns: undefined for the daemon's own answer; a thrown error is a refusal. */
export type Answer = (params: JsonObject, own: () => Promise<never>) => unknown;

/** Answers these methods in place of the daemon, until the spec ends or they are unrouted. */
export async function answerFor(page: Page, answers: Readonly<Record<string, Answer>>): Promise<void> {
  await page.route('**/rpc', async (route) => {
    const { id, method, params } = JSON.parse(route.request().postData() ?? '{}');
    const own = async () => (await (await route.fetch()).json()).result as never;
    try {
      const result = await answers[method]?.(params, own);
      if (result === undefined) await route.continue();
      else await route.fulfill({ json: { jsonrpc: '2.0', id, result } });
    } catch (error) {
      await route.fulfill({
        json: { jsonrpc: '2.0', id, error: { code: -32_000, message: (error as Error).message } },
      });
    }
  });
  await isIntercepted(page);
}

/** A busy page takes a key before it learns of the route, and what the key asks for would pass by it; a script comes after. */
async function isIntercepted(page: Page): Promise<void> {
  await page.evaluate('0');
}

export function refusal(message: string): () => never {
  return () => {
    throw new Error(message);
  };
}

/** Returns whether a request calls the method. */
export function calls(method: string): (request: Request) => boolean {
  return (request) => request.postData()?.includes(`"${method}"`) === true;
}

/** What axe finds against the rules of WCAG 2.2 AA, each as one line. */
export async function axeFindings(page: Page): Promise<readonly string[]> {
  // What is fading in has too little contrast for as long as that takes.
  await page.evaluate('Promise.allSettled(document.getAnimations().map(({ finished }) => finished)).then(() => {})');
  await page.evaluate(axe.source);
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  const found = await page.evaluate(`axe.run(document, { runOnly: ${JSON.stringify(tags)} })`);
  return (found as axe.AxeResults).violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary ?? ''}`),
  );
}

/**
 * What does not fit the window: a page that is wider than it, and controls of which a part lies where nobody can bring it
 * into sight, beyond the window or cut off by what is around them, or beyond the edge of their panel or of the head.
 */
export async function clippedParts(page: Page): Promise<readonly string[]> {
  return page.evaluate(`(() => {
    const found = [];
    const name = (one) => one.tagName.toLowerCase() + '.' + [...one.classList].join('.') + ' "' + (one.innerText ?? '').slice(0, 30) + '"';
    const root = document.documentElement;
    if (root.scrollWidth > root.clientWidth) found.push('the page is ' + root.scrollWidth + ' wide in a window of ' + root.clientWidth);
    for (const one of document.querySelectorAll('button, a, input, select, textarea, summary, .chip, h1, h2, h3')) {
      const box = one.getBoundingClientRect();
      if (box.width < 2 || box.height < 2 || !one.checkVisibility({ visibilityProperty: true })) continue;
      if (one.matches('.skip, .unseen')) continue;
      const bar = one.closest('.bar')?.getBoundingClientRect();
      if (bar !== undefined && (box.top < bar.top || box.bottom > bar.bottom)) found.push(name(one) + ' is not within the head');
      let left = 0;
      let right = root.clientWidth;
      for (let at = one.parentElement; at !== null; at = at.parentElement) {
        const { overflowX } = getComputedStyle(at);
        if (overflowX === 'auto' || overflowX === 'scroll') break;
        if (overflowX === 'visible' && !at.matches('.panel')) continue;
        const around = at.getBoundingClientRect();
        left = Math.max(left, around.left);
        right = Math.min(right, around.right);
      }
      if (box.left < left - 1 || box.right > right + 1) found.push(name(one) + ' lies at ' + Math.round(box.left) + '–' + Math.round(box.right) + ', seen is ' + Math.round(left) + '–' + Math.round(right));
    }
    return found;
  })()`) as Promise<readonly string[]>;
}
