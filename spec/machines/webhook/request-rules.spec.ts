import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { defaultProfile, type ProfileName } from '../../../machines/base/names.ts';
import type { Route, RouteSecret } from '../../../machines/config/route.ts';
import { parseBody } from '../../../machines/webhook/body.ts';
import { compileRoute } from '../../../machines/webhook/compile-route.ts';
import type { SignatureHolder } from '../../../machines/webhook/record.ts';
import * as rules from '../../../machines/webhook/request-rules.ts';
import { isDeprecated } from '../../../machines/webhook/signature.ts';
import type { RequestContext } from '../../../machines/webhook/webhook-request.machine.ts';
import { plainFacts, plainRoute } from '../../support/records.ts';

const { checkSize, matchEvent, readScript, renderTexts } = rules;
type Known = Partial<RequestContext>;
type Facts = rules.RequestFacts & { readonly done: string[] };
const input: rules.RuleInput = { nowMs: 7_000, freshId: 'made' };

/** A rule with what the request takes after it, as the chart's actions take it. */
const taking =
  (decide: (context: RequestContext, facts: rules.RequestFacts, input: rules.RuleInput) => Known) =>
  (context: RequestContext, facts: Facts): Known => {
    const { takes, ...known } = decide(context, facts, input);
    const { name } = known.route ?? context.route ?? { name: 'none' };
    if (takes === 'slot') facts.done.push(`slot of ${name} at ${input.nowMs}`);
    if (takes === 'handshake') facts.done.push(`handshake of ${name}`);
    if (takes === 'slot' && isDeprecated(known.scheme)) facts.done.push(`${known.scheme} on ${name}`);
    return known;
  };
const findRoute = taking(rules.findRoute);
const checkRate = taking(rules.checkRate);
const verifySignature = taking(rules.verifySignature);
const parsePayload = taking(rules.parsePayload);

const secret = 'a-secret-of-rules';

interface Stage {
  readonly route?: Partial<Route>;
  readonly secret?: RouteSecret;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Answers of the window, one for each time it is asked. */
  readonly windows?: readonly (number | undefined)[];
  readonly known?: Partial<RequestContext>;
  readonly holder?: SignatureHolder;
  readonly part?: rules.Part;
  /** Digests that are held; unless given all are, where there is a holder. */
  readonly held?: (digest: string) => boolean;
  /** Answers of the allowance for handshakes. */
  readonly handshakes?: (number | undefined)[];
  readonly routesAreRead?: boolean;
}

/** The facts of a request, what it has taken, and the request as it is before a rule. */
function stage({
  route: more = {},
  secret: given,
  body = '{}',
  headers = {},
  windows = [],
  known = {},
  holder,
  part,
  held = () => true,
  handshakes = [],
  routesAreRead = true,
}: Stage = {}) {
  const compiled = compileRoute({ route: { ...plainRoute, ...more }, secret: given ?? { kind: 'shared', secret } });
  const done: string[] = [];
  const sought: string[] = [];
  let asked = 0;
  const facts: Facts = {
    ...plainFacts(compiled),
    done,
    maxBodyBytes: () => 10,
    findRoute: (path) => (path === '/webhooks/r' ? compiled : undefined),
    routesAreRead: () => routesAreRead,
    headers: () => headers,
    partOf: () => part,
    body: () => Buffer.from(body, 'latin1'),
    parsed: (_, rule) => parseBody(body.includes('\xff') ? undefined : body, part === undefined ? headers : {}, rule),
    secondsUntilFree: () => {
      asked += 1;
      return windows[asked - 1];
    },
    secondsUntilHandshake: () => handshakes.shift(),
    signatureHolder: (digest) => {
      sought.push(digest);
      return held(digest) ? holder : undefined;
    },
    list: (profile, file) => {
      if (file === 'unread.txt') return { has: () => 'the system has no descriptors left to read the list' };
      return profile === defaultProfile && file === 'vip.txt' ? new Set(['mona']) : undefined;
    },
  };
  const context: RequestContext = {
    id: 'k1',
    origin: 'http',
    method: 'POST',
    path: '/webhooks/r',
    receivedAtMs: 0,
    route: compiled.route,
    ...known,
  };
  return { facts, context, done, sought, route: compiled.route };
}

const signed = (body: string): Record<string, string> => ({
  'x-webhook-signature': createHmac('sha256', secret).update(body).digest('hex'),
});

t.test('LIM-1 · a declared length decides before the body is read; exactly the cap passes', (t) => {
  for (const [declaredBytes, outcome] of [
    [undefined, undefined],
    [10, undefined],
    [11, { kind: 'tooLarge' }],
  ] as const) {
    const { context, facts } = stage({ known: { declaredBytes } });
    const known = checkSize(context, facts);
    t.same(known.outcome, outcome, `${declaredBytes}`);
    t.equal(known.reason, outcome && 'declared 11 bytes');
  }
  t.end();
});

