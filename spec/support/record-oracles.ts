/**
 * Writes `oracle-vectors.json`: what the larger libraries of the providers sign, or accept, for each body of the oracles. Stops
 * where a library refuses what we sign, or accepts an altered body.
 *
 * In an empty folder: `npm install --ignore-scripts stripe twilio square @hubspot/api-client @slack/bolt @shopify/shopify-api
 * @line/bot-sdk @paddle/paddle-node-sdk`;
 * then here `npm run build && node dist/spec/support/record-oracles.js <folder> [library…]`; what is not named is kept.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { SignedEvent } from '../../machines/webhook/sign-event.ts';
import {
  bodiesOf,
  digestQuery,
  recordedAtMs as nowMs,
  oracles,
  path,
  payloadsOf,
  publicUrl,
  recordedVectors,
  sealed,
  secretOf,
  sentWith,
  signatureHeader,
  texts,
  type Vectors,
} from './oracles.ts';

interface Library {
  readonly calls: readonly string[];
  readonly sign?: (body: string, secret: string) => string;
  readonly verify: (sent: SignedEvent, secret: string) => boolean | Promise<boolean>;
}

const [folder = '', ...chosen] = process.argv.slice(2);
const load = createRequire(join(folder, 'package.json'));
const url = `${publicUrl}${path}`;
const seconds = nowMs / 1_000;
// HubSpot's library asks the clock.
Date.now = () => nowMs;

function takes(judge: () => unknown): boolean {
  try {
    judge();
    return true;
  } catch {
    return false;
  }
}

// The libraries are not installed where this is compiled, so that they have no types.
// biome-ignore lint/suspicious/noExplicitAny: see above
const any = (name: string): any => load(name);

const libraries: Readonly<Record<string, () => Library>> = {
  stripe() {
    const { webhooks } = new (any('stripe'))('sk_test_0');
    return {
      calls: ['webhooks.generateTestHeaderString', 'webhooks.signature.verifyHeader'],
      sign: (payload, secret) => webhooks.generateTestHeaderString({ payload, secret, timestamp: seconds }),
      // It parses what it has verified.
      verify: ({ headers, body }, secret) =>
        takes(() => webhooks.signature.verifyHeader(body, headers['stripe-signature'], secret, 300, undefined, nowMs)),
    };
  },
  twilio() {
    const { getExpectedTwilioSignature, validateRequest, validateRequestWithBody } =
      any('twilio/lib/webhooks/webhooks');
    const fields = (body: string) => {
      const params = new URLSearchParams(body);
      return Object.fromEntries([...params.keys()].map((name) => [name, params.get(name)]));
    };
    const isForm = (body: string) => !Object.values(texts).includes(body as never);
    return {
      calls: ['getExpectedTwilioSignature', 'validateRequest, validateRequestWithBody'],
      sign: (body, secret) =>
        isForm(body)
          ? getExpectedTwilioSignature(secret, url, fields(body))
          : getExpectedTwilioSignature(secret, `${url}?${digestQuery(body)}`, null),
      verify: ({ headers, body, query }, secret) =>
        query === undefined
          ? validateRequest(secret, headers['x-twilio-signature'], url, fields(body))
          : validateRequestWithBody(secret, headers['x-twilio-signature'], `${url}?${query}`, body),
    };
  },
  '@hubspot/api-client'() {
    const { Signature } = any('@hubspot/api-client');
    const options = (requestBody: string, clientSecret: string) => ({
      requestBody,
      clientSecret,
      url,
      timestamp: nowMs,
    });
    return {
      calls: ["Signature.getSignature('POST', 'v3')", 'Signature.isValid'],
      sign: (body, secret) => Signature.getSignature('POST', 'v3', options(body, secret)),
      verify: ({ headers, body }, secret) =>
        Signature.isValid({
          signatureVersion: 'v3',
          signature: headers['x-hubspot-signature-v3'],
          ...options(body, secret),
        }),
    };
  },
  '@slack/bolt'() {
    const { isValidSlackRequest } = any(join(folder, 'node_modules/@slack/bolt/dist/receivers/verify-request.js'));
    return {
      calls: ['isValidSlackRequest'],
      verify: ({ headers, body }, signingSecret) =>
        isValidSlackRequest({ signingSecret, body, headers, nowMilliseconds: nowMs }),
    };
  },
  square() {
    const { WebhooksHelper } = any('square');
    return {
      calls: ['WebhooksHelper.verifySignature'],
      verify: ({ headers, body }, signatureKey) =>
        WebhooksHelper.verifySignature({
          requestBody: body,
          signatureHeader: headers['x-square-hmacsha256-signature'],
          signatureKey,
          notificationUrl: url,
        }),
    };
  },
  '@line/bot-sdk'() {
    const { validateSignature } = any('@line/bot-sdk');
    return {
      calls: ['validateSignature'],
      verify: ({ headers, body }, secret) => validateSignature(body, secret, headers['x-line-signature']),
    };
  },
  '@paddle/paddle-node-sdk'() {
    const { webhooks } = new (any('@paddle/paddle-node-sdk').Paddle)('pdl_key', { logLevel: 'none' });
    // It accepts five seconds.
    globalThis.Date = class extends Date {
      constructor(...given: []) {
        super(...((given.length === 0 ? [nowMs] : given) as []));
      }
    } as DateConstructor;
    return {
      calls: ['webhooks.isSignatureValid'],
      verify: ({ headers, body }, secret) => webhooks.isSignatureValid(body, secret, headers['paddle-signature']),
    };
  },
  '@shopify/shopify-api'() {
    any('@shopify/shopify-api/adapters/node');
    const { shopifyApi, LogSeverity } = any('@shopify/shopify-api');
    return {
      calls: ['shopifyApi(…).webhooks.validate'],
      async verify({ headers, body }, apiSecretKey) {
        const api = shopifyApi({
          apiKey: 'k',
          apiSecretKey,
          apiVersion: '2026-01',
          isEmbeddedApp: false,
          hostName: 'h.example',
          logger: { level: LogSeverity.Error },
        });
        const rawRequest = {
          method: 'POST',
          url: path,
          headers: {
            ...headers,
            'x-shopify-topic': 'orders/create',
            'x-shopify-shop-domain': 's.myshopify.com',
            'x-shopify-api-version': '2026-01',
            'x-shopify-webhook-id': 'w',
          },
        };
        return (await api.webhooks.validate({ rawBody: body, rawRequest })).valid;
      },
    };
  },
};

const recorded: Record<string, Vectors> = chosen.length === 0 ? {} : { ...recordedVectors() };
for (const oracle of oracles.filter(({ isRecorded }) => isRecorded)) {
  if (chosen.length > 0 && !chosen.includes(oracle.library)) continue;
  const { library } = oracle;
  const { calls, sign, verify } = (libraries[library] as () => Library)();
  const secret = secretOf(oracle.source);
  const demand = async (sent: SignedEvent, isRight: boolean): Promise<void> => {
    if ((await verify(sent, secret)) !== isRight)
      throw new Error(`${library} ${isRight ? 'refuses' : 'accepts'} ${JSON.stringify(sent).slice(0, 300)}`);
  };
  const signatures: Record<string, string> = {};
  for (const [name, body] of Object.entries(sign === undefined ? {} : bodiesOf(oracle))) {
    const signature = sign?.(body, secret) ?? '';
    await demand(sentWith(oracle, body, signature, nowMs), true);
    signatures[name] = signature;
  }
  for (const [name, payload] of Object.entries(payloadsOf(oracle))) {
    const sent = sealed(oracle, secret, payload, nowMs) as SignedEvent;
    await demand(sent, true);
    await demand({ ...sent, body: `${sent.body}1` }, false);
    signatures[name] ??= sent.headers[signatureHeader(oracle)] ?? '';
  }
  const { version } = JSON.parse(readFileSync(join(folder, 'node_modules', library, 'package.json'), 'utf8'));
  recorded[library] = { version, calls, signatures };
}
writeFileSync('spec/support/oracle-vectors.json', `${JSON.stringify(recorded, undefined, 2)}\n`);
