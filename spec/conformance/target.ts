/**
 * What every delivery target must do, whatever its platform: texts arrive whole and in order, each answer of the
 * platform and each failure of the network becomes the outcome that it is, and neither a secret nor the platform's own
 * words get out. Runs against the platform's fake in spec/support/platforms.
 */

import { createHash } from 'node:crypto';
import type { Test } from 'tap';
import { createPlatformTarget } from '../../actors/dispatch/targets/all.ts';
import type { PlatformTarget, TargetPorts } from '../../actors/dispatch/targets/platform-target.ts';
import type { DeliveryRequest } from '../../actors/ports.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import type { PlatformSettings } from '../../machines/config/settings.ts';
import type { SendOutcome, VerifyOutcome } from '../../machines/dispatch/send-outcome.ts';
import { lengthIn } from '../../machines/dispatch/split-text.ts';
import type { RunReport } from '../../machines/webhook/run-report.ts';
import { lentTime } from '../support/lent-time.ts';
import {
  type FakePlatform,
  type PlatformFixture,
  providerWords,
  startPlatform,
} from '../support/platforms/fake-platform.ts';

export const nowMs = Date.parse('2026-11-03T12:00:00Z');
export const never = new AbortController().signal;
/** Also the least that an answer may take on a busy machine. */
const timeoutMs = 20_000;

export interface Bench {
  readonly platform: FakePlatform;
  readonly target: PlatformTarget;
  /** The pauses that the target took. */
  readonly waits: readonly number[];
  deliver(text: string, extra?: JsonObject, signal?: AbortSignal): Promise<SendOutcome>;
  /** Another target for the same platform. */
  with(settings: Partial<PlatformSettings>): Bench;
}

export async function openBench(t: Test, fixture: PlatformFixture): Promise<Bench> {
  const platform = await startPlatform(t, fixture);
  const settings: PlatformSettings = {
    enabled: true,
    apiBase: platform.base,
    timeoutMs,
    options: optionsAt(fixture.options, platform.base),
  };
  return benchOn(t, fixture, platform, settings);
}

/** A bench checks each outcome for what must not be in it. */
function benchOn(t: Test, fixture: PlatformFixture, platform: FakePlatform, settings: PlatformSettings): Bench {
  const waits: number[] = [];
  const ports: TargetPorts = {
    now: () => nowMs,
    wait: (ms) => {
      waits.push(ms);
      return Promise.resolve();
    },
    random: () => 305_419_896,
  };
  const made = createPlatformTarget(fixture.target, settings, ports);
  if (made === undefined) throw new Error(`no target ${fixture.target}`);
  const secrets = [...Object.values(fixture.options), ...Object.values(fixture.wrongOptions)].flatMap((value) => {
    if (typeof value !== 'string') return [];
    // An address holds its secrets in parts.
    return value.startsWith('sec-') ? [value] : (value.match(/sec[-_]\w+/g) ?? []);
  });
  const checked = <Outcome extends SendOutcome | VerifyOutcome>(outcome: Outcome): Outcome => {
    const said = JSON.stringify(outcome);
    for (const secret of secrets) t.notOk(said.includes(secret), `keeps a secret out of ${said}`);
    t.notOk(said.includes(providerWords), `keeps the platform’s words out of ${said}`);
    if (outcome.kind !== 'delivered' && 'reason' in outcome)
      t.ok(outcome.reason.startsWith(`${fixture.target}: `), outcome.reason);
    return outcome;
  };
  const target: PlatformTarget = {
    ...made,
    deliver: async (request, signal) => checked(await made.deliver(request, signal)),
    verify: async (signal) => checked(await made.verify(signal)),
  };
  return {
    platform,
    target,
    waits,
    deliver(text, extra = {}, signal = never) {
      const place = fixture.chat === undefined ? {} : { chat_id: fixture.chat };
      return target.deliver(requestOf(text, { ...place, ...fixture.extra, ...extra }), signal);
    },
    with: (change) => benchOn(t, fixture, platform, { ...settings, ...change }),
  };
}

