import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto';
import t, { type Test } from 'tap';
import { createActor } from 'xstate';
import { openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import { createBatches } from '../../../actors/webhook/batches.ts';
import { type ClaimVerdict, createClaimDelivery } from '../../../actors/webhook/claim-delivery.ts';
import type { Route } from '../../../machines/config/route.ts';
import type { SignatureScheme } from '../../../machines/config/signature-scheme.ts';
import { type Source, sources } from '../../../machines/config/sources.ts';
import { compileRoute } from '../../../machines/webhook/compile-route.ts';
import type { ListMembership } from '../../../machines/webhook/filter.ts';
import type { SignatureHolder } from '../../../machines/webhook/record.ts';
import type { Reply } from '../../../machines/webhook/reply.ts';
import type { RequestFacts } from '../../../machines/webhook/request-rules.ts';
import type { ScriptResult } from '../../../machines/webhook/script-outcome.ts';
import { signEvent } from '../../../machines/webhook/sign-event.ts';
import type { RequestInput } from '../../../machines/webhook/webhook-request.machine.ts';
import { createBodyBudget } from '../../../runtime/http/body-budget.ts';
import type { BodyOutcome } from '../../../runtime/http/http-server.ts';
import type { WorkPools } from '../../../runtime/system/work-pools.ts';
import { type Exchanges, liveRequest, parsedOf } from '../../../runtime/webhook/exchanges.ts';
import { wireRequest } from '../../../runtime/webhook/requests.ts';
import { diskFull, gate, openKeeper } from '../../support/keeper.ts';
import { plainFacts, plainRoute } from '../../support/records.ts';
import { selfSigned } from '../../support/tls.ts';
import { deferred, turn } from '../../support/turns.ts';

const secret = 'wiring-secret';
const route: Route = {
  ...plainRoute,
  prompt: 'P {n}',
  skills: ['s'],
  toolsets: ['web_search'],
  deliver: 'telegram',
  deliverExtra: { chat_id: '{n}' },
};
const bytes = Buffer.from('{"n":7}');

interface Stage {
  readonly more?: Partial<Route>;
  readonly body?: BodyOutcome;
  readonly input?: Partial<RequestInput>;
  readonly script?: ScriptResult;
  /** The certificate, once it was fetched; null where it cannot be. */
  readonly certificate?: string | null;
  /** When a fetch of the certificate ends; the body then arrives after the chart waits for it. */
  readonly fetching?: Promise<void>;
  /** Why the address of a confirmation cannot be visited. */
  readonly unreachable?: string;
  readonly secret?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly list?: ListMembership;
  /** What the claim finds, without a journal; thrown if it is an error. */
  readonly verdict?: ClaimVerdict | Error;
  /** The event that a journal behind a network has for the signature. */
  readonly holder?: () => Promise<SignatureHolder | undefined>;
  /** Takes what is called once the sender has hung up. */
  readonly whenLeft?: (left: () => void) => void;
}

async function stage(
  t: Test,
  {
    more = {},
    body = { kind: 'read', bytes },
    input = {},
    script,
    verdict,
    certificate,
    fetching,
    unreachable,
    holder,
    ...given
  }: Stage = {},
) {
  const visited: string[] = [];
  let fetched: string | undefined;
  const disk = gate(openMemoryJournal());
  const { keeper } = await openKeeper(disk.journal);
  const compiled = compileRoute({
    route: { ...route, ...more },
    secret: { kind: 'shared', secret: given.secret ?? secret },
  });
  const exchanges: Exchanges = new Map();
  const replies: Reply[] = [];
  const opened: unknown[] = [];
  const alone: string[] = [];
  const taken: string[] = [];
  const scripts: object[] = [];
  const signature = `sha256=${createHmac('sha256', secret).update(bytes).digest('hex')}`;
  const headers = {
    'x-github-event': 'push',
    'x-github-delivery': 'd1',
    'x-hub-signature-256': signature,
    'x-team': 'a',
    traceparent: 'of-the-sender',
    ...given.headers,
  };
  const facts: RequestFacts = {
    ...plainFacts(compiled),
    maxBodyBytes: () => 100,
    headers: (id) => exchanges.get(id)?.headers ?? {},
    certificate: () => fetched,
    partOf: (id) => exchanges.get(id)?.part,
    body: (id) => exchanges.get(id)?.body ?? Buffer.alloc(0),
    parsed: (id, shape) => parsedOf(exchanges.get(id), shape),
    list: () => given.list,
  };
  const bodies = createBodyBudget(() => 1_000);
  const logic = wireRequest({
    bodies,
    facts,
    nowMs: () => 1_000,
    newDeliveryId: () => 'random',
    takeSlot: () => void taken.push('slot'),
    takeHandshake: () => void taken.push('handshake'),
    noteDeprecated: () => {},
    exchanges,
    claim:
      verdict === undefined
        ? createClaimDelivery({
            keeper,
            batches: createBatches(keeper),
            findJob: () => ({ kind: 'dropped', reason: 'the job is paused' }),
            placeOf: () => undefined,
            hasRoom: () => true,
            reports: { nextOrder: () => 1, open: () => {} },
          })
        : (_, settled) => {
            if (verdict instanceof Error) throw verdict;
            settled(verdict);
          },
    readSignatureHolder: holder,
    certificates: {
      fetch: async ({ url }) => {
        visited.push(`fetch ${url}`);
        await fetching;
        fetched = certificate ?? undefined;
      },
      visit: async (url) => {
        visited.push(`visit ${url}`);
        return unreachable;
      },
    },
    learnKey: () => Promise.reject(new Error('no handshake brings a key')),
    splitBody: (_, __, settled) => settled({ outcome: { kind: 'split', accepted: 2, duplicate: 1, ignored: 0 } }),
    runScript: async (asked) => {
      scripts.push(asked);
      return script ?? { kind: 'missing' };
    },
    traceparentOf: (live) => live?.headers.traceparent,
    pools: () =>
      ({
        open: (one: unknown) => void opened.push(one),
        senderLeft: (key: string) => void alone.push(key),
      }) as unknown as WorkPools,
  });
  exchanges.set(
    'k1',
    liveRequest(
      {
        head: { method: 'POST', path: '/webhooks/r', headers },
        readBody: (_, settled, mayKeep) => {
          const arrive = (): void => {
            mayKeep?.(body.kind === 'read' ? body.bytes.length : 0);
            settled(body);
          };
          if (fetching === undefined) arrive();
          else queueMicrotask(arrive);
        },
        ...(given.whenLeft === undefined ? {} : { whenLeft: given.whenLeft }),
        reply: (reply) => void replies.push(reply),
        get address() {
          return replies.length === 0 ? '192.0.2.1' : undefined;
        },
      },
      input.origin === 'replay' ? bytes : undefined,
    ),
  );
  const actor = createActor(logic, {
    input: { id: 'k1', origin: 'http', method: 'POST', path: '/webhooks/r', receivedAtMs: 900, ...input },
  }).start();
  t.teardown(() => actor.stop());
  await turn();
  return { disk, actor, replies, opened, alone, taken, scripts, exchanges, visited, bodies };
}

const bodyOf = (reply: Reply | undefined): unknown => reply && [reply.status, JSON.parse(reply.body)];

t.test(
  'IDM-1 · DUR-1 · RTE-3 · an event is on disk with all that its work needs before it is answered and opened',
  async (t) => {
    const { disk, replies, opened, actor } = await stage(t);
    t.same([disk.waiting(), replies, opened, actor.getSnapshot().value], [1, [], [], 'claiming']);
    await disk.land();

    t.same(disk.journal.local?.get('events', 'k1')?.value, {
      deliveryId: 'd1',
      route: 'r',
      profile: 'default',
      event: 'push',
      status: 'accepted',
      receivedAtMs: 900,
      headers: { 'x-github-event': 'push' },
      body: '{"n":7}',
      prompt: 'P 7',
      deliver: 'telegram',
      deliverExtra: { chat_id: '7' },
      skills: ['s'],
      toolsets: ['web_search'],
      scheme: 'github',
      // 132 bits of the SHA-256 of the bytes of the HMAC.
      signatureDigest: createHash('sha256')
        .update(createHmac('sha256', secret).update(bytes).digest())
        .digest('base64url')
        .slice(0, 22),
      told: { bodyMs: 100, checkMs: 100 },
      traceparent: 'of-the-sender',
      work: 'k1',
    });
    t.same(replies.map(bodyOf), [[202, { status: 'accepted', route: 'r', event: 'push', delivery_id: 'd1' }]]);
    t.match(opened, [{ kind: 'run', key: 'k1', record: { status: 'queued', eventKey: 'k1' } }]);
    t.equal(opened.length, 1);
    t.match(actor.getSnapshot(), { status: 'done', value: 'answered', output: { work: 'k1' } });
  },
);

t.test(
  'SEC-6 · SCA-1 · on a shared journal another route’s request is a duplicate where bodies may be identical',
  async (t) => {
    const own = { deliveryId: 'd0', route: 'r', profile: 'default' };
    const relaxed = { more: { allowIdenticalBodies: true } };
    const duplicate = [200, { status: 'duplicate', delivery_id: 'd1' }];
    const rows = [
      [relaxed, () => Promise.resolve({ ...own, route: 'other' }), duplicate],
      [relaxed, () => Promise.resolve(own), undefined],
      [relaxed, () => Promise.resolve(undefined), undefined],
      [relaxed, () => Promise.reject(new Error('away')), [503, { error: 'Service unavailable' }]],
      [{}, () => Promise.resolve({ ...own, route: 'other' }), undefined],
    ] as const;
    for (const [given, holder, answer] of rows) {
      const { disk, replies } = await stage(t, { ...given, holder });
      await turn();
      t.same(replies.map(bodyOf), answer === undefined ? [] : [answer]);
      t.equal(disk.waiting(), answer === undefined ? 1 : 0, 'what is no duplicate is claimed');
      await disk.land();
      const { signatureDigest } = disk.journal.local?.get('events', 'k1')?.value ?? {};
      t.equal(
        signatureDigest === undefined,
        given === relaxed,
        'and its signature with it, unless bodies may be identical',
      );
    }
  },
);

t.test('DUR-1 · SCA-1 · a request that has ended while its signature was looked up claims nothing', async (t) => {
  for (const end of ['resolve', 'reject'] as const) {
    const { promise, ...looked } = deferred<SignatureHolder | undefined>();
    const { disk, exchanges, actor, replies } = await stage(t, {
      more: { allowIdenticalBodies: true },
      holder: () => promise,
    });
    exchanges.clear();
    if (end === 'resolve') looked.resolve(undefined);
    else looked.reject(new Error('away'));
    await turn();
    t.same([disk.waiting(), replies, actor.getSnapshot().value], [0, [], 'claiming'], end);
  }
});

t.test('DUR-1 · SCA-1 · a claim that throws after a look-up of the signature is unavailable', async (t) => {
  const { replies } = await stage(t, {
    more: { allowIdenticalBodies: true },
    holder: () => Promise.resolve(undefined),
    verdict: new Error('broken'),
  });
  await turn();
  t.same(replies.map(bodyOf), [[503, { error: 'Service unavailable' }]]);
});

t.test('SRC-1 · LIM-3 · a body is read once, for its signature, a handshake and the event', async (t) => {
  const senders = ['linear', 'mailgun', 'slack', 'zoom', 'discord', 'notion', 'microsoft-graph', 'github'] as const;
  for (const sender of senders) {
    const source: Source = sources[sender];
    const [scheme] = source.schemes;
    const pair = generateKeyPairSync('ed25519');
    const raw = pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(12).toString('hex');
    const isDiscord = sender === 'discord';
    const unsealed = { payload: { n: 7 }, event: 'a', id: 'd1', path: '/webhooks/r', nowMs: 1_000 };
    const sealed = signEvent(
      scheme as SignatureScheme,
      { name: sender, secret: isDiscord ? undefined : secret },
      unsealed,
      source,
    );
    const { headers = {}, body = '' } = sealed ?? {};
    if (isDiscord)
      Object.assign(headers, {
        'x-signature-ed25519': sign(null, Buffer.from(`1${body}`), pair.privateKey).toString('hex'),
      });
    const parses = t.capture(JSON, 'parse', JSON.parse);
    const { actor } = await stage(t, {
      more: { sender },
      secret: isDiscord ? raw : secret,
      headers,
      body: { kind: 'read', bytes: Buffer.from(body) },
    });
    parses.restore();
    t.not(actor.getSnapshot().context.deliveryId, undefined, `${sender}: the event was read`);
    t.equal(parses().length, 1, sender);
  }
});

t.test('DLV-7 · DUR-1 · where it cannot be judged now who gets the response, nothing is accepted', async (t) => {
  const when = [{ field: 'n', in_file: 'list.txt' }];
  const more = { deliverTo: [{ to: 'slack', extra: {}, when }] };
  const { replies, opened, disk } = await stage(t, { more, list: { has: () => 'the list cannot be read now' } });
  t.match(replies, [{ status: 503, headers: { 'retry-after': /^\d+$/ } }]);
  t.same([opened, disk.waiting()], [[], 0]);
});

t.test('DUR-1 · IDM-1 · what cannot be claimed is neither opened nor answered 2xx anew', async (t) => {
  const full = await stage(t);
  await full.disk.refuse();
  t.match(full.replies, [{ status: 503, headers: { 'retry-after': /^\d+$/ } }]);
  t.match(full.actor.getSnapshot().output, { outcome: { kind: 'unavailable' }, reason: diskFull.message });

  t.same(full.opened, []);
});

t.test(
  'SEC-8 · the sender of a request that is not accepted is known after the answer, of another it is not asked',
  async (t) => {
    const refused = await stage(t, { headers: { 'x-hub-signature-256': 'sha256=00' } });
    t.match(refused.replies, [{ status: 401 }]);
    t.equal(refused.exchanges.get('k1')?.address, '192.0.2.1');
    const accepted = await stage(t);
    await accepted.disk.land();
    t.match(accepted.replies, [{ status: 202 }]);
    t.equal(accepted.exchanges.get('k1')?.address, undefined);
  },
);

t.test(
  'SRC-3 · LIM-2 · a handshake takes one of its allowance, a genuine event a slot, and anything else nothing',
  async (t) => {
    const taken = async (given: Stage): Promise<readonly string[]> => (await stage(t, given)).taken;

    t.same(await taken({ more: { sender: 'intercom' }, input: { method: 'HEAD' } }), ['handshake']);
    t.same(await taken({}), ['slot']);
    t.same(await taken({ headers: { 'x-hub-signature-256': 'sha256=00' } }), []);
    t.same(await taken({ input: { method: 'GET' } }), []);
  },
);

t.test('SEC-6 · a signature is claimed for as long as its time is accepted', async (t) => {
  const signature: SignatureScheme = {
    at: { header: 'x-sig' },
    algorithm: 'hmac-sha256',
    encoding: 'hex',
    signed: '{timestamp}.{body}',
    key: 'text',
    timestamp: { at: { header: 'x-time' }, unit: 's', toleranceSeconds: 7_200 },
  };
  const signed = createHmac('sha256', secret).update(`1.${bytes}`).digest('hex');
  const { disk, replies } = await stage(t, { more: { signature }, headers: { 'x-sig': signed, 'x-time': '1' } });
  await disk.settle();
  t.match(replies, [{ status: 202 }]);
  const claims = (await disk.journal.claims({ limit: 9 })).map(({ forMs }) => Math.round(forMs / 60_000));
  t.same(claims.sort(), [240, 60], 'in minutes, that of the id too');
});

t.test(
  'DIS-1 · COA-1 · CRN-2 · DIS-2 · each plan claims what it leads to, and only a direct one is waited for',
  async (t) => {
    const rows: readonly (readonly [Partial<Route>, string, object, object | undefined])[] = [
      [
        { coalesce: { key: 'n', windowMs: 50, maxWaitMs: 500 } },
        'coalesced',
        { kind: 'group', key: 'default/r/7', burst: { id: 'k1', dueAtMs: 1_050 } },
        { status: 'coalesced' },
      ],
      [
        { coalesce: { key: 'none', windowMs: 50, maxWaitMs: 500 } },
        'accepted',
        { kind: 'run' },
        { status: 'accepted' },
      ],
      [{ cronJob: 'nightly' }, 'cron', { kind: 'nothing' }, { status: 'accepted' }],
      [
        { deliverOnly: true },
        'delivering',
        { kind: 'direct', record: { text: 'P 7', extra: { chat_id: '7' }, target: 'telegram', status: 'sending' } },
        undefined,
      ],
    ];
    for (const [more, status, work, answer] of rows) {
      const { disk, replies, opened } = await stage(t, { more });
      await disk.settle();
      const title = Object.keys(more).join();
      t.match(disk.journal.local?.get('events', 'k1')?.value, { status }, title);
      t.match(opened, [work], title);
      t.equal(opened.length, 1);
      t.match(replies.map(bodyOf), answer === undefined ? [] : [[202, answer]], title);
      t.equal(replies.length, answer === undefined ? 0 : 1, title);
    }
    const { disk, replies, actor } = await stage(t, { more: { deliverOnly: true } });
    await disk.settle();
    actor.send({ type: 'delivery.settled', delivered: false, reason: 'the cause' });
    t.same(replies.map(bodyOf), [[502, { error: 'Delivery failed' }]], 'no cause leaves the house');
    t.match(actor.getSnapshot().output, { reason: 'the cause' });
  },
);

t.test('DIS-2 · a sender that hangs up before its answer leaves the direct delivery to go on alone', async (t) => {
  for (const [deliverOnly, expected] of [
    [true, ['k1']],
    [false, []],
  ] as const) {
    let leave = (): void => {};
    const { disk, alone, actor } = await stage(t, {
      more: { deliverOnly },
      whenLeft: (left) => {
        leave = left;
      },
    });
    await disk.settle();
    leave();
    t.same(alone, expected);
    t.match(actor.getSnapshot().output, {
      outcome: { kind: 'accepted', deliveryId: 'd1' },
      reason: deliverOnly ? /hung up/ : undefined,
    });
  }
});

t.test(
  'IDM-1 · IDM-2 · an id that is taken is a duplicate, or not decided while its delivery is under way',
  async (t) => {
    const duplicate = await stage(t, { verdict: { kind: 'duplicate' } });
    t.same(duplicate.replies.map(bodyOf), [[200, { status: 'duplicate', delivery_id: 'd1' }]]);
    const pending = await stage(t, { verdict: { kind: 'pending' } });
    t.same(pending.replies.map(bodyOf), [[503, { error: 'Delivery in progress' }]]);
    t.match(pending.replies, [{ headers: { 'retry-after': '5' } }]);
    t.match(pending.actor.getSnapshot().output, { outcome: { kind: 'pending' }, reason: /still being delivered/ });
    for (const one of [duplicate, pending]) t.same(one.opened, []);
  },
);

t.test('SEC-3 · SRC-1 · a body is unverified, and holds its memory, while its certificate is fetched', async (t) => {
  const { promise: fetching, resolve } = deferred<void>();
  const topic = 'arn:aws:sns:eu-central-1:123456789012:alarms';
  const message = {
    Type: 'Notification',
    TopicArn: topic,
    SignatureVersion: '2',
    SigningCertURL:
      'https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem',
  };
  const { bodies, visited, replies } = await stage(t, {
    more: { sender: 'aws-sns' },
    secret: topic,
    body: { kind: 'read', bytes: Buffer.from(JSON.stringify(message)) },
    certificate: null,
    fetching,
  });
  t.equal(visited.length, 1);
  const another = () => bodies.open(() => '192.0.2.2', 900);
  t.equal(another(), undefined);
  resolve();
  await turn();
  t.equal(replies.length, 1);
  t.ok(another(), 'released');
});

t.test('LIM-1 · what comes of a body: read, too large, or gone with its client', async (t) => {
  const large = await stage(t, { body: { kind: 'tooLarge' } });
  t.same(large.replies.map(bodyOf), [[413, { error: 'Payload too large' }]]);
  const gone = await stage(t, { body: { kind: 'aborted' } });
  t.same([gone.replies, gone.actor.getSnapshot().value], [[], 'abandoned']);
  const declared = await stage(t, { input: { declaredBytes: 101 } });
  t.same(declared.replies.map(bodyOf), [[413, { error: 'Payload too large' }]]);
  for (const one of [large, gone, declared]) t.same([one.disk.waiting(), one.opened], [0, []]);
});

t.test('SCR-2 · a script is given the payload, and its outcome decides what is rendered', async (t) => {
  const script = { kind: 'exited', code: 0, stdout: '{"n":8}' } as const;
  const replaced = await stage(t, { more: { script: 'up.sh' }, script });
  await replaced.disk.settle();
  t.match(replaced.scripts, [{ payload: { n: 7 }, route: { name: 'r' } }]);
  t.match(replaced.disk.journal.local?.get('events', 'k1')?.value, {
    prompt: 'P 8',
    deliverExtra: { chat_id: '8' },
    body: '{"n":7}',
  });
  const ignored = await stage(t, { more: { script: 'gone.sh' } });
  t.same(ignored.replies.map(bodyOf), [[200, { status: 'ignored', reason: 'script', route: 'r' }]]);
  t.equal(ignored.disk.waiting(), 0);
});

t.test('DUR-2 · a replay has a new id, reads no client and names the event that it repeats', async (t) => {
  const body = { kind: 'aborted' } as const;
  const { disk, replies } = await stage(t, { body, input: { origin: 'replay', replay: { of: 'k0' } } });
  await disk.settle();
  t.same(replies.map(bodyOf), [[202, { status: 'accepted', route: 'r', event: 'push', delivery_id: 'random' }]]);
  const event = disk.journal.local?.get('events', 'k1')?.value;
  t.match(event, { deliveryId: 'random', replayOf: 'k0', prompt: 'P 7' });
  t.equal(event?.scheme, undefined, 'its signature was checked when it first came');
});

t.test('DUR-2 · SCA-1 · of two replays of several, as at two gateways, one accepts an event', async (t) => {
  const replay = { of: 'k0', isOnce: true } as const;
  const { disk, replies } = await stage(t, { input: { origin: 'replay', replay } });
  void disk.journal.commit([{ kind: 'claim', name: 'replay/k0', value: { eventKey: 'k9' }, forMs: 9 }]);
  disk.rotate();
  await disk.settle();
  t.same(replies.map(bodyOf), [[200, { status: 'duplicate', delivery_id: 'random' }]]);
  t.equal(disk.journal.local?.get('events', 'k1'), undefined);
});

t.test(
  'SRC-1 · SRC-3 · a certificate is fetched before the signature is judged, and SNS is confirmed once it is genuine',
  async (t) => {
    const { pem, key } = selfSigned();
    const host = 'https://sns.eu-central-1.amazonaws.com';
    const url = `${host}/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem`;
    const topic = 'arn:aws:sns:eu-central-1:123456789012:alarms';
    const sealed = (more: Record<string, string>): Buffer => {
      // The clock of the stage is at its first second.
      const message: Record<string, string> = {
        MessageId: 'm',
        Timestamp: '1970-01-01T00:00:01Z',
        TopicArn: topic,
        ...more,
      };
      const names = Object.keys(message).sort();
      const text = names.map((name) => `${name}\n${message[name]}\n`).join('');
      const Signature = sign('sha256', Buffer.from(text), key).toString('base64');
      return Buffer.from(JSON.stringify({ ...message, SignatureVersion: '2', SigningCertURL: url, Signature }));
    };
    const of = (of: Buffer, certificate: string | null): Stage => ({
      more: { sender: 'aws-sns', prompt: 'P {Message.n}' },
      secret: topic,
      headers: { 'content-type': 'text/plain; charset=UTF-8' },
      body: { kind: 'read', bytes: of },
      certificate,
    });
    const notice = sealed({ Type: 'Notification', Message: '{"n":7}' });

    const known = await stage(t, of(notice, pem));
    t.same(known.visited, [`fetch ${url}`]);
    await known.disk.land();
    t.match(known.disk.journal.local?.get('events', 'k1')?.value, {
      prompt: 'P 7',
      deliveryId: 'm',
      event: 'Notification',
    });
    t.match(known.replies, [{ status: 200 }]);

    const unknown = await stage(t, of(notice, null));
    t.match(unknown.replies, [{ status: 503, headers: { 'retry-after': /./ } }], 'the sender tries again');
    t.match(unknown.actor.getSnapshot().output, { reason: 'its certificate could not be fetched in time' });

    const asking = (SubscribeURL: string) =>
      sealed({ Type: 'SubscriptionConfirmation', Message: 'Visit it.', Token: 't', SubscribeURL });
    const confirm = `${host}/?Action=ConfirmSubscription&TopicArn=${topic}&Token=t`;
    const asked = await stage(t, of(asking(confirm), pem));
    t.same(asked.visited, [`fetch ${url}`, `visit ${confirm}`]);
    t.match(asked.replies, [{ status: 200 }]);
    t.match(asked.actor.getSnapshot().output, { reason: 'SubscriptionConfirmation, confirmed' });
    const down = await stage(t, { ...of(asking(confirm), pem), unreachable: 'sns: HTTP 500' });
    t.match(down.replies, [{ status: 503 }], 'SNS repeats it');
    t.match(down.actor.getSnapshot().output, {
      outcome: { kind: 'handshake', status: 503 },
      reason:
        /^handshake: SubscriptionConfirmation, which could not be confirmed at sns: HTTP 500; the sender repeats it/,
    });
    for (const elsewhere of ['https://example.com/?Action=ConfirmSubscription&a', `${host}/?Action=Publish&a`]) {
      const other = await stage(t, of(asking(elsewhere), pem));
      t.same(other.visited, [`fetch ${url}`], elsewhere);
      t.match(other.replies, [{ status: 503 }]);
    }
    const forged = Buffer.from(asking(confirm).toString().replace('Visit', 'Trust'));
    const refused = await stage(t, of(forged, pem));
    t.match(refused.replies, [{ status: 401 }]);
    t.same(refused.visited, [`fetch ${url}`], 'only a genuine one is confirmed');
    const foreign = await stage(t, { ...of(notice, pem), secret: `${topic}-of-another` });
    t.match(foreign.replies, [{ status: 401 }]);
    t.same(foreign.visited, [], 'nothing is fetched for a message of another topic, which anybody can send');
  },
);
