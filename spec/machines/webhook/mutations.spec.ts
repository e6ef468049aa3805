import t from 'tap';
import type { Json, JsonObject } from '../../../machines/base/json.ts';
import { type Place, type SignatureScheme, schemeWith } from '../../../machines/config/signature-scheme.ts';
import { type SourceName, sourceNames, sources } from '../../../machines/config/sources.ts';
import type { CompiledRoute } from '../../../machines/webhook/compile-route.ts';
import { readerOf } from '../../../machines/webhook/signature.ts';
import {
  type Genuine,
  genuineByScheme,
  nowMs,
  routeFor,
  type Sent,
  verdictOf,
} from '../../support/genuine-requests.ts';
import { fc, runs } from '../../support/property.ts';

/** A text that the signature covers or is made of, and how a request has another one. */
interface Target {
  readonly name: string;
  readonly text: string;
  readonly put: (text: string) => Sent;
  /** It holds the signature: other letters of the same bytes are the same one. */
  readonly isSignature?: boolean;
  /** What another text says alike, so that it is no change; the text itself unless given. */
  readonly said?: (text: string) => string;
}

interface Way {
  readonly route: CompiledRoute;
  /** Of the source. */
  readonly listed: SignatureScheme;
  /** As it is with the route's keys and secret. */
  readonly scheme: SignatureScheme;
  readonly targets: readonly Target[];
}

/** The headers that PayPal's signature depends on besides those of its scheme. */
const paypalHeaders = ['paypal-auth-algo', 'paypal-cert-url'];
/** Those that SNS signs, and by what: a notification may have a subject, which is signed then. */
const snsFields = ['Message', 'MessageId', 'Timestamp', 'TopicArn', 'Type', 'SignatureVersion', 'SigningCertURL'];
const snsMore = { Notification: ['Subject'], SubscriptionConfirmation: ['SubscribeURL', 'Token'] } as const;

function wayOf(name: SourceName, [secret, sent, more]: Genuine): Way {
  const route = routeFor(name, secret, more);
  const request = { headers: sent.headers, body: Buffer.from(sent.body), nowMs, query: sent.query };
  const payload = () => JSON.parse(sent.body) as JsonObject;
  const schemes: readonly SignatureScheme[] = sources[name].schemes;
  const listed = schemes.find(({ at }) => readerOf(at)({ ...request, payload }) !== undefined);
  if (listed === undefined) throw new Error(`${name} is not signed by any of its schemes`);
  const named = route.route.signature;
  const ownAt = named && 'header' in named.at ? { at: { header: named.at.header.toLowerCase() } } : {};
  const scheme = schemeWith({ ...(named ?? listed), ...ownAt }, secret);
  return { route, listed, scheme, targets: targetsOf(name, scheme, sent) };
}

function targetsOf(name: SourceName, scheme: SignatureScheme, sent: Sent): readonly Target[] {
  const { at, id, timestamp, signed, form, algorithm, prefix } = scheme;
  const coversBody = algorithm !== 'token' && (form === 'paypal' || form === 'twilio' || signed.includes('{body}'));
  const fields = name === 'aws-sns' ? snsFieldsOf(sent).map((field) => ({ field })) : [];
  const headers = name === 'paypal' ? paypalHeaders.map((header) => ({ header })) : [];
  // A time within the signature's header is changed with that, and one in a signed body with the body.
  const isWithin = timestamp !== undefined && ('part' in timestamp.at || (coversBody && 'field' in timestamp.at));
  const places: readonly Place[] = [
    ...(id === undefined ? [] : [id]),
    ...(timestamp === undefined || isWithin || fields.length > 0 ? [] : [timestamp.at as Place]),
    ...fields,
    ...headers,
  ];
  return [
    {
      ...targetAt(at, sent),
      ...(algorithm === 'token' || algorithm === 'jwt' ? withoutCase(prefix) : { isSignature: true }),
    },
    ...places.map((place) => targetAt(place, sent)),
    ...(coversBody
      ? [{ name: 'body', text: sent.body, put: (body: string) => ({ ...sent, body }), said: saidBy(sent) }]
      : []),
    ...(signed.includes('{url}')
      ? [{ name: 'path', text: '/webhooks/in', put: (path: string) => ({ ...sent, path }) }]
      : []),
    ...(signed.includes('{method}')
      ? [{ name: 'method', text: 'POST', put: (method: string) => ({ ...sent, method }) }]
      : []),
    ...(form === 'twilio' && sent.query !== undefined ? [targetAt({ query: 'bodySHA256' }, sent)] : []),
  ];
}

