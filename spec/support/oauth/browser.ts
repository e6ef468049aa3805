/** A browser without a face: follows redirects, keeps cookies, fills in the one form it meets. */

export interface Page {
  readonly url: string;
  readonly status: number;
  readonly body: string;
}

export interface Browser {
  /** Follows redirects to the page where they end; with `until`, stops before an address that fits. */
  visit(url: string, until?: (url: string) => boolean): Promise<Page>;
  /** Sends the form of a page, with its hidden fields and these. */
  submit(page: Page, fields: Readonly<Record<string, string>>): Promise<Page>;
}

const maxRedirects = 20;

export function createBrowser(): Browser {
  /** Cookies by origin and name; their paths do not matter here. */
  const jar = new Map<string, Map<string, string>>();

  async function go(start: string, init: RequestInit, until: (url: string) => boolean = () => false): Promise<Page> {
    let url = start;
    let request = init;
    for (let hops = 0; hops < maxRedirects; hops += 1) {
      if (until(url)) return { url, status: 0, body: '' };
      const { origin } = new URL(url);
      const cookies = jar.get(origin) ?? new Map<string, string>();
      jar.set(origin, cookies);
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const headers = {
        accept: 'text/html',
        connection: 'close',
        ...request.headers,
        ...(cookie === '' ? {} : { cookie }),
      };
      const answer = await fetch(url, { ...request, headers, redirect: 'manual' });
      for (const line of answer.headers.getSetCookie()) {
        const [pair = ''] = line.split(';');
        const at = pair.indexOf('=');
        const value = pair.slice(at + 1);
        if (value === '' || /expires=Thu, 01 Jan 1970/i.test(line)) cookies.delete(pair.slice(0, at));
        else cookies.set(pair.slice(0, at), value);
      }
      const location = answer.headers.get('location');
      if (location === null || answer.status < 300 || answer.status > 399) {
        return { url, status: answer.status, body: await answer.text() };
      }
      await answer.body?.cancel();
      url = new URL(location, url).href;
      request = {};
    }
    throw new Error(`more than ${maxRedirects} redirects`);
  }

  return {
    visit: (url, until) => go(url, {}, until),
    submit(page, fields) {
      const form = /<form[^>]*action="([^"]*)"/.exec(page.body)?.[1] ?? page.url;
      const hidden = [...page.body.matchAll(/<input[^>]*type="hidden"[^>]*>/g)].map(([input]) => [
        /name="([^"]*)"/.exec(input)?.[1] ?? '',
        /value="([^"]*)"/.exec(input)?.[1] ?? '',
      ]);
      const body = new URLSearchParams({ ...Object.fromEntries(hidden), ...fields }).toString();
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      return go(new URL(form, page.url).href, { method: 'POST', body, headers });
    },
  };
}