export function requestOf(text: string, extra: JsonObject, deliveryId = 'd1'): DeliveryRequest {
  const report = async (): Promise<RunReport> => ({
    id: `${deliveryId}-of-${createHash('sha256').update(text).digest('hex').slice(0, 8)}`,
    type: 'run.finished',
    timestamp: '2026-11-03T12:00:00.000Z',
    data: { status: 'finished', run_id: 'r1' },
  });
  return { deliveryId, profile: 'default', text, extra, report };
}

/** A bridge has an address of its own among the options. */
function optionsAt(options: JsonObject, base: string): JsonObject {
  return Object.fromEntries(Object.entries(options).map(([key, value]) => [key, value === '<base>' ? base : value]));
}

export function targetContract(t: Test, fixture: PlatformFixture): void {
  const { target: name, variant, limit, maxPieces, place = fixture.chat } = fixture;
  const isUnverifiable = fixture.verifies.kind === 'unverifiable';
  const who = variant === undefined ? name : `${name}, ${variant}`;
  const check = (title: string, body: (t: Test, bench: Bench) => Promise<void>) =>
    t.test(`${title} (${who})`, async (t) => body(t, await openBench(t, fixture)));
  const texts = ({ platform }: Bench): string[] => platform.world.messages.map(({ text }) => text);

  check('DLV-1 · a text arrives at its place as it is, once', async (t, bench) => {
    const outcome = await bench.deliver('Build 7 is *green*.\nSee “log” & 漢字 👍');

    t.match(outcome, { kind: 'delivered' }, JSON.stringify(outcome));
    t.match(bench.platform.world.messages, [{ place, text: 'Build 7 is *green*.\nSee “log” & 漢字 👍' }]);
  });

  check('DLV-1 · verify asks the platform and sends nothing', async (t, bench) => {
    t.match(await bench.target.verify(never), fixture.verifies);
    t.same(texts(bench), []);
    if (isUnverifiable) return;
    const wrong = bench.with({
      options: optionsAt({ ...fixture.options, ...fixture.wrongOptions }, bench.platform.base),
    });
    t.match(await wrong.target.verify(never), { kind: 'refused', class: 'auth' });
  });

  check('DLV-1 · credentials that the platform does not accept are class auth', async (t, bench) => {
    const wrong = bench.with({
      options: optionsAt({ ...fixture.options, ...fixture.wrongOptions }, bench.platform.base),
    });

    t.match(await wrong.deliver('hello'), { kind: 'refused', class: 'auth' });
    t.same(texts(bench), []);
  });

  check('DLV-2 · without its credentials a target says which, and sends no request', async (t, bench) => {
    // These two also work without credentials.
    const isOpen = name === 'signal' || name === 'ntfy';
    const none = isOpen ? undefined : bench.with({ options: {} });
    const unset = bench.with({
      options: Object.fromEntries(Object.keys(fixture.options).map((key) => [key, '${NOT_SET}'])),
    });
    for (const bare of [none, unset]) {
      if (bare === undefined || isOpen) continue;
      for (const outcome of [await bare.deliver('hello'), await bare.target.verify(never)])
        t.match(outcome, { kind: 'refused', class: 'auth', reason: new RegExp(`platforms\\.${name}\\.\\w+`) });
    }
    t.equal(bench.platform.requests.length, 0);
  });

  check(
    'DLV-2 · chat_id wins over the home channel; with neither, or an unfilled one, no request is sent',
    async (t, bench) => {
      const { chat, extra = {} } = fixture;
      if (chat === undefined) {
        t.match(await bench.deliver('hello', { chat_id: 'elsewhere' }), {
          kind: 'refused',
          class: 'notFound',
          reason: /chat_id/,
        });
        t.equal(bench.platform.requests.length, 0);
        t.match(await bench.with({ homeChannel: 'elsewhere' }).deliver('hello'), { kind: 'delivered' });
        return;
      }
      const home = bench.with({ homeChannel: chat });
      for (const blank of [extra, { ...extra, chat_id: '' }, { ...extra, chat_id: '  ' }]) {
        const outcome = await bench.target.deliver(requestOf('hello', blank), never);
        t.match(outcome, {
          kind: 'refused',
          class: 'notFound',
          reason: new RegExp(`chat_id.*platforms\\.${name}\\.home_channel`),
        });
      }
      for (const unfilled of ['{payload.chat}', '${CHAT}', ...(fixture.malformedChats ?? [])])
        t.match(await home.deliver('hello', { chat_id: unfilled }), { kind: 'refused', class: 'notFound' }, unfilled);
      t.equal(bench.platform.requests.length, 0);

      t.match(await home.target.deliver(requestOf('hello', extra), never), { kind: 'delivered' });
      t.match(bench.platform.world.messages, [{ place }]);
      t.same(
        [{ chat_id: chat }, { chat_id: ' ' }, {}].map((at) => [bench.target.placeOf(at), home.target.placeOf(at)]),
        [
          [chat, chat],
          [undefined, chat],
          [undefined, chat],
        ],
        'people are told the place that it resolves to',
      );
      t.match(await bench.with({ homeChannel: 'nowhere at all' }).deliver('hello'), { kind: 'delivered' });
    },
  );

  if (fixture.unknown !== undefined) {
    const { chat, outcome } = fixture.unknown;
    check('DLV-1 · a place that the platform does not know is a refusal', async (t, bench) => {
      t.match(await bench.deliver('hello', { chat_id: chat }), outcome);
      t.same(texts(bench), []);
    });
  }

  if (maxPieces > 1) {
    check('DLV-4 · a long text arrives in pieces, in order, with its code blocks whole', async (t, bench) => {
      const line = 'const value = compute(1, 2, 3);\n';
      const block = `\`\`\`ts\n${line.repeat(Math.ceil((limit.max * 1.5) / line.length))}\`\`\`\n`;
      const text = `${'Some words of a sentence. '.repeat(Math.ceil(limit.max / 40))}\n\n${block}\nThe end.`;

      const outcome = await bench.deliver(text);

      t.match(outcome, { kind: 'delivered' }, JSON.stringify(outcome));
      const arrived = texts(bench);
      t.ok(arrived.length >= 3 && arrived.length <= maxPieces, `${arrived.length} pieces`);
      for (const piece of arrived) {
        t.ok(lengthIn(piece, limit.unit) <= limit.max);
        t.equal([...piece.matchAll(/^```/gm)].length % 2, 0, 'fences are closed where they were opened');
      }
      const bare = (all: string): string => all.replace(/```(?:ts)?|\s/g, '');
      t.equal(bare(arrived.join('')), bare(text));
    });

    check('DLV-4 · emoji and combining characters at a cut stay whole', async (t, bench) => {
      const clusters = ['👩‍👩‍👧‍👦', 'e\u0301', '🇩🇪', '漢'];
      const text = clusters.join('').repeat(Math.ceil((limit.max * 2.2) / lengthIn(clusters.join(''), limit.unit)));

      t.match(await bench.deliver(text), { kind: 'delivered' });

      // A segmenter takes seconds for the pieces of a platform with a high limit.
      const whole = new RegExp(`^(?:${clusters.join('|')})+$`);
      for (const piece of texts(bench)) t.ok(whole.test(piece), piece.slice(0, 40));
      t.equal(texts(bench).join(''), text);
    });

    check('DLV-4 · the longest text that is taken arrives whole, whatever it is made of', async (t, bench) => {
      const part = `Words of a line, 漢字 and 👩‍👩‍👧‍👦 e\u0301 🇩🇪.\n\n\`\`\`sh\nrun --all 👍\n\`\`\`\n`;
      const room = limit.max * (maxPieces - 1);
      const text = part.repeat(Math.floor(room / lengthIn(part, limit.unit) / 1.1));
      t.ok(lengthIn(text, limit.unit) > room * 0.85, 'as long as may be');

      t.match(await bench.deliver(text), { kind: 'delivered' });

      const arrived = texts(bench);
      t.ok(arrived.length <= maxPieces && arrived.every((piece) => lengthIn(piece, limit.unit) <= limit.max));
      t.ok(
        arrived.every((piece) => piece.isWellFormed() && [...piece.matchAll(/^```/gm)].length % 2 === 0),
        'no piece breaks a character or a block',
      );
      const bare = (all: string): string => all.replace(/```(?:sh)?|\s/g, '');
      t.ok(bare(arrived.join('')) === bare(text), 'nothing is lost or added');
    });

    check('DLV-4 · a later piece waits as long as the platform asks, and then goes', async (t, bench) => {
      const text = 'x'.repeat(limit.max * 2 + 1);
      pushAfterFirst(bench, fixture.limited);

      t.match(await bench.deliver(text), { kind: 'delivered' });

      t.same(bench.waits, [2_000]);
      t.equal(texts(bench).join(''), text);
    });

    check('DLV-4 · a failure after the first piece says what was delivered before', async (t, bench) => {
      pushAfterFirst(bench, { status: 503, text: `<html>${providerWords}</html>` });

      const outcome = await bench.deliver('x'.repeat(limit.max * 2 + 1));

      t.match(outcome, {
        kind: 'transient',
        partly: { pieces: 1, of: 3 },
        reason: /piece 2 of 3; those before were delivered/,
      });
      t.equal(texts(bench).length, 1);
    });
  }

  check('DLV-4 · a text of a megabyte has a known outcome', async (t, bench) => {
    const outcome = await bench.deliver('word '.repeat(209_716));

    t.match(outcome, { kind: 'refused', class: 'tooLong', reason: /too long; \d+ messages of \d+ are sent at most/ });
    t.equal(bench.platform.requests.length, 0);
  });

  check('DIS-4 · an empty text is a message where the platform takes one, else it has arrived', async (t, bench) => {
    for (const text of ['', ' \n ']) {
      const outcome = await bench.deliver(text);
      if (fixture.takesEmpty === true) t.same(texts(bench).at(-1), '');
      else t.same(outcome, { kind: 'delivered', reason: 'nothing to send' });
    }
    t.equal(bench.platform.requests.length > 0, fixture.takesEmpty === true);
  });

  for (const [title, answer, expected] of fixture.recorded) {
    check(`DLV-4 · the platform’s answer: ${title}`, async (t, bench) => {
      // The same again, should the target ask once more.
      bench.platform.scripts.push(answer, answer);

      const outcome = await bench.deliver('hello');

      t.match(outcome, expected, JSON.stringify(outcome));
    });
  }

  check('DLV-4 · a rate limit says how long', async (t, bench) => {
    bench.platform.scripts.push(fixture.limited);

    t.match(await bench.deliver('hello'), { kind: 'rateLimited', retryAfterMs: 2_000 });
    t.same([bench.waits, texts(bench)], [[], []]);
  });

  const page = `<html><body>${providerWords}</body></html>`;
  for (const [title, answer, expected] of [
    ['an error page of a proxy', { status: 503, text: page }, { kind: 'transient' }],
    ['a proxy that waited too long', { status: 504, text: page }, { kind: 'unknown' }],
    ['a page instead of an answer', { status: 200, text: page }, { kind: 'unknown' }],
    ['an answer of another form', { status: 200, json: 'yes' }, { kind: 'unknown' }],
    ['an answer without a body', { status: 200 }, { kind: 'unknown' }],
    ['a redirect', { status: 302, headers: { location: '/login' } }, { kind: 'refused', class: 'permanent' }],
    [
      'a rate limit of a proxy',
      { status: 429, text: page, headers: { 'retry-after': '7' } },
      { kind: 'rateLimited', retryAfterMs: 7_000 },
    ],
    [
      'a failure of a proxy that asks to wait',
      { status: 502, text: page, headers: { 'retry-after': '7' } },
      { kind: 'transient', notBeforeMs: 7_000 },
    ],
    [
      'a refusal for now that asks to wait',
      { status: 425, text: page, headers: { 'retry-after': '7' } },
      { kind: 'transient', notBeforeMs: 7_000 },
    ],
    [
      'a busy proxy that asks to wait',
      { status: 503, text: page, headers: { 'retry-after': '7' } },
      { kind: 'rateLimited', retryAfterMs: 7_000 },
    ],
    ['a page that forbids', { status: 403, text: page }, { kind: 'refused', class: 'forbidden' }],
    ['a body of a megabyte', { status: 200, text: 'x'.repeat(1_048_576) }, { kind: 'unknown' }],
  ] as const) {
    if (fixture.accepts2xx === true && answer.status === 200) continue;
    check(`DLV-4 · ${title} is not taken for an answer`, async (t, bench) => {
      bench.platform.scripts.push(answer, answer);

      t.match(await bench.deliver('hello'), expected);
    });
  }

  check('DUR-1 · a dead platform: nothing was sent, and it may be tried again', async (t, bench) => {
    await bench.platform.close();

    t.match(await bench.deliver('hello'), { kind: 'transient', reason: /was not reached.*ECONNREFUSED/ });
    if (!isUnverifiable) t.match(await bench.target.verify(never), { kind: 'transient' });
  });

  for (const script of ['takenThenReset', 'takenThenBrokenOff', 'reset'] as const) {
    check(`DUR-1 · ${script}: a request that went out and was lost is not sent again blindly`, async (t, bench) => {
      const taken = script === 'reset' ? 0 : 1;
      bench.platform.scripts.push(script);

      const outcome = await bench.deliver('hello');

      if (fixture.resends) {
        t.match(outcome, { kind: 'delivered' }, 'the platform knows the message again');
        t.equal(texts(bench).length, 1);
        bench.platform.scripts.push(script, script);
        // Where the status alone counts, it has come.
        const hasCome = fixture.accepts2xx === true && script === 'takenThenBrokenOff';
        t.match(await bench.deliver('another'), { kind: hasCome ? 'delivered' : 'unknown' });
      } else {
        t.match(outcome, { kind: 'unknown', reason: /the request was sent, and then/ });
        t.equal(texts(bench).length, taken);
      }
    });
  }

  check('DUR-1 · no answer in time is an unknown outcome', async (t, bench) => {
    bench.platform.scripts.push('hang', 'hang');
    const time = lentTime(t);
    const outcome = bench.deliver('hello');
    // The credentials come first, and are not what hangs.
    for (let sent = 0; sent < (fixture.resends ? 2 : 1); sent += 1) {
      await bench.platform.arrival();
      time.pass(timeoutMs);
    }

    t.match(await outcome, { kind: 'unknown', reason: /no answer within 20 s/ });
  });

  check('DUR-1 · a delivery that is stopped says whether it had begun', async (t, bench) => {
    t.match(await bench.deliver('hello', {}, AbortSignal.abort()), { kind: 'transient' });
    t.equal(bench.platform.requests.length, 0);

    bench.platform.scripts.push('hang');
    const stop = new AbortController();
    const arrived = bench.platform.arrival();
    const outcome = bench.deliver('hello', {}, stop.signal);
    await arrived;
    stop.abort();

    t.match(await outcome, { kind: 'unknown', reason: /stopped/ });
    t.equal(bench.platform.requests.filter((request) => fixture.sends(request)).length, 1);
  });

  check('DLV-1 · an address that is none is a refusal', async (t, bench) => {
    for (const address of ['not an address', 'http://user:sec-in-address@127.0.0.1:1', 'ftp://127.0.0.1']) {
      const { bridge_url } = fixture.options;
      const at =
        bridge_url === undefined ? { apiBase: address } : { options: { ...fixture.options, bridge_url: address } };
      const reason = bridge_url === undefined ? /check api_base/ : /check bridge_url/;
      t.match(await bench.with(at).deliver('hello'), { kind: 'refused', class: 'permanent', reason });
    }
    t.equal(bench.platform.requests.length, 0);
  });
}

/** The first message is taken as it comes; the next one meets `script`. */
function pushAfterFirst({ platform }: Bench, script: FakePlatform['scripts'][number]): void {
  const { scripts } = platform;
  void platform.arrival().then(() => scripts.push(script));
}
