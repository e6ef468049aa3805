import fc from 'fast-check';
import t from 'tap';
import type { ProfileName, RouteName } from '../../../machines/base/names.ts';
import type { Route } from '../../../machines/config/route.ts';
import { decodeBody, parseBody } from '../../../machines/webhook/body.ts';
import { compileCoalesceKey, joinBurst, promptWithNote } from '../../../machines/webhook/coalesce.ts';
import { deliveryIdOf, eventMatcher, eventTypeOf } from '../../../machines/webhook/envelope.ts';
import { secondsUntilFree, takeSlot } from '../../../machines/webhook/rate-window.ts';
import { claimName, groupName } from '../../../machines/webhook/record.ts';
import { type Outcome, replyTo } from '../../../machines/webhook/reply.ts';
import { bookOf, findRoute, readTarget } from '../../../machines/webhook/routes.ts';
import { readScriptOutcome, type ScriptResult } from '../../../machines/webhook/script-outcome.ts';

t.test('LIM-3 · only a UTF-8 JSON object is a payload', (t) => {
  const rows: readonly (readonly [string | Buffer, string | undefined, unknown])[] = [
    ['{"a":1}', undefined, { a: 1 }],
    ['\uFEFF{"a":1}', 'application/json', { a: 1 }],
    ['[1]', undefined, undefined],
    ['"x"', undefined, undefined],
    ['null', undefined, undefined],
    ['{', undefined, undefined],
    ['', undefined, undefined],
    [Buffer.from([0x7b, 0xff, 0x7d]), undefined, undefined],
    ['payload=%7B%22a%22%3A1%7D', 'application/x-www-form-urlencoded', { a: 1 }],
    ['payload=nope', 'application/x-www-form-urlencoded', undefined],
    ['a=1&b=2&b=3', 'Application/X-WWW-Form-Urlencoded; charset=utf-8', { a: '1', b: ['2', '3'] }],
    ['', 'application/x-www-form-urlencoded', undefined],
  ];
  for (const [body, type, expected] of rows) {
    const parsed = parseBody(decodeBody(Buffer.from(body as string)), type);
    t.same(parsed.ok ? parsed.value : undefined, expected, `${String(body)} as ${type}`);
  }
  const polluted = parseBody('{"__proto__":{"x":1}}', undefined);
  t.equal(({} as { x?: unknown }).x, undefined, 'no prototype is touched');
  t.ok(polluted.ok);
  fc.assert(fc.property(fc.uint8Array(), (bytes) => typeof parseBody(decodeBody(bytes), undefined).ok === 'boolean'));
  t.end();
});

t.test('EVT-1 · the real header wins, then the neutral one, then the payload', (t) => {
  t.equal(eventTypeOf({ 'x-github-event': 'push', 'x-hosta-event': 'other' }, { event_type: 'body' }), 'push');
  t.equal(eventTypeOf({ 'x-hosta-event': 'issues', 'x-gitlab-event': 'x' }, {}), 'issues');
  t.equal(eventTypeOf({ 'x-gitlab-event': 'Push Hook', 'x-hostb-event': 'x' }, {}), 'Push Hook');
  t.equal(eventTypeOf({ 'x-hostb-event': 'Push Hook' }, {}), 'Push Hook');
  t.equal(eventTypeOf({ 'x-github-event': '' }, { event_type: 'body', type: 't' }), 'body');
  t.equal(eventTypeOf({}, { type: 't' }), 't');
  t.equal(eventTypeOf({}, { type: 7 }), 'unknown');
  t.end();
});

t.test('EVT-2 · both spellings of host B match each other', (t) => {
  const accepts = (events: readonly string[], type: string): boolean => eventMatcher(events)(type);
  t.ok(accepts(['merge_request'], 'Merge Request Hook'));
  t.ok(accepts(['Merge Request Hook'], 'merge_request'));
  t.ok(accepts(['Tag Push Hook'], 'tag_push'));
  t.notOk(accepts(['push'], 'tag_push'));
  t.ok(accepts([], 'anything'), 'an empty list takes all');
  t.end();
});