t.test('RTE-2 · RTE-3 · method, then route, then whether it is enabled', (t) => {
  const rows: readonly (readonly [Stage, Partial<RequestContext>])[] = [
    ...['GET', 'PUT', 'DELETE', 'PATCH', 'post'].map((method): [Stage, Partial<RequestContext>] => [
      { known: { method, path: '/webhooks/none' } },
      { outcome: { kind: 'methodNotAllowed' }, reason: method },
    ]),
    [{ known: { path: '/webhooks/none' } }, { outcome: { kind: 'unknownRoute' }, reason: 'no route has this path' }],
    [
      { known: { path: '/webhook/gh' } },
      { outcome: { kind: 'unknownRoute' }, reason: 'the path is not /webhooks/<route>' },
    ],
  ];
  for (const [given, expected] of rows) {
    const { context, facts } = stage(given);
    t.same(findRoute(context, facts), expected);
  }
  const open = stage();
  t.same(findRoute(open.context, open.facts), { route: open.route, profile: 'default' });
  const shut = stage({ route: { enabled: false } });
  t.same(findRoute(shut.context, shut.facts), {
    route: shut.route,
    profile: 'default',
    outcome: { kind: 'routeDisabled' },
    reason: 'the route is disabled',
  });
  t.end();
});

t.test('SUB-2 · RTE-3 · while the subscriptions are unread, a missing route is no refusal for good', (t) => {
  for (const method of ['GET', 'POST']) {
    const { context, facts } = stage({ known: { method, path: '/webhooks/none' }, routesAreRead: false });
    t.same(findRoute(context, facts), {
      outcome: { kind: 'unavailable' },
      reason: 'the subscriptions could not be read; `agent webhook list` shows why',
    });
  }
  const known = stage({ routesAreRead: false });
  t.same(findRoute(known.context, known.facts), { route: known.route, profile: 'default' });
  t.end();
});

t.test('LIM-2 · a full window answers before the signature, and again where it filled meanwhile', (t) => {
  const full = { outcome: { kind: 'rateLimited', retryAfterSeconds: 12 } };
  const before = stage({ windows: [12] });
  t.same(checkRate(before.context, before.facts), full);
  const room = stage();
  t.same(checkRate(room.context, room.facts), {});

  const late = stage({ windows: [12], headers: signed('{}') });
  t.same(verifySignature(late.context, late.facts), full);
  t.same(late.done, [], 'what is turned away takes no slot');
  t.end();
});

t.test(
  'SEC-6 · LIM-2 · one whose signature an event keeps is a duplicate: it takes no slot and goes no further',
  (t) => {
    const holder = { deliveryId: 'd1', route: 'r', profile: defaultProfile };
    const headers = { ...signed('{"n":1}'), 'x-request-id': 'mine' };
    const captured = stage({ body: '{"n":1}', headers, windows: [12], holder });
    t.match(verifySignature(captured.context, captured.facts), {
      scheme: 'generic-v1',
      deliveryId: 'mine',
      outcome: { kind: 'duplicate', deliveryId: 'mine' },
      reason: 'same signature as delivery d1',
    });
    t.equal(captured.sought.length, 1);
    t.same(captured.done, []);

    const again = stage({ body: '{"n":1}', headers, holder: { ...holder, deliveryId: 'mine' } });
    t.equal(verifySignature(again.context, again.facts).reason, undefined, 'the same id says it');

    const relaxed = { body: '{"n":1}', headers, route: { allowIdenticalBodies: true } };
    const own = stage({ ...relaxed, holder });
    t.match(
      { outcome: undefined, ...verifySignature(own.context, own.facts) },
      { scheme: 'generic-v1', outcome: undefined },
      'of its own route it may come again',
    );
    const neighbours = stage({ ...relaxed, holder: { ...holder, route: 'other' } });
    t.match(verifySignature(neighbours.context, neighbours.facts), {
      outcome: { kind: 'duplicate' },
      reason: 'same signature as delivery d1 of route "other"',
    });
    const others = stage({ ...relaxed, holder: { ...holder, profile: 'work' as ProfileName } });
    t.match(verifySignature(others.context, others.facts), {
      outcome: { kind: 'duplicate' },
      reason: /^same signature as a delivery of profile "work"; give/,
    });
    t.end();
  },
);

t.test(
  'SEC-6 · equal bodies are several events where the source sends them so and the route lists their types',
  (t) => {
    const digests = (sender: 'shopify' | 'github', events: readonly string[], types: readonly string[]) =>
      types.map((type) => {
        const seal = createHmac('sha256', secret)
          .update('{}')
          .digest(sender === 'github' ? 'hex' : 'base64');
        const headers =
          sender === 'github'
            ? { 'x-github-event': type, 'x-hub-signature-256': `sha256=${seal}` }
            : { 'x-shopify-topic': type, 'x-shopify-hmac-sha256': seal };
        const { context, facts } = stage({ route: { sender, events }, headers });
        return verifySignature(context, facts).signature?.digest;
      });
    const listed = ['orders/create', 'orders/paid'];
    const count = (all: readonly unknown[]): number => new Set(all).size;
    t.equal(count(digests('shopify', listed, [...listed, ...listed])), 2);
    t.equal(count(digests('shopify', listed, ['made-up/1', 'made-up/2', 'made-up/3'])), 1, 'of the rest one runs');
    t.equal(count(digests('shopify', [], listed)), 1, 'a list bounds how often a captured request runs');
    t.equal(count(digests('github', listed, listed)), 1);
    t.notOk(digests('shopify', listed, listed).includes(undefined));
    t.end();
  },
);

