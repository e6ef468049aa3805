/** The page of the sources that a route can name, made from their data: `npm run diagrams` writes it. */

import type { Place, SignatureScheme } from '../../machines/config/signature-scheme.ts';
import { type Source, sourceNames, sources } from '../../machines/config/sources.ts';

export function sourcesPage(): string {
  const rows = sourceNames.map((name) => rowOf(name, sources[name]));
  return `# Webhook sources

A route that names its provider verifies requests as that provider signs them, and refuses everything else with 401:

\`\`\`yaml
routes:
  payments:
    source: stripe
    secret: \${STRIPE_WEBHOOK_SECRET}     # a list of two while you replace it
    events: [invoice.paid]
    prompt: 'Invoice {data.object.number} was paid.'
\`\`\`

The source also says where the event type and the delivery id are. A provider's retry has the same id and is answered
\`200 duplicate\`. Before it sends events, a provider may ask who listens: the gateway answers Slack, Zoom, Discord and Meta, which
wants a \`verify_token\` on the route. \`agent webhook test <route>\` signs
a test event as the provider would.

| \`source\` | provider | how it signs | event type | delivery id | handshake | its secret |
| --- | --- | --- | --- | --- | --- | --- |
${rows.join('\n')}

A time that is signed may lie 300 s from the clock of this machine, unless the table says otherwise.
Square signs the address that it posts to: set \`platforms.webhook.extra.public_url\` to the address of the gateway as senders
see it, such as \`https://hooks.example.com\`. Mailgun does not sign the body, only a token and the time: its fields can be
believed as far as the connection can.

## Another sender

Where no source fits, declare the scheme:

\`\`\`yaml
routes:
  orders:
    secret: \${ACME_SECRET}
    signature:
      header: X-Acme-Signature          # t=1700000000,v1=5257a8…
      part: v1
      signed: '{timestamp}.{body}'
      timestamp: { part: t }
    delivery_id: { field: order.id }    # or { header: X-Acme-Delivery }
\`\`\`

| key of \`signature\` | default | meaning |
| --- | --- | --- |
| \`header\` | | the header that holds the signature |
| \`algorithm\` | hmac-sha256 | \`hmac-sha1\`, \`hmac-sha512\`, \`ed25519\` or \`ecdsa-sha256\` (the secret is the public key: 64 hexadecimal digits, or base64), \`token\` (the header holds the secret itself) |
| \`encoding\` | hex | or \`base64\` |
| \`prefix\` | | text before the signature, such as \`sha256=\` |
| \`part\`, \`list\` | commas | the label of the signature in a list: \`v1=…,v1=…\`, or with \`list: spaces\` \`v1,… v1,…\`; one signature that fits is enough |
| \`signed\` | {body} | what is signed: text with \`{id}\`, \`{timestamp}\`, \`{method}\`, \`{url}\` and \`{body}\` |
| \`key\` | text | how the secret is written: \`text\`, \`base64\` (also after \`whsec_\`) or \`hex\` |
| \`id\` | | where \`{id}\` is: \`header\` or \`field\` |
| \`timestamp\` | | where the time is, \`header\`, \`field\` or \`part\`; its \`unit\` (\`s\`, \`ms\`) and \`tolerance_seconds\` (300) |

## Several events in one request

\`body\` says what a route makes of an array:

| \`body\` | an array is |
| --- | --- |
| \`object\` (default) | refused with 400 |
| \`each\` | split: each item is an event with its own type, filters, run and delivery id |
| \`raw\` | one event, whose payload is \`{"items": [...]}\`; templates read \`{items.0.id}\` |

With \`each\`, \`delivery_id: { field: id }\` is read from each item; an item without one has the id of the request and its
number, such as \`9f1c#3\`. All events of an array are accepted in one commit or none is, at most 5,000 of them. Items with
equal ids are one event. The answer counts them: \`{"status":"accepted","accepted":2,"duplicate":1,"ignored":0}\`.

A route without \`source\` and \`signature\` takes GitHub's, GitLab's, Standard Webhooks' and the generic schemes:
[receive events from GitHub](receive-github-events.md).
`;
}

function rowOf(name: string, { title, page, schemes, event, eventKeys, id, handshake, secret }: Source): string {
  const cells = [
    `\`${name}\``,
    `[${title}](${page})`,
    schemes.map(schemeText).join(', or '),
    [
      ...event.map((one) => [one].flat().map(placeText).join(' + ')),
      ...(eventKeys === undefined ? [] : ['the first of the update’s keys']),
    ].join(', else '),
    id.map(placeText).join(', else ') || 'none',
    handshake === undefined ? 'none' : 'answered',
    secret.is,
  ];
  return `| ${cells.join(' | ')} |`;
}

function schemeText({ at, algorithm, encoding, prefix, part, signed, timestamp }: SignatureScheme): string {
  if (algorithm === 'token') return `${placeText(at)}: the secret itself`;
  const label = `${part === undefined ? '' : `${part}=`}${prefix ?? ''}`;
  const window =
    timestamp?.toleranceSeconds === 300 || timestamp === undefined ? '' : `, within ${timestamp.toleranceSeconds} s`;
  return `${placeText(at)}${label === '' ? '' : ` \`${label}\``}: ${algorithm}, ${encoding}, of \`${signed}\`${window}`;
}

function placeText(place: Place): string {
  if ('header' in place) return `\`${place.header}\``;
  return 'field' in place ? `\`${place.field}\` of the body` : `\`?${place.query}=\``;
}