const body = Buffer.from('{}');
t.test('IDM-2 · the delivery id by its headers, an empty one as none', (t) => {
  t.equal(deliveryIdOf({ 'x-github-delivery': 'a', 'x-hosta-delivery': 'b', 'webhook-id': 'c' }, body), 'a');
  t.equal(deliveryIdOf({ 'x-hosta-delivery': 'b', 'webhook-id': 'c' }, body), 'b');
  t.equal(deliveryIdOf({ 'webhook-id': 'c', 'x-request-id': 'd' }, body), 'c');
  t.equal(deliveryIdOf({ 'x-github-delivery': '', 'x-request-id': 'd' }, body), 'd');
  t.equal(deliveryIdOf({}, body), undefined);
  t.end();
});

t.test('IDM-2 · an id beyond visible ASCII never stands for two different events', (t) => {
  const idOf = (id: string, bytes: string): string | undefined =>
    deliveryIdOf({ 'webhook-id': Buffer.from(id, 'utf8').toString('latin1') }, Buffer.from(bytes));
  t.match(idOf('a-é-1', '{}'), /^a-é-1~[0-9a-f]{16}$/);
  t.equal(
    deliveryIdOf({ 'webhook-id': 'a\xe9' }, body),
    deliveryIdOf({ 'webhook-id': 'a\xe8' }, body),
    'same bytes kept',
  );
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), fc.string(), fc.string(), (id, one, other) => {
      const ascii = /^[\x20-\x7e]+$/.test(id);
      if (ascii) return idOf(id, one) === id;
      return (idOf(id, one) === idOf(id, other)) === (one === other);
    }),
  );
  t.end();
});

t.test('EVT-1 · an event header is read as UTF-8', (t) => {
  const sent = Buffer.from('événement_créé', 'utf8').toString('latin1');
  t.equal(eventTypeOf({ 'x-github-event': sent }, {}), 'événement_créé');
  t.equal(eventTypeOf({ 'x-github-event': 'a\xffb' }, {}), 'a\uFFFDb');
  t.end();
});

t.test('COA-1 · a key is a field or a template; one that does not resolve groups nothing', (t) => {
  const key = (text: string, payload = {}): string | undefined => compileCoalesceKey(text)({ payload, eventType: 'e' });
  t.equal(key('a.b', { a: { b: 7 } }), '7');
  t.equal(key('a.b', { a: {} }), undefined);
  t.equal(key('a', { a: null }), undefined);
  t.equal(key('a', { a: '' }), undefined);
  t.equal(key('{a}-{event_type}', { a: 1 }), '1-e');
  t.equal(key('{a}-{b}', { a: 1 }), undefined);
  t.equal(key('event_type'), 'e');
  t.end();
});

t.test('COA-1 · long keys that differ anywhere stay apart, and none is longer than what a record holds', (t) => {
  const payloadOf = (tail: string) => ({
    list: [...Array.from({ length: 900 }, (_, index) => index), tail],
    text: 'é'.repeat(5_000) + tail,
  });
  for (const written of ['list', 'text', '{list}', 'x{text}', '{__raw__}']) {
    const read = compileCoalesceKey(written);
    const key = (tail: string): string => read({ payload: payloadOf(tail), eventType: 'e' }) ?? '';
    t.not(key('a'), key('b'), written);
    t.equal(key('a'), key('a'), written);
    t.ok(key('a').length < 2_000, `${written} is ${key('a').length} long`);
  }
  const short = compileCoalesceKey('list')({ payload: { list: ['a', 1] }, eventType: 'e' });
  t.equal(short, '["a",1]', 'a short one stands as it is');
  t.end();
});

t.test('COA-1 · a burst settles after quiet, at the latest at the cap from its first event', (t) => {
  const times = fc.array(fc.integer({ min: 0, max: 100_000 }), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(
      times,
      fc.integer({ min: 1, max: 50_000 }),
      fc.integer({ min: 1, max: 80_000 }),
      (drawn, windowMs, maxWaitMs) => {
        const sorted = [...drawn].sort((one, other) => one - other);
        let burst: ReturnType<typeof joinBurst> | undefined;
        for (const [index, nowMs] of sorted.entries())
          burst = joinBurst(burst, { eventKey: `e${index}`, nowMs, windowMs, maxWaitMs });
        const [first = 0] = sorted;
        const last = sorted.at(-1) ?? 0;
        return (
          burst?.id === 'e0' &&
          burst.count === sorted.length &&
          burst.latestEventKey === `e${sorted.length - 1}` &&
          burst.dueAtMs === Math.min(last + windowMs, first + maxWaitMs)
        );
      },
    ),
  );
  t.end();
});