t.test('SRC-3 · a handshake takes no slot of the window, and one of a small allowance where that is full', (t) => {
  const key = '0f1e2d3c4b5a69788796a5b4c3d2e1f0';
  const body = '{"type":"url_verification","challenge":"c"}';
  const sealed = (text: string): Stage => ({
    route: { sender: 'slack' },
    secret: { kind: 'shared', secret: key },
    body: text,
    headers: {
      'x-slack-request-timestamp': '7',
      'x-slack-signature': `v0=${createHmac('sha256', key).update(`v0:7:${text}`).digest('hex')}`,
    },
  });
  const asked = stage(sealed(body));
  t.match(verifySignature(asked.context, asked.facts), {
    scheme: 'slack',
    outcome: { kind: 'handshake', status: 200, body: '{"challenge":"c"}' },
    reason: 'handshake: url_verification',
  });
  t.same(asked.done, []);
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const checked = (text: string) => {
    const { context, facts } = stage({ ...sealed(text), headers: { ...sealed(text).headers, ...form } });
    return verifySignature(context, facts).outcome;
  };
  t.match(checked('ssl_check=1&token=t'), { kind: 'handshake', status: 200, body: '' });
  const unsigned = (text: string) => {
    const { context, facts } = stage({ ...sealed(text), headers: form });
    return verifySignature(context, facts).outcome;
  };
  t.match(unsigned('ssl_check=1&token=t&command=%2Fdeploy'), { kind: 'handshake', status: 200, body: '' });
  t.match(unsigned('ssl_check=0&command=%2Fdeploy'), { kind: 'badSignature' });
  t.match(unsigned(`ssl_check=1&text=${'x'.repeat(17_000)}`), { kind: 'badSignature' }, 'no long body is read for it');
  t.equal(checked('command=%2Fdeploy&ssl_check=0'), undefined, 'a command is an event');
  const typed = checked(`payload=${encodeURIComponent('{"type":"block_suggestion","action_id":"a","value":"de"}')}`);
  t.match(typed, { kind: 'handshake', status: 200, body: '{"options":[]}' });
  const chosen = checked(`payload=${encodeURIComponent('{"type":"block_actions","actions":[]}')}`);
  t.equal(chosen, undefined, 'a choice is an event');

  const full = (of: Stage) => stage({ ...sealed(body), windows: [9], known: { declaredBytes: 50 }, ...of });
  const read = full({});
  t.same(checkRate(read.context, read.facts), {}, 'it is read');
  t.same(read.done, [], 'which takes nothing yet');
  for (const none of [{ handshakes: [30] }, { known: {} }, { known: { declaredBytes: 16_385 } }]) {
    const { context, facts } = full(none);
    t.match(checkRate(context, facts), { outcome: { kind: 'rateLimited', retryAfterSeconds: 9 } });
  }
  const shaken = full({});
  t.match(verifySignature(shaken.context, shaken.facts), { outcome: { kind: 'handshake' } });
  t.same(shaken.done, ['handshake of r']);
  const late = full({ handshakes: [30] });
  t.match(verifySignature(late.context, late.facts), { outcome: { kind: 'rateLimited', retryAfterSeconds: 30 } });
  const event = full(sealed('{"type":"event_callback"}'));
  t.match(verifySignature(event.context, event.facts), { outcome: { kind: 'rateLimited' } });
  t.same(event.done, [], 'an event has no part in it');
  const other = stage({ windows: [9] });
  t.match(checkRate(other.context, other.facts), { outcome: { kind: 'rateLimited' } });
  t.same(other.done, []);

  const meta = (token: string, handshakes: (number | undefined)[] = []) => {
    const { context, facts } = stage({
      route: { sender: 'meta' },
      secret: { kind: 'shared', secret: key, verifyToken: 'right' },
      known: { method: 'GET' },
      handshakes,
    });
    const query = `hub.mode=subscribe&hub.challenge=7&hub.verify_token=${token}`;
    const { outcome } = findRoute(context, { ...facts, query: () => query });
    return { outcome, done: facts.done };
  };
  t.match(meta('right'), {
    outcome: { kind: 'handshake', status: 200, body: '7', contentType: 'text/plain; charset=utf-8' },
    done: ['handshake of r'],
  });
  t.match(meta('right', [30]), { outcome: { kind: 'rateLimited', retryAfterSeconds: 30 }, done: [] });
  for (const handshakes of [[], [30]]) {
    const wrong = meta('wrong', handshakes);
    t.match(wrong, { outcome: { kind: 'handshake', status: 403 }, done: [] }, 'strangers use nothing up');
  }
  t.end();
});

t.test('SRC-3 · RTE-3 · a HEAD request is a handshake of Intercom and Trello, and of no other source', (t) => {
  const asked = (sender: 'intercom' | 'trello' | 'github', method = 'HEAD') => {
    const { context, facts, done } = stage({ route: { sender }, known: { method } });
    return [findRoute(context, facts).outcome, done] as const;
  };
  t.match(asked('intercom'), [{ kind: 'handshake', status: 200, body: '' }, ['handshake of r']]);
  t.match(asked('trello'), [{ kind: 'handshake', status: 200, body: '' }, ['handshake of r']]);
  t.same(asked('intercom', 'GET'), [{ kind: 'methodNotAllowed' }, []]);
  t.same(asked('github'), [{ kind: 'methodNotAllowed' }, []]);
  t.end();
});

t.test('SRC-2 · SRC-3 · an address with the right token is there for a sender that asks by GET or HEAD', (t) => {
  const signature = {
    at: { query: 'key' },
    algorithm: 'token',
    encoding: 'hex',
    signed: '{body}',
    key: 'text',
  } as const;
  const asked = (method: string, query: string) => {
    const { context, facts } = stage({ route: { signature }, known: { method } });
    return findRoute(context, { ...facts, query: () => query }).outcome;
  };
  for (const method of ['GET', 'HEAD']) {
    t.match(asked(method, `key=${secret}`), { kind: 'handshake', status: 200 }, method);
    t.same(asked(method, 'key=another'), { kind: 'methodNotAllowed' }, method);
  }
  t.equal(asked('POST', `key=${secret}`), undefined, 'an event');
  t.end();
});

