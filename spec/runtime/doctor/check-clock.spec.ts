import t from 'tap';
import { checkClock } from '../../../runtime/doctor/check-clock.ts';
import { codes, examined, troubles } from '../../support/examined.ts';
import { listenHttp } from '../../support/http-listener.ts';
import { lendEnv } from '../../support/lent-env.ts';

const config = `mcp_servers: {a: {url: "https://one.example/mcp"}, b: {url: "https://two.example/mcp"}, off: {url: "https://off.example", enabled: false}, here: {url: "http://127.0.0.1:1/"}}
agent: {runner: model, model: {provider: anthropic, base_url: "https://model.example/v1", name: m}}
`;
const nowMs = Date.parse('2026-11-05T10:00:00Z');
const at = (seconds: number): string => new Date(nowMs + seconds * 1_000).toUTCString();

t.test('SIG-3 · CLI-2 · the clock is held against the endpoints, and one that agrees is enough', async (t) => {
  const rows: readonly (readonly [Readonly<Record<string, string>>, readonly string[], RegExp?])[] = [
    [{ one: at(0) }, []],
    [{ one: at(20) }, []],
    [{ one: at(90) }, ['warning clock-skew'], /91 s behind/],
    [{ one: at(-400) }, ['wrong clock-skew'], /400 s ahead, so that genuine signatures are refused/],
    [{ one: at(4_000), two: at(1) }, []],
    [{ one: at(4_000), two: at(100), model: at(-7_000) }, ['warning clock-skew']],
    [{}, ['note clock-unknown']],
    [{ one: 'not a date' }, ['note clock-unknown']],
  ];
  const one = examined(t, { 'config.yaml': config });
  for (const [dates, expected, what] of rows) {
    const asked: string[] = [];
    const dateOf = (url: string): Promise<string | undefined> => {
      asked.push(url);
      return Promise.resolve(dates[new URL(url).hostname.split('.')[0] ?? '']);
    };
    const found = await checkClock(one, { now: () => nowMs, dateOf });
    t.same(codes(found), expected, JSON.stringify(dates));
    if (what !== undefined) t.match(troubles(found)[0]?.what, what);
    t.same(asked.sort(), ['https://model.example/', 'https://one.example/', 'https://two.example/']);
  }
  t.same(await checkClock({ ...one, offline: true }), []);
});

t.test('TLS-2 · CLI-2 · the endpoints are asked through the proxy of the environment', async (t) => {
  const asked: (string | undefined)[] = [];
  const proxy = await listenHttp(t, (request, response) => {
    asked.push(request.url);
    response.writeHead(200, { date: new Date(0).toUTCString() }).end();
  });
  lendEnv(t, { http_proxy: proxy.url, no_proxy: '' });
  const one = examined(t, { 'config.yaml': 'mcp_servers: {a: {url: "http://mcp.invalid/mcp"}}\n' });
  t.same(codes(await checkClock(one)), ['wrong clock-skew']);
  t.same(asked, ['http://mcp.invalid/']);
});