t.test('COA-2 · the note says how many earlier events were superseded', (t) => {
  t.equal(promptWithNote('p', 1), 'p');
  t.match(promptWithNote('p', 2), /^p\n\n.*1 earlier event was superseded/);
  t.match(promptWithNote('p', 5), /4 earlier events were superseded/);
  t.end();
});

t.test('LIM-2 · a window never lets more through than its limit, and frees at the minute', (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.integer({ min: 0, max: 200_000 }), { maxLength: 120 }),
      (limit, drawn) => {
        let window: ReturnType<typeof takeSlot> | undefined;
        const taken = new Map<number, number>();
        for (const nowMs of [...drawn].sort((one, other) => one - other)) {
          if (secondsUntilFree(window, limit, nowMs) !== undefined) continue;
          window = takeSlot(window, nowMs);
          const minute = Math.floor(nowMs / 60_000);
          taken.set(minute, (taken.get(minute) ?? 0) + 1);
        }
        return [...taken.values()].every((count) => count <= limit);
      },
    ),
  );
  const full = takeSlot(undefined, 59_000);
  t.equal(secondsUntilFree(full, 1, 59_000), 1, 'Retry-After in whole seconds');
  t.equal(secondsUntilFree(full, 1, 60_000), undefined);
  t.end();
});

t.test('SCR-2 · every row of the outcome table', (t) => {
  const exited = (stdout: string, code = 0): ScriptResult => ({ kind: 'exited', code, stdout });
  const rows: readonly (readonly [ScriptResult, string, unknown?])[] = [
    [exited('{"b":2}'), 'replaced', { b: 2 }],
    [exited('  {"b":2}\n'), 'replaced', { b: 2 }],
    [exited('some text\n'), 'annotated', { a: 1, script_output: 'some text' }],
    [exited('[1,2]'), 'annotated', { a: 1, script_output: '[1,2]' }],
    [exited('42'), 'annotated', { a: 1, script_output: '42' }],
    [exited('{broken'), 'annotated', { a: 1, script_output: '{broken' }],
    [exited(''), 'ignored'],
    [exited('[SILENT]\n'), 'ignored'],
    [exited('[SILENT] not'), 'annotated', { a: 1, script_output: '[SILENT] not' }],
    [exited('{"__agent_ignore__": true}'), 'ignored'],
    [exited('{"__agent_ignore__": false}'), 'replaced', { __agent_ignore__: false }],
    [exited('{"b":2}', 1), 'ignored'],
    [{ kind: 'timedOut' }, 'ignored'],
    [{ kind: 'missing' }, 'ignored'],
    [{ kind: 'flooded' }, 'ignored'],
  ];
  for (const [result, kind, payload] of rows) {
    const verdict = readScriptOutcome(result, { a: 1 });
    t.equal(verdict.kind, kind, JSON.stringify(result));
    if (verdict.kind !== 'ignored') t.same(verdict.payload, payload, JSON.stringify(result));
  }
  t.end();
});

t.test('SCR-1 · a script that did not run says why', (t) => {
  const why = (result: ScriptResult): string | undefined => {
    const verdict = readScriptOutcome(result, {});
    return verdict.kind === 'ignored' ? verdict.why : undefined;
  };
  t.equal(why({ kind: 'missing' }), 'not found in the scripts folder');
  t.equal(why({ kind: 'missing', why: 'its interpreter "x" is not there' }), 'its interpreter "x" is not there');
  t.end();
});