t.test('SRC-1 · SRC-4 · no event of Microsoft Graph has its clientState, whatever shape the body has', (t) => {
  const body = '{"value":[{"id":"a","clientState":"q8Zr4Lk2Wm7Tn1Bd9X"}]}';
  for (const shape of ['each', 'raw', 'object'] as const) {
    const { context, facts } = stage({ route: { sender: 'microsoft-graph', body: shape }, body });
    t.same(parsePayload(context, facts).payload, { [shape === 'each' ? 'items' : 'value']: [{ id: 'a' }] }, shape);
  }
  t.end();
});

t.test('SRC-3 · what Discord asks while an option is typed is answered without choices, and starts no run', (t) => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const key = publicKey.export({ format: 'der', type: 'spki' }).subarray(12).toString('hex');
  const asked = (type: number) => {
    const body = `{"type":${type},"id":"1","data":{"name":"deploy"}}`;
    const headers = {
      'x-signature-timestamp': '7',
      'x-signature-ed25519': sign(null, Buffer.from(`7${body}`), privateKey).toString('hex'),
    };
    const { context, facts } = stage({
      route: { sender: 'discord' },
      secret: { kind: 'shared', secret: key },
      body,
      headers,
    });
    return verifySignature(context, facts);
  };
  t.match(asked(4).outcome, { kind: 'handshake', status: 200, body: '{"type":8,"data":{"choices":[]}}' });
  t.equal(asked(2).outcome, undefined, 'the command itself is an event');
  t.end();
});

t.test('SRC-2 · SRC-3 · Zoom’s token is signed with that secret of a list by which its request was signed', (t) => {
  const body = '{"event":"endpoint.url_validation","payload":{"plainToken":"p"}}';
  const hmac = (key: string, text: string) => createHmac('sha256', key).update(text).digest('hex');
  for (const key of ['the-new-secret-of-zoom', 'the-old-secret-of-zoom']) {
    const headers = { 'x-zm-request-timestamp': '7', 'x-zm-signature': `v0=${hmac(key, `v0:7:${body}`)}` };
    const { context, facts } = stage({
      route: { sender: 'zoom' },
      secret: { kind: 'shared', secret: 'the-new-secret-of-zoom', older: ['the-old-secret-of-zoom'] },
      body,
      headers,
    });
    const answer = JSON.stringify({ plainToken: 'p', encryptedToken: hmac(key, 'p') });
    t.match(verifySignature(context, facts).outcome, { kind: 'handshake', status: 200, body: answer });
  }
  t.end();
});

t.test(
  'SRC-3 · Twitch’s challenge is answered to a genuine signature, and a revoked subscription runs nothing',
  (t) => {
    const asked = (payload: object, secret = 'the-secret-of-twitch') => {
      const body = JSON.stringify(payload);
      const headers = {
        'twitch-eventsub-message-id': 'w',
        'twitch-eventsub-message-timestamp': '1970-01-01T00:00:00.123456789Z',
        'twitch-eventsub-message-signature': `sha256=${createHmac('sha256', secret).update(`w1970-01-01T00:00:00.123456789Z${body}`).digest('hex')}`,
      };
      const shared: RouteSecret = { kind: 'shared', secret: 'the-secret-of-twitch' };
      const { context, facts } = stage({ route: { sender: 'twitch' }, secret: shared, body, headers });
      return verifySignature(context, facts).outcome;
    };
    const pending = { challenge: 'pogchamp', subscription: { status: 'webhook_callback_verification_pending' } };
    t.match(asked(pending), { kind: 'handshake', status: 200, body: 'pogchamp', contentType: /^text\/plain/ });
    t.match(asked(pending, 'of-a-stranger'), { kind: 'badSignature' });
    t.match(asked({ subscription: { status: 'authorization_revoked' } }), { kind: 'handshake', status: 200, body: '' });
    t.equal(asked({ subscription: { status: 'enabled' }, event: {} }), undefined, 'an event');
    t.equal(asked({ subscription: { status: 'enabled' }, events: [{}] }), undefined, 'drop.entitlement.grant');
    t.end();
  },
);

t.test(
  'SRC-3 · the challenges of Dropbox, Okta and monday.com and the secret of Asana are repeated, the last where the route can have it',
  (t) => {
    const asked = (of: Stage & { readonly query?: string }) => {
      const { context, facts } = stage(of);
      return findRoute(context, { ...facts, query: () => of.query }).outcome;
    };
    const dropbox = { route: { sender: 'dropbox' }, known: { method: 'GET' }, query: 'challenge=a%3Cb' } as const;
    t.match(asked(dropbox), { status: 200, body: 'a<b', contentType: /^text\/plain/ });
    t.match(asked({ ...dropbox, query: 'other=1' }), { kind: 'methodNotAllowed' });
    const challenge = { 'x-okta-verification-challenge': 'a"b' };
    const okta = { route: { sender: 'okta' }, known: { method: 'GET' }, headers: challenge } as const;
    t.match(asked(okta), { status: 200, body: '{"verification":"a\\"b"}' });
    t.match(asked({ ...okta, headers: {} }), { kind: 'methodNotAllowed' });
    const monday = stage({ route: { sender: 'monday' }, body: '{"challenge":"c"}' });
    const genuine = { ...monday.facts, query: () => `token=${secret}` };
    t.match(verifySignature(monday.context, genuine).outcome, { status: 200, body: '{"challenge":"c"}' });
    t.match(verifySignature(monday.context, monday.facts).outcome, { kind: 'badSignature' });
    const asana = (more: object, source: 'static' | 'dynamic', query = '', given = 'of-asana') =>
      asked({
        route: { sender: 'asana', source },
        secret: { kind: 'shared', secret: 'until-then', ...more },
        headers: { 'x-hook-secret': given },
        query,
      });
    const repeated = { kind: 'handshake', status: 200, headers: { 'x-hook-secret': 'of-asana' } };
    t.match(asana({ verifyToken: 'c' }, 'dynamic', 'code=c'), { ...repeated, keyHeader: 'x-hook-secret' });
    t.match(asana({ verifyToken: 'c' }, 'dynamic', 'code=d'), { status: 401 });
    t.match(asana({}, 'dynamic'), { status: 401 }, 'the route has the secret of another webhook');
    t.match(asana({ secret: 'of-asana' }, 'dynamic'), { ...repeated, keyHeader: undefined }, 'that it has already');
    t.match(asana({}, 'static'), { ...repeated, keyHeader: undefined }, 'a person makes it the secret of the route');
    t.end();
  },
);