/** The name of the authentication scheme before a token has no case (RFC 9110 §11.1). */
function withoutCase(prefix = ''): Partial<Target> {
  if (prefix === '') return {};
  return { said: (text) => text.slice(0, prefix.length).toLowerCase() + text.slice(prefix.length) };
}

function snsFieldsOf({ body }: Sent): readonly string[] {
  const { Type: type } = JSON.parse(body) as { readonly Type: keyof typeof snsMore };
  return [...snsFields, ...snsMore[type]];
}

function targetAt(place: Place, sent: Sent): Target {
  if ('header' in place) {
    const { header: name } = place;
    const put = (text: string) => ({ ...sent, headers: { ...sent.headers, [name]: text } });
    return { name, text: sent.headers[name] ?? '', put };
  }
  if ('query' in place) {
    const { query } = place;
    const said = (text: string) => new URLSearchParams(text).getAll(query)[0] ?? '';
    return { name: query, text: sent.query ?? '', put: (text) => ({ ...sent, query: text }), said };
  }
  const path = [...(place.of === undefined ? [] : [place.of, '0']), ...place.field.split('.')];
  const held = JSON.parse(sent.body) as Json;
  const text = String(path.reduce<unknown>((value, key) => (value as Record<string, unknown>)?.[key], held) ?? '');
  const put = (one: string) => ({ ...sent, body: JSON.stringify(withText(held, path, one)) });
  return { name: path.join('.'), text, put };
}

function withText(held: Json, [key = '', ...rest]: readonly string[], text: string): Json {
  if (Array.isArray(held))
    return held.map((item, index) => (String(index) === key ? withText(item, rest, text) : item));
  const object = held as JsonObject;
  return { ...object, [key]: rest.length === 0 ? text : withText(object[key] as Json, rest, text) };
}

/** What Twilio signs of a form joins its sorted names and values; of other bodies each byte is covered. */
function saidBy({ headers }: Sent): (text: string) => string {
  if (!(headers['content-type'] ?? '').startsWith('application/x-www-form')) return (text) => text;
  return (text) => {
    const sorted = [...new Set([...new URLSearchParams(text)].map((pair) => JSON.stringify(pair)))].map(
      (pair) => JSON.parse(pair) as [string, string],
    );
    sorted.sort(([one, first], [other, second]) => (one < other || (one === other && first < second) ? -1 : 1));
    return sorted.flat().join('');
  };
}

/** Changes of more kinds than a character. Each is a total function of a text and two numbers. */
const changes: Readonly<Record<string, (text: string, at: number, by: number) => string>> = {
  replace: (text, at, by) => text.slice(0, at) + character(by) + text.slice(at + 1),
  delete: (text, at) => text.slice(0, at) + text.slice(at + 1),
  insert: (text, at, by) => text.slice(0, at) + character(by) + text.slice(at),
  swap: (text, at) => text.slice(0, at) + (text[at + 1] ?? '') + (text[at] ?? '') + text.slice(at + 2),
  case(text, at) {
    const one = text[at] ?? '';
    return text.slice(0, at) + (one === one.toLowerCase() ? one.toUpperCase() : one.toLowerCase()) + text.slice(at + 1);
  },
  cut: (text, at) => text.slice(0, at),
  'cut the beginning': (text, at) => text.slice(at + 1),
  empty: () => '',
  'say twice': (text, _, by) => `${text}${separators[by % separators.length]}${text}`,
  'say a part twice'(text, at, by) {
    const separator = separators[by % separators.length] ?? ',';
    const parts = text.split(separator);
    return [...parts, parts[at % parts.length] ?? ''].join(separator);
  },
  'swap the parts': (text, _, by) => {
    const separator = separators[by % separators.length] ?? ',';
    return text.split(separator).reverse().join(separator);
  },
  pad: (text, at, by) => (at % 2 === 0 ? character(by) + text : text + character(by)),
};
const separators = [',', ' ', '.', '=', ':', '|', '&', ', '];