t.test('DIS-1 · DIS-2 · IDM-1 · RTE-2 · the table of replies', (t) => {
  const named = { route: 'r', event: 'e', deliveryId: 'd' };
  const all = { route: 'r', event: 'e', delivery_id: 'd' };
  const rows: readonly (readonly [Outcome, number, object])[] = [
    [{ kind: 'tooLarge' }, 413, { error: 'Payload too large' }],
    [{ kind: 'unknownRoute' }, 404, { error: 'Unknown route' }],
    [{ kind: 'routeDisabled' }, 403, { error: 'Route disabled' }],
    [{ kind: 'badSignature' }, 401, { error: 'Invalid signature' }],
    [{ kind: 'badBody' }, 400, { error: 'Cannot parse body' }],
    [{ kind: 'rateLimited', retryAfterSeconds: 7 }, 429, { error: 'Rate limit exceeded' }],
    [{ kind: 'ignoredEvent', event: 'e' }, 200, { status: 'ignored', event: 'e' }],
    [{ kind: 'ignoredFilter', route: 'r' }, 200, { status: 'ignored', reason: 'filter', route: 'r' }],
    [{ kind: 'ignoredScript', route: 'r' }, 200, { status: 'ignored', reason: 'script', route: 'r' }],
    [{ kind: 'duplicate', deliveryId: 'd' }, 200, { status: 'duplicate', delivery_id: 'd' }],
    [{ kind: 'accepted', ...named }, 202, { status: 'accepted', ...all }],
    [{ kind: 'coalesced', ...named }, 202, { status: 'coalesced', ...all }],
    [{ kind: 'cron', ...named }, 202, { status: 'accepted', ...all }],
    [
      { kind: 'delivered', route: 'r', target: 't', deliveryId: 'd' },
      200,
      { status: 'delivered', route: 'r', target: 't', delivery_id: 'd' },
    ],
    [{ kind: 'deliveryFailed' }, 502, { error: 'Delivery failed' }],
    [{ kind: 'unavailable' }, 503, { error: 'Service unavailable' }],
  ];
  for (const [outcome, status, body] of rows) {
    const reply = replyTo(outcome);
    t.same([reply.status, JSON.parse(reply.body)], [status, body], outcome.kind);
  }
  t.equal(replyTo({ kind: 'rateLimited', retryAfterSeconds: 7 }).headers?.['retry-after'], '7');
  t.equal(replyTo({ kind: 'methodNotAllowed' }).headers?.allow, 'POST');
  t.end();
});

t.test('RTE-3 · PRF-1 · a path names one route of one profile', (t) => {
  const entry = (name: string, profile: string, source: 'static' | 'dynamic'): { readonly route: Route } => ({
    route: { name: name as RouteName, profile: profile as ProfileName, source } as Route,
  });
  const book = bookOf(
    [entry('a', 'default', 'static'), entry('w', 'work', 'static')],
    [entry('a', 'default', 'dynamic'), entry('x/y', 'default', 'dynamic')],
  );
  const find = (path: string, multiplex = true): Route | undefined => {
    const target = readTarget(path);
    return target.kind === 'route' ? findRoute(book, target, multiplex)?.route : undefined;
  };
  t.equal(find('/webhooks/a')?.source, 'static', 'static wins');
  t.equal(find('/webhooks/%61')?.name, 'a', 'percent-encoded names decode');
  t.equal(find('/webhooks/x%2Fy')?.name, 'x/y');
  t.equal(find('/p/work/webhooks/w')?.name, 'w');
  for (const path of [
    '/webhooks/w',
    '/p/work/webhooks/a',
    '/p/default/webhooks/w',
    '/p/other/webhooks/w',
    '/webhooks/',
    '/webhooks/a/',
    '/webhooks/%zz',
    '/p/work%2F/webhooks/w',
    '/p/..%2f/webhooks/a',
    '/',
    '',
  ]) {
    t.equal(find(path), undefined, path);
  }
  t.equal(find('/p/work/webhooks/w', false), undefined, 'no prefix without multiplexing');
  t.equal(readTarget('/health').kind, 'health');
  t.end();
});

t.test('IDM-1 · claims and groups of different routes never share a name', (t) => {
  const part = fc.string({ maxLength: 6 });
  fc.assert(
    fc.property(part, part, part, part, part, part, (a, b, c, d, e, f) => {
      const same = a === d && b === e && c === f;
      return (
        (claimName(a, b, c) === claimName(d, e, f)) === same && (groupName(a, b, c) === groupName(d, e, f)) === same
      );
    }),
  );
  t.equal(claimName('a/b', 'c', 'd') === claimName('a', 'b/c', 'd'), false);
  t.end();
});