t.test('SRC-3 · a handshake that cannot be signed yet always takes one of the allowance', (t) => {
  const body = '{"verification_token":"secret_1"}';
  const notion = (of: Stage) => {
    const { context, facts, done } = stage({ route: { sender: 'notion' }, body, ...of });
    return [verifySignature(context, facts), done] as const;
  };
  const [first, done] = notion({});
  t.match(first, { outcome: { kind: 'handshake', status: 200, body: '{}', shownField: 'verification_token' } });
  t.notMatch(JSON.stringify(first), /secret_1/, 'the token is in no context');
  t.same(done, ['handshake of r']);
  t.match(notion({ handshakes: [30] })[0], { outcome: { kind: 'rateLimited', retryAfterSeconds: 30 } });
  t.match(notion({ secret: { kind: 'shared', secret: 'secret_0' } })[0], { outcome: { kind: 'badSignature' } });
  const older = ['secret_0'];
  t.match(notion({ secret: { kind: 'shared', secret: 'new', older } })[0], { outcome: { kind: 'badSignature' } });
  t.match(notion({ body: '{"type":"page.created"}' })[0], { outcome: { kind: 'badSignature' } });
  const full = stage({ route: { sender: 'notion' }, body, windows: [9], known: { declaredBytes: 50 } });
  t.same(checkRate(full.context, full.facts), {}, 'it is read while the window is full');
  t.end();
});

t.test('SRC-3 · leave to send is given to a well-formed name, and by Event Grid to the right code alone', (t) => {
  const asked = (sender: 'cloudevents' | 'azure-event-grid', origin: string, query = '') => {
    const secret: RouteSecret = { kind: 'shared', secret: 'newer', older: ['older'] };
    const headers = { 'webhook-request-origin': origin };
    const { context, facts } = stage({ route: { sender }, secret, headers, known: { method: 'OPTIONS' } });
    return findRoute(context, { ...facts, query: () => query }).outcome;
  };
  const leave = { kind: 'handshake', status: 200, headers: { 'webhook-allowed-origin': 'a.example' } };
  t.match(asked('cloudevents', 'a.example'), leave);
  for (const code of ['newer', 'older']) t.match(asked('azure-event-grid', 'a.example', `code=${code}`), leave);
  t.match(asked('azure-event-grid', 'a.example', 'code=no'), { kind: 'handshake', status: 401, headers: undefined });
  for (const origin of ['', 'a b', 'a\u00e9', 'a'.repeat(300)])
    t.match(asked('cloudevents', origin), { kind: 'methodNotAllowed' }, origin);
  t.end();
});

t.test('LIM-2 · SIG-2 · SIG-4 · only a genuine request takes a slot, at the time of its verdict', (t) => {
  const forged = stage({ headers: signed('other') });
  t.same(verifySignature(forged.context, forged.facts), {
    scheme: 'generic-v1',
    outcome: { kind: 'badSignature' },
    reason: 'the signature does not match',
  });
  t.same(forged.done, []);

  const genuine = stage({ headers: signed('{}') });
  t.match(verifySignature(genuine.context, genuine.facts), {
    scheme: 'generic-v1',
    signature: { digest: /^[\w-]{22}$/, isTimed: false },
  });
  t.same(genuine.done, ['slot of r at 7000', 'generic-v1 on r']);

  const open = stage({ secret: { kind: 'insecure' } });
  t.same(verifySignature(open.context, open.facts), { scheme: 'none' });
  t.same(open.done, ['slot of r at 7000'], 'nothing deprecated is noted');
  t.end();
});

