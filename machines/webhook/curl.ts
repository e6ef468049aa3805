/**
 * Formats a shell command that sends a payload to a route. The shell signs it with `$SECRET` by the route's own scheme: a
 * signature computed now would expire, and copied text must not contain a secret.
 * @see DUR-2 and SIG-1 in docs/specification.md
 */

import { quotedWord } from '../base/shell-word.ts';
import type { Algorithm, SignatureScheme } from '../config/signature-scheme.ts';
import { labelOf, stampOf } from './scheme.ts';
import { ownScheme } from './verifier.ts';

interface CurlRequest {
  readonly url: string;
  readonly body: string;
  readonly contentType: string;
  /** Headers that the route reads, such as the event type. */
  readonly headers: Readonly<Record<string, string>>;
  /** The scheme of the route or its source; `none`: the route accepts unsigned requests; absent: the gateway's own. */
  readonly scheme?: SignatureScheme | 'none' | undefined;
  /** Where senders reach the listener, for {url}. */
  readonly publicUrl?: string | undefined;
}

type CurlVerdict =
  | { readonly kind: 'command'; readonly text: string }
  /** Only the sender can sign such a request, or its body cannot be pasted. */
  | { readonly kind: 'refused'; readonly why: string };

const digests: Partial<Record<Algorithm, string>> = {
  'hmac-sha256': 'sha256',
  'hmac-sha1': 'sha1',
  'hmac-sha512': 'sha512',
};

/** The time of a request, as the shell computes it. */
const clocks = { s: '$(date +%s)', ms: '$(date +%s)000', iso: '$(date -u +%Y-%m-%dT%H:%M:%SZ)' } as const;

/** A terminal obeys them in a pasted text: Ctrl-C discards the quoted body so far, and the shell runs what follows. */
const obeyed = /(?![\t\n\r])\p{Cc}/u;

export function curlCommand({
  url,
  body,
  contentType,
  headers,
  scheme = ownScheme,
  publicUrl,
}: CurlRequest): CurlVerdict {
  if (obeyed.test(body))
    return { kind: 'refused', why: 'the payload has control characters, which a terminal would obey' };
  const lines = [`curl -sS ${quotedWord(url)}`, `-H ${quotedWord(`content-type: ${contentType}`)}`];
  for (const [name, value] of Object.entries(headers)) {
    if (name !== 'content-type' && name !== 'user-agent') lines.push(`-H ${quotedWord(`${name}: ${value}`)}`);
  }
  const vars = [`BODY=${quotedWord(body)}`];
  if (scheme !== 'none') {
    const { at, algorithm, timestamp, id } = scheme;
    const isPlain = scheme.form === undefined && (algorithm === 'token' || digests[algorithm] !== undefined);
    const inBody = [at, id, timestamp?.at].some((place) => place !== undefined && 'field' in place);
    if (!isPlain || inBody) return { kind: 'refused', why: 'only the sender itself can sign for this route' };
    vars.unshift(`: "${shell('SECRET:?set it to the secret of the route')}"`);
    if (timestamp !== undefined) vars.push(`TIME=${clocks[timestamp.unit]}`);
    if (id !== undefined || scheme.signed.includes('{id}')) vars.push('ID=$(date +%s%N)');
    if (id !== undefined && 'header' in id) lines.push(`-H "${id.header}: $ID"`);
    if (timestamp !== undefined && 'header' in timestamp.at) lines.push(`-H "${timestamp.at.header}: $TIME"`);
    if ('header' in at) lines.push(`-H "${at.header}: ${signatureText(scheme, url, publicUrl)}"`);
    else if ('query' in at) lines[0] = `curl -sS ${quotedWord(url)}"?${at.query}=$SECRET"`;
  }
  // With `-d` a body that begins with @ would be the name of a file to send.
  lines.push('--data-raw "$BODY"');
  return { kind: 'command', text: [vars.join('\n'), lines.join(' \\\n  ')].join('\n') };
}

/** The signed text within double quotes. */
function signatureText(scheme: SignatureScheme, url: string, publicUrl: string | undefined): string {
  const { algorithm, prefix = '' } = scheme;
  if (algorithm === 'token') return `${prefix}$SECRET`;
  const key = `-mac HMAC -macopt ${keyOption(scheme)}`;
  const path = new URL(url).pathname;
  const content = scheme.signed
    .replaceAll('{timestamp}', shell('TIME'))
    .replaceAll('{id}', shell('ID'))
    .replaceAll('{method}', 'POST')
    .replaceAll('{url}', `${publicUrl ?? ''}${path}`)
    .replaceAll('{body}', shell('BODY'));
  const digest = `printf %s "${content}" | openssl dgst -${digests[algorithm] ?? 'sha256'} ${key}`;
  const encoded = scheme.encoding === 'hex' ? `${digest} -r | cut -d' ' -f1` : `${digest} -binary | openssl base64 -A`;
  return `${stampOf(scheme, '$TIME')}${labelOf(scheme)}${prefix}$(${encoded})`;
}

/** `openssl` takes the key as text or in hexadecimal. */
function keyOption({ key }: SignatureScheme): string {
  if (key === 'text') return 'key:"$SECRET"';
  const bare = shell('SECRET#whsec_');
  return key === 'hex'
    ? `hexkey:"${bare}"`
    : `hexkey:"$(printf %s "${bare}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \\n')"`;
}

/** A shell parameter, safe before any following text. */
function shell(expansion: string): string {
  return `$\{${expansion}}`;
}