/** What a header can hold, control characters but NUL and line breaks left out. */
function character(by: number): string {
  const code = 0x20 + (by % 0xdf);
  return code === 0x7f ? '\t' : String.fromCharCode(code);
}

/** Whether a changed place still has the genuine signature in one of its parts, and the genuine time beside it. */
function isSame({ part, list, prefix = '', encoding, timestamp }: SignatureScheme, was: string, is: string): boolean {
  const label = `${part === undefined ? '' : `${part}${list === 'spaces' ? ',' : '='}`}${prefix}`;
  const separator = list === 'spaces' ? / +/ : list === 'semicolons' ? /; */ : /, */;
  const piecesOf = (text: string) => (part === undefined ? [text] : text.split(separator));
  const bytesOf = (text: string) =>
    piecesOf(text)
      .filter((piece) => piece.startsWith(label))
      .map((piece) => Buffer.from(piece.slice(label.length), encoding).toString('hex'));
  const at = timestamp !== undefined && 'part' in timestamp.at ? `${timestamp.at.part}=` : undefined;
  const timeOf = (text: string) => (at === undefined ? '' : piecesOf(text).find((piece) => piece.startsWith(at)));
  const genuine = new Set(bytesOf(was));
  return bytesOf(is).some((bytes) => genuine.has(bytes)) && timeOf(is) === timeOf(was);
}

t.test('SRC-1 · each scheme of a source has a genuine request, and each of its texts can be changed', async (t) => {
  for (const name of sourceNames) {
    const ways = genuineByScheme(name).map((one) => wayOf(name, one));
    t.same(new Set(ways.map(({ listed }) => listed)).size, sources[name].schemes.length, name);
    for (const { route, targets } of ways) {
      for (const { name: target, text, put } of targets)
        if (text !== '') t.match(verdictOf(route, put(text)), { kind: 'genuine' }, `${name}: ${target}`);
    }
  }
});

t.test('SRC-1 · no change of what is signed, and of no signature, is accepted', async (t) => {
  const wanted = runs(10_000, 200);
  for (const name of sourceNames) {
    const targets = genuineByScheme(name).flatMap((one) => {
      const way = wayOf(name, one);
      return way.targets.map((target) => ({ ...way, target }));
    });
    const judged = new Map(targets.map(({ target }) => [target.name, 0]));
    fc.assert(
      fc.property(
        fc.nat({ max: targets.length - 1 }),
        fc.constantFrom(...Object.keys(changes)),
        fc.nat(),
        fc.nat(),
        (index, kind, at, by) => {
          const { route, scheme, target } = targets[index] as (typeof targets)[number];
          const change = changes[kind] as (typeof changes)[string];
          const { text, put, said = (one) => one, isSignature } = target;
          const changed = change(text, text === '' ? 0 : at % text.length, by);
          fc.pre(said(changed) !== said(text));
          judged.set(target.name, (judged.get(target.name) ?? 0) + 1);
          const verdict = verdictOf(route, put(changed));
          if (verdict.kind === 'genuine' && !(isSignature && isSame(scheme, text, changed)))
            throw new Error(`${name} accepts ${target.name} changed by ${kind}: ${changed}`);
        },
      ),
      { numRuns: wanted },
    );
    const counts = [...judged.values()];
    t.equal(
      counts.reduce((sum, one) => sum + one, 0),
      wanted,
      name,
    );
    t.ok(Math.min(...counts) > 0, `${name}: each text was changed`);
  }
});