t.test('LIM-3 · EVT-1 · IDM-2 · the payload, its type and its id', (t) => {
  const headers = { 'x-github-event': 'push', 'x-github-delivery': 'd1' };
  const rows: readonly (readonly [string, Stage, Partial<RequestContext>])[] = [
    ['named by its headers', { body: '{"a":1}', headers }, { deliveryId: 'd1', payload: { a: 1 }, event: 'push' }],
    [
      'a replay has an id of its own',
      { body: '{"a":1}', headers, known: { origin: 'replay' } },
      { deliveryId: 'made', payload: { a: 1 }, event: 'push' },
    ],
    ['without headers', { body: '{"type":"t"}' }, { deliveryId: 'made', payload: { type: 't' }, event: 't' }],
    [
      'a form',
      { body: 'payload=%7B%22a%22%3A1%7D', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      { deliveryId: 'made', payload: { a: 1 }, event: 'unknown' },
    ],
    [
      'a body that is none, with its id for the log',
      { body: '[', headers },
      { deliveryId: 'd1', outcome: { kind: 'badBody' }, reason: 'the body is not JSON' },
    ],
    [
      'no UTF-8',
      { body: '\xff' },
      { deliveryId: 'made', outcome: { kind: 'badBody' }, reason: 'the body is not UTF-8' },
    ],
  ];
  for (const [title, given, expected] of rows) {
    const { context, facts } = stage(given);
    t.same(parsePayload(context, facts), expected, title);
  }
  for (const [Message, read] of [
    ['{"n":7}', { n: 7 }],
    [' [7]', [7]],
    ['7', '7'],
    ['{"n":7', '{"n":7'],
  ] as const) {
    const { context, facts } = stage({ route: { sender: 'aws-sns' }, body: JSON.stringify({ Message }) });
    t.strictSame(parsePayload(context, facts).payload, { Message: read }, 'a text that is JSON of an object or array');
  }
  const base64 = (text: string, as: 'base64' | 'base64url' = 'base64') => Buffer.from(text).toString(as);
  for (const [data, read] of [
    [base64('{"emailAddress":"a@b"}'), { emailAddress: 'a@b' }],
    [base64('{"n":"ü?>~"}', 'base64url'), { n: 'ü?>~' }],
    [base64('[7]'), [7]],
    [base64('hello\n'), 'hello\n'],
    ['', ''],
    [Buffer.from([0xff, 0xfe]).toString('base64'), '//4='],
    ['no base64!', 'no base64!'],
    [7, 7],
    [{ n: 1 }, { n: 1 }],
  ] as const) {
    const body = JSON.stringify({ message: { data, messageId: 'm1' }, subscription: 's' });
    const { context, facts } = stage({ route: { sender: 'google-pubsub' }, body });
    const known = { payload: { message: { data: read, messageId: 'm1' }, subscription: 's' }, deliveryId: 'm1' };
    t.match(parsePayload(context, facts), { ...known, event: 'unknown' });
  }
  const { context, facts } = stage({ route: { sender: 'google-pubsub' }, body: '' });
  t.match(parsePayload(context, facts), { payload: {}, outcome: undefined }, 'a job of Cloud Scheduler without a body');
  const unwrapped = { 'x-goog-pubsub-message-id': 'm2' };
  for (const [body, payload] of [
    ['{"n":1}', { n: 1 }],
    ['plain', { data: 'plain' }],
    ['{"message":{"data":"e30="}}', { message: { data: {} } }],
  ] as const) {
    const { context, facts } = stage({ route: { sender: 'google-pubsub' }, headers: unwrapped, body });
    t.match(parsePayload(context, facts), { payload, deliveryId: 'm2' }, 'without its envelope');
  }
  t.end();
});

t.test('EVT-1 · FIL-1 · what is ignored says which event or condition it was and what that saw', (t) => {
  const known = { payload: { who: 'ada', long: 'x'.repeat(300) } as JsonObject, event: 'push' };
  const filter = (condition: JsonObject, headers = {}): Stage => ({ known, headers, route: { filters: [condition] } });
  const ignored = (reason: string): Partial<RequestContext> => ({
    outcome: { kind: 'ignoredFilter', route: 'r' },
    reason,
  });
  const rows: readonly (readonly [string, Stage, Partial<RequestContext>])[] = [
    ['any event', { known }, {}],
    ['a listed one', { known, route: { events: ['pull', 'push'] } }, {}],
    [
      'one that is not',
      { known, route: { events: ['pull', 'issues'] } },
      { outcome: { kind: 'ignoredEvent', event: 'push' }, reason: 'event push is not among pull, issues' },
    ],
    [
      'the handshake',
      { known: { ...known, event: 'ping' }, route: { events: ['pull'] } },
      { outcome: { kind: 'ignoredEvent', event: 'ping' }, reason: 'ping' },
    ],
    ['a condition that holds', filter({ field: 'who', equals: 'ada' }), {}],
    ['one that does not', filter({ field: 'who', in: ['mona'] }), ignored('filter: who in ["mona"] saw "ada"')],
    ['a field that is missing', filter({ field: 'nope', equals: 1 }), ignored('filter: nope equals 1 saw nothing')],
    [
      'a list of the profile',
      filter({ field: 'who', in_file: 'vip.txt' }),
      ignored('filter: who in_file "vip.txt" saw "ada"'),
    ],
    [
      'a list that cannot be looked at for want of descriptors',
      filter({ field: 'who', in_file: 'unread.txt' }),
      {
        outcome: { kind: 'unavailable' },
        reason: 'filter: who in_file "unread.txt" was not tried: the system has no descriptors left to read the list',
      },
    ],
    [
      'one that holds under a not',
      filter({ not: { field: 'who', equals: 'ada' } }),
      ignored('filter: not (who equals "ada" saw "ada")'),
    ],
    [
      'any of which none holds',
      filter({ any: ['a', 'b', 'c', 'd', 'e'].map((who) => ({ field: 'who', equals: who })) }),
      ignored(
        'filter: any of (who equals "a" saw "ada"; who equals "b" saw "ada"; who equals "c" saw "ada"; and 2 more)',
      ),
    ],
    [
      'a group of long ones is bounded',
      filter({ any: ['a', 'b', 'c', 'd'].map((who) => ({ not: { field: 'long', not_equals: who.repeat(200) } })) }),
      ignored(
        `filter: any of (${['a', 'b', 'c'].map((who) => `not (long not_equals "${who.repeat(119)}… saw "${'x'.repeat(119)}…)`).join('; ')}`
          .slice(0, 600)
          .concat('…'),
      ),
    ],
    [
      'a credential under a not is hidden too',
      filter({ not: { field: 'headers.Authorization', equals: 'Bearer two' } }, { authorization: 'Bearer two' }),
      ignored('filter: not (headers.Authorization equals [redacted] saw [redacted])'),
    ],
    [
      'a list that cannot be read',
      filter({ field: 'who', in_file: 'gone.txt' }),
      ignored('filter: who in_file "gone.txt" saw "ada"; the list cannot be read'),
    ],
    [
      'a long value is cut',
      filter({ field: 'long', equals: 'y' }),
      ignored(`filter: long equals "y" saw "${'x'.repeat(119)}…`),
    ],
    [
      'a header that is no credential is shown',
      filter({ field: 'headers.X-Team', equals: 'a' }, { 'x-team': 'b' }),
      ignored('filter: headers.X-Team equals "a" saw "b"'),
    ],
    [
      'one that is a credential is hidden, in the condition too',
      filter({ field: 'headers.Authorization', equals: 'Bearer one' }, { authorization: 'Bearer two' }),
      ignored('filter: headers.Authorization equals [redacted] saw [redacted]'),
    ],
    [
      'but not whether it has to be there',
      filter({ field: 'headers.Authorization', exists: false }, { authorization: 'Bearer two' }),
      ignored('filter: headers.Authorization exists false saw [redacted]'),
    ],
    [
      'nor the name of a list',
      filter({ field: 'headers.Authorization', in_file: 'vip.txt' }, { authorization: 'Bearer two' }),
      ignored('filter: headers.Authorization in_file "vip.txt" saw [redacted]'),
    ],
  ];
  for (const [title, given, expected] of rows) {
    const { context, facts } = stage(given);
    t.same(matchEvent(context, facts), expected, title);
  }
  t.end();
});

t.test('SCR-2 · a script replaces, adds or ignores, and the reason says that it was the script', (t) => {
  const { context } = stage({ known: { payload: { a: 1 } } });
  t.same(readScript(context, { kind: 'exited', code: 0, stdout: '{"b":2}' }), {
    payload: { b: 2 },
    script: 'replaced',
  });
  t.same(readScript(context, { kind: 'exited', code: 0, stdout: 'note' }), {
    payload: { a: 1, script_output: 'note' },
    script: 'annotated',
  });
  t.same(readScript(context, { kind: 'exited', code: 0, stdout: '' }).outcome, { kind: 'ignoredScript', route: 'r' });
  t.same(readScript(context, { kind: 'timedOut', afterMs: 30_000 }), {
    outcome: { kind: 'ignoredScriptFailed', route: 'r' },
    reason: 'script: timed out after 30 s (script_timeout_seconds)',
  });
  t.end();
});

t.test('DIS-1 · COA-1 · TPL-2 · the texts, and what becomes of the event', (t) => {
  const known = { payload: { n: 7 } as JsonObject, event: 'push' };
  const route = { prompt: '{event_type} {n}', deliverExtra: { chat_id: '{n}' } };
  const texts = { prompt: 'push 7', deliverExtra: { chat_id: '7' } };
  const coalesce = (key: string) => ({ key, windowMs: 1, maxWaitMs: 2 });
  const rows: readonly (readonly [string, Partial<Route>, string, boolean])[] = [
    ['a run', {}, 'run', false],
    ['a text of its own', { deliverOnly: true }, 'direct', false],
    ['one whose sender waits', { deliverOnly: true, sender: 'github' }, 'direct', false],
    ['one whose sender does not wait', { deliverOnly: true, sender: 'slack' }, 'run', false],
    ['one of Microsoft Graph', { deliverOnly: true, sender: 'microsoft-graph' }, 'run', false],
    ['a cron job', { cronJob: 'nightly' }, 'cron', false],
    ['a burst', { coalesce: coalesce('n') }, 'group', true],
    ['a burst whose key does not resolve runs at once', { coalesce: coalesce('gone') }, 'run', false],
  ];
  for (const [title, more, plan, grouped] of rows) {
    const { context, facts } = stage({ known, route: { ...route, ...more } as Partial<Route> });
    const { groupKey, ...rest } = renderTexts(context, facts);
    t.same(rest, { ...texts, plan }, title);
    t.equal(groupKey !== undefined, grouped, title);
  }
  const replay = { of: 'k0', isDry: true } as const;
  for (const [more, plan] of [
    [{ coalesce: coalesce('n') }, 'run'],
    [{ deliverOnly: true }, 'run'],
    [{ cronJob: 'nightly' }, 'cron'],
  ] as const) {
    const { context, facts } = stage({ known: { ...known, replay }, route: { ...route, ...more } });
    t.equal(renderTexts(context, facts).plan, plan, 'a dry replay joins no batch and delivers nothing');
  }
  const noticed = stage({ known, route: { ...route, onFailure: 'slack', onFailureExtra: { chat_id: '#{n}' } } });
  t.same(renderTexts(noticed.context, noticed.facts).onFailure, { target: 'slack', extra: { chat_id: '#7' } });
  t.end();
});

t.test('DLV-7 · an entry whose condition cannot be judged now makes the event wait for its sender', (t) => {
  const entry = (file: string) => ({ to: 'slack', extra: {}, when: [{ field: 'who', in_file: file }] });
  const known = { payload: { who: 'mona' }, event: 'push' };
  const told = (...files: readonly string[]) => {
    const { context, facts } = stage({ known, route: { deliverTo: files.map(entry) } });
    return renderTexts(context, facts);
  };
  t.match(told('vip.txt', 'gone.txt'), { deliverTo: [{ target: 'slack' }], outcome: undefined });
  const deliverTo = ['slack', 'telegram'].map((to) => ({ ...entry('vip.txt'), to }));
  const both = stage({ known, route: { deliverTo } });
  t.match(renderTexts(both.context, both.facts).deliverTo, [{ target: 'slack' }, { target: 'telegram' }]);
  t.same(told('vip.txt', 'unread.txt'), {
    outcome: { kind: 'unavailable' },
    reason: 'when: who in_file "unread.txt" was not tried: the system has no descriptors left to read the list',
  });
  t.end();
});

t.test('RTE-3 · a rule asked before what it needs is known says nothing', (t) => {
  const { context, facts, done } = stage({ known: { route: undefined } });
  for (const rule of [checkRate, verifySignature, matchEvent, renderTexts]) t.same(rule(context, facts), {}, rule.name);
  t.same(done, []);
  const plainly = stage();
  t.equal(rules.missingCertificate(plainly.context, plainly.facts, 0), undefined);
  t.end();
});

t.test('SRC-4 · an array is refused, split or kept as the route says', (t) => {
  const rows: readonly (readonly [Partial<Route>, string, object])[] = [
    [{}, '[{}]', { outcome: { kind: 'badBody' }, reason: /body: each/ }],
    [{ body: 'each' }, '[{"n":1},{}]', { payload: { items: [{ n: 1 }, {}] }, plan: 'split', outcome: undefined }],
    [{ body: 'each' }, '[]', { payload: { items: [] }, plan: 'split' }],
    [{ body: 'each' }, '{"items":[{}]}', { payload: { items: [{}] }, plan: undefined, event: 'unknown' }],
    [{ body: 'each' }, '[{},7]', { outcome: { kind: 'badBody' }, reason: 'item 2 of the body is not an object' }],
    [{ body: 'each' }, '7', { outcome: { kind: 'badBody' }, reason: /neither an object nor an array/ }],
    [{ body: 'each' }, '[', { outcome: { kind: 'badBody' }, reason: 'the body is not JSON' }],
    [
      { body: 'each' },
      `[${Array.from({ length: 10_001 }, () => '{}').join()}]`,
      {
        outcome: { kind: 'tooLarge', why: 'the body has 10001 events; at most 10000 are taken' },
        reason: 'the body has 10001 events; at most 10000 are taken',
      },
    ],
    [{ body: 'raw' }, '[1,"two"]', { payload: { items: [1, 'two'] }, plan: undefined, event: 'unknown' }],
    [{ body: 'raw' }, '{"type":"a"}', { payload: { type: 'a' }, event: 'a' }],
  ];
  for (const [route, body, expected] of rows) {
    const { context, facts } = stage({ route, body });
    t.match({ plan: undefined, outcome: undefined, ...parsePayload(context, facts) }, expected, body.slice(0, 40));
  }
  t.end();
});

t.test(
  'SRC-4 · IDM-2 · SEC-6 · an event of an array has its own id or its number, and its part of the signature',
  (t) => {
    const signature = { digest: 'sig.2', isTimed: false };
    const part: rules.Part = { index: 2, deliveryId: 'd', scheme: 'declared', signature };
    const known = { origin: 'part' } as const;
    const route = { body: 'each', deliveryIdAt: { field: 'id' } } as const;
    const headers = { 'x-github-delivery': 'of-the-request' };
    const own = stage({ route, headers, part, known, body: '{"id":7,"type":"a.b"}' });
    t.same(parsePayload(own.context, own.facts), {
      scheme: 'declared',
      deliveryId: '7',
      payload: { id: 7, type: 'a.b' },
      event: 'a.b',
      signature,
    });
    for (const more of [route, { body: 'each' } as const]) {
      const numbered = stage({ route: more, headers, part, known });
      t.match(parsePayload(numbered.context, numbered.facts), { deliveryId: 'd#3' });
    }
    const array = stage({ route, headers, body: '[{"n":1}]' });
    t.match(parsePayload(array.context, array.facts), { deliveryId: 'of-the-request', plan: 'split' });
    const holder = { deliveryId: 'first', route: 'r', profile: defaultProfile };
    const repeated = stage({ route, part, known, holder });
    t.match(parsePayload(repeated.context, repeated.facts), {
      outcome: { kind: 'duplicate' },
      reason: /delivery first/,
    });

    const relaxed = stage({ route: { ...route, allowIdenticalBodies: true }, part, known, holder });
    t.equal(parsePayload(relaxed.context, relaxed.facts).outcome, undefined);

    const body = '[{"n":1},{"n":2}]';
    const whole = stage({
      route: { body: 'each' },
      body,
      headers: signed(body),
      holder,
      held: (one) => /\.[01]$/.test(one),
    });
    t.match(verifySignature(whole.context, whole.facts), { outcome: { kind: 'duplicate' } });
    t.same(whole.done, [], 'a captured array takes no slot');
    const half = stage({
      route: { body: 'each' },
      body,
      headers: signed(body),
      holder,
      held: (one) => one.endsWith('.0'),
    });
    t.equal(verifySignature(half.context, half.facts).outcome, undefined, 'an event that failed may run again');
    t.match(half.done, [/^slot of r/, 'generic-v1 on r']);
    t.end();
  },
);
