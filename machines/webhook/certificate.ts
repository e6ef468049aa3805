/**
 * Senders that sign with a published certificate: where it may be fetched from, what they sign, and
 * whether a signature is genuine. Fetches nothing.
 * @see SRC-1 in docs/specification.md
 * @see [PayPal](https://developer.paypal.com/api/rest/webhooks/rest/)
 * @see [Amazon SNS](https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html)
 */

import { type KeyObject, verify, X509Certificate } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Json } from '../base/json.ts';
import { reasonStarts } from './reply.ts';
import { digestOf, mismatch, type SignatureVerdict, type SignedRequest } from './signature.ts';

type CertifiedForm = 'paypal' | 'sns';

/** Its cure is another secret, which is the topic. */
export const otherTopic = 'it is a message of another topic';

const paypalUrl = /^https:\/\/api(?:-m)?(?:\.sandbox)?\.paypal\.com\/v1\/notifications\/certs\/CERT-[\w-]{1,100}$/;
/** In all regions, in China, and in the European Sovereign Cloud. */
const snsHost = 'sns\\.(?:[a-z]{2}(?:-[a-z]+)+-\\d\\.amazonaws\\.com(?:\\.cn)?|eusc(?:-[a-z]+)+-\\d\\.amazonaws\\.eu)';
const snsUrl = new RegExp(`^https://${snsHost}/SimpleNotificationService-[0-9a-f]{32}\\.pem$`);
const confirmUrl = new RegExp(`^https://${snsHost}/\\?Action=ConfirmSubscription&[\\x21-\\x7e]{1,2000}$`);

/** The address of the certificate that a request names; undefined if it is not one of the provider's. */
export function certificateUrl(form: CertifiedForm, { headers, payload }: SignedRequest): string | undefined {
  const given = form === 'paypal' ? (headers['paypal-cert-url'] ?? '') : textOf(payload?.()?.SigningCertURL);
  return (form === 'paypal' ? paypalUrl : snsUrl).test(given) ? given : undefined;
}

/** Whether SNS confirms subscriptions at this address. */
export function isConfirmUrl(url: string): boolean {
  return confirmUrl.test(url);
}

/** Verifies a signature with the certificate that the request names, if it could be fetched. */
export function certifiedBy(
  form: CertifiedForm,
  { name, secret }: { readonly name: string; readonly secret: string },
): (request: SignedRequest, signature: string) => SignatureVerdict {
  const refused = (why: string, more = {}): SignatureVerdict => ({ kind: 'refused', scheme: name, why, ...more });
  const keyIn = certificateReader();
  return (request, signature) => {
    const content = certifiedContent(form, request, secret);
    if ('why' in content) return refused(content.why);
    const url = certificateUrl(form, request);
    if (url === undefined) return refused('its certificate is at an address that is not the provider’s');
    const pem = request.certificate?.(url);
    if (pem === undefined)
      return refused(`${reasonStarts.certificate}could not be fetched in time`, { isTemporary: true });
    const key = keyIn(pem, request.nowMs);
    if (key === undefined) return refused('its certificate has expired or cannot be read');
    const bytes = Buffer.from(content.text(), form === 'sns' ? 'utf8' : 'latin1');
    const isGenuine = isSignedBy(key, { hash: content.hash, bytes }, signature);
    if (isGenuine === undefined)
      return refused(`OpenSSL verifies no ${content.hash} here; let SNS sign with SHA-256 (SignatureVersion 2)`);
    if (!isGenuine) return refused(mismatch.signature);
    return { kind: 'genuine', scheme: name, signed: { digest: digestOf(bytes), isTimed: true } };
  };
}

/**
 * Returns a parser that gives the public key of an unexpired certificate; undefined for other text. It caches the last
 * certificate, because parsing one costs several times as much as verifying a signature.
 */
export function certificateReader(): (pem: string, nowMs: number) => KeyObject | undefined {
  let kept: { readonly pem: string; readonly key: KeyObject; readonly expiresAtMs: number } | undefined;
  return (pem, nowMs) => {
    if (kept?.pem !== pem) {
      try {
        const { publicKey: key, validTo } = new X509Certificate(pem);
        kept = { pem, key, expiresAtMs: Date.parse(validTo) };
      } catch {
        return undefined;
      }
    }
    return nowMs <= kept.expiresAtMs ? kept.key : undefined;
  };
}

/** Whether a signature is genuine; undefined if the system's OpenSSL verifies none with the hash, as Red Hat's with SHA-1. */
function isSignedBy(
  key: KeyObject,
  { hash, bytes }: Pick<CertifiedContent, 'hash'> & { readonly bytes: Uint8Array },
  signature: string,
): boolean | undefined {
  try {
    return verify(hash, bytes, key, Buffer.from(signature, 'base64'));
  } catch {
    return undefined;
  }
}

interface CertifiedContent {
  /** The signed text. Reads the body, so it is called only once the key is known. */
  readonly text: () => string;
  readonly hash: 'sha1' | 'sha256';
}

/** Returns what was signed and with which hash, or why the request cannot be genuine. */
export function certifiedContent(
  form: CertifiedForm,
  request: SignedRequest,
  secret: string,
): CertifiedContent | { readonly why: string } {
  return form === 'paypal' ? paypalContent(request, secret) : snsContent(request, secret);
}

/** @param webhookId PayPal's id of the webhook, which no request contains */
function paypalContent(request: SignedRequest, webhookId: string) {
  const { headers } = request;
  if (headers['paypal-auth-algo'] !== 'SHA256withRSA')
    return { why: 'the header paypal-auth-algo is not SHA256withRSA' };
  const { 'paypal-transmission-id': id = '', 'paypal-transmission-time': time = '' } = headers;
  return { text: () => `${id}|${time}|${webhookId}|${crc32(request.body)}`, hash: 'sha256' } as const;
}

const notification = ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'];
const confirmation = ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'];
/** The names of what is signed, in order, by the type of the message. */
const signedNames: ReadonlyMap<string, readonly string[]> = new Map([
  ['Notification', notification],
  ['SubscriptionConfirmation', confirmation],
  ['UnsubscribeConfirmation', confirmation],
]);

/** @param topic the ARN of the topic: any AWS account can have SNS sign any content */
function snsContent({ payload }: SignedRequest, topic: string) {
  const message = payload?.() ?? {};
  const version = textOf(message.SignatureVersion);
  if (version !== '1' && version !== '2') return { why: 'its SignatureVersion is neither 1 nor 2' };
  if (textOf(message.TopicArn) !== topic) return { why: otherTopic };
  // Another type could hold line breaks, and with them the end of a text that SNS has signed for another topic.
  const names = signedNames.get(textOf(message.Type));
  if (names === undefined) return { why: 'its Type is none of Amazon SNS' };
  const present = names.filter((name) => typeof message[name] === 'string');
  const text = (): string => present.map((name) => `${name}\n${textOf(message[name])}\n`).join('');
  return { text, hash: version === '1' ? 'sha1' : 'sha256' } as const;
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
