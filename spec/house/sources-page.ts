/** The page of the sources that a route can name, made from their data: `npm run diagrams` writes it. */

import type { Place, SignatureScheme } from '../../machines/config/signature-scheme.ts';
import { type Answer, type HandshakeName, type Source, sourceNames, sources } from '../../machines/config/sources.ts';
import { sampleNames } from '../../machines/webhook/samples.ts';
import { labelOf } from '../../machines/webhook/scheme.ts';
import { casesOf, type Oracle, oracles, versionOf } from '../support/oracles.ts';

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
\`200 duplicate\`. The array of a provider that sends arrays, such as SendGrid, becomes one event per item
([below](#several-events-in-one-request)). If a provider first asks whether it may send, the gateway answers.
\`agent webhook test <route>\` sends a test event, signed as the provider would sign it. Where the route lists
\`events\`, name one of them: \`--event invoice.paid\`, or a [sample](#samples), \`--sample invoice.paid\`.

| \`source\` | provider | how it signs | handshake | event type | delivery id | body | answer | its secret |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
${rows.join('\n')}

Where the table says within how many seconds a provider wants its answer, an event of a \`deliver_only\` route is answered as
soon as it is on disk, not once it is delivered: the delivery has its tries, and a place among the dead letters if all fail.

A time that is signed may lie 300 s from the clock of this machine, unless the table says otherwise: a retry of Mailgun has the time of its
first request, and one of Linear, Zoom or ElevenLabs may have it. The signature is remembered for as long, so a captured request runs once.
Square, HubSpot, Twilio and Trello sign the address that they post to, and a token of Google Cloud Pub/Sub names it: set \`platforms.webhook.extra.public_url\` to the address of the gateway as senders
see it, such as \`https://hooks.example.com\`. Every address that is shown then begins with it. Mailgun does not sign the body, only a token and the time: its fields are
only as trustworthy as the connection. A request of Telegram, Google, Okta, monday.com, Microsoft Graph, Azure Event Grid or CloudEvents is not signed
at all: it carries a token, so serve these routes by HTTPS only. So does one of Google Cloud Pub/Sub or Google Chat: its token (JWT) is
signed and valid for an hour, but does not cover the body.

Some providers need one more step:

- **Shopify** sends an order that is paid at once as \`orders/create\` and as \`orders/paid\`, with the same body and the same
  signature, and **WooCommerce** a new one as \`order.created\` and as \`order.updated\`. List the topics in \`events\`, so that each
  runs; of others with the same body one runs.
- **Meta**: \`verify_token\` on the route (\`--verify-token\`) is the text that you type beside the callback URL.
- **Microsoft Graph**: \`verify_token\` on the route is the \`clientState\` of the subscription; the route has no \`secret\`. Each
  item of a request must have it, and no event, prompt or history shows it.
- **Azure Event Grid**: give the endpoint as \`https://…/webhooks/<route>?code=<secret>\`, which \`subscribe\` prints. Both of its
  schemas work.
- **Notion**: \`agent webhook subscribe <route> --source notion --wait\` needs no secret. Give Notion the complete address that it
  prints, with its \`?code=\`. Notion's first request brings the verification token there: it is printed, and becomes the secret.
  Type it in at Notion. A token without the code is refused, and once the route has its token no other is taken. For a route of
  \`config.yaml\` begin with any text as \`secret\`; \`agent events show latest --route <route>\` prints the token, which you type
  in at Notion and make the \`secret\`.
- **Asana**: \`agent webhook subscribe <route> --source asana\` needs no secret. Give its complete address, with the \`?code=\`, as the
  \`target\`: Asana sends the secret of the webhook there while it makes it, and that becomes the secret of the route. Each webhook has
  its own, so it needs a route of its own. For a route of \`config.yaml\` begin with any text as \`secret\`, and replace it by the
  \`X-Hook-Secret\` in Asana's answer to the API.
- **Trello**: \`callbackURL\` must be the address as it is shown. It is asked for at once, by a HEAD request.
- **Dropbox** says only whose files have changed, often with the same body: each request is an event, also a captured one that is sent
  again. A [batch](coalesce-bursts.md) makes one run of several.
- **Google** sends no more than that something changed; the first message of a channel, \`sync\`, says that the channel is open. List the
  states in \`events\`, such as \`exists\`, or \`update\` of Drive.
- **Twitch**: a subscription that Twitch revokes is in the history as a handshake, \`revocation\`, and runs nothing.
- **Grafana**: the route expects the signature in \`X-Grafana-Alerting-Signature\`, of the body alone. If the contact point has
  another header, or a timestamp header, which Grafana then signs too, name both on the route:
  \`signature: { header: X-Grafana-Alerting-Signature, timestamp: { header: X-Grafana-Alerting-Timestamp } }\`. Such a route
  refuses a request without the time, so that a captured one cannot be sent again without it.
- **Standard Webhooks** and **Svix**: where the sender signs with a private key (\`v1a\`), \`secret\` is its public key, which
  begins with \`whpk_\`. No other source takes such a key: it is no secret. A secret without \`whsec_\` that is Base64 is decoded; where a
  sender uses its text as the key, as Polar does, leave \`source\` out.
- **Discord** and **SendGrid**: \`secret\` is their public key, so that only they can sign. \`discord\` is for the Interactions Endpoint URL
  of an application, \`discord-events\` for the URL of its page Webhooks. SendGrid signs [emails](#email) too.
- **PayPal** and **Amazon SNS** sign with a certificate. The gateway fetches it from \`*.paypal.com\` or
  \`sns.<region>.amazonaws.com\` (\`.com.cn\` in China, \`.eu\` in the European Sovereign Cloud) alone, keeps it, and answers 503 where that takes longer than 3 s. \`secret\` is the id of the
  webhook at PayPal, or the ARN of the topic. Leave raw message delivery off, because SNS does not sign raw messages. A \`Message\` of SNS that is JSON is read: \`{Message.AlarmName}\`. A subscription is
  confirmed by visiting its address; if that fails, SNS gets 503 and asks again, for a while. Then request a confirmation in the
  console of AWS. PayPal's simulator signs for no webhook, so its events are refused: test with those of a sandbox account.
- **Google Cloud Pub/Sub**: \`secret\` is the email of the service account with which the push subscription authenticates. Leave its
  audience empty, so that it is the address of the route; \`agent webhook subscribe <route> --source google-pubsub --secret <email>\`
  prints the command. The data of a message is decoded, and read if it is JSON: \`{message.data.emailAddress}\`. With payload
  unwrapping write the metadata too (\`--push-no-wrapper-write-metadata\`), because the id of the message is there; the data is then the
  payload: \`{emailAddress}\`. Pub/Sub sends again what is not answered 2xx, until the message expires. A message has an event type
  if it has the attribute \`ce-type\` or \`eventType\`. Cloud Scheduler and Cloud Tasks fit the same source, with an OIDC token: their body is
  the payload, and may be empty.
- **Gmail** sends by Pub/Sub: [below](#gmail).
- **Google Chat**: \`secret\` is the number of the project, in quotes, and the authentication audience of the app must be Project Number. Tokens for
  the address are refused: anyone gets them, by giving the address to an app of their own. So are those of an app that is a
  Google Workspace add-on. The answer is an empty object: the response goes where the
  route delivers it, such as to \`google_chat\`.
- The keys of **Google** are fetched from \`www.googleapis.com\` and kept: fetched again after an hour, and for a token with another key at
  most every 10 s. Without keys the answer is 503.
- **Mailgun** also signs an email that a route of its own forwards, by \`forward("https://…/webhooks/<route>")\`. Such an event has no
  type: see [email](#email).
- **Twilio**: the secret is the auth token of the account; where a webhook rule of Twilio names a shared key, it is that key, by SHA-1 or
  SHA-256. An answer is an empty TwiML document.

## Email

A service that receives email for you posts each one to a route, whose run answers it.

| service | its setting | the route | the prompt can name |
| --- | --- | --- | --- |
| Mailgun | a route with \`forward("https://…/webhooks/mail")\` | \`source: mailgun\` | \`{sender}\`, \`{subject}\`; its text by a script |
| SendGrid Inbound Parse, signed | a [security policy](https://www.twilio.com/docs/sendgrid/for-developers/parsing-email/securing-your-parse-webhooks) with a signature | \`source: sendgrid\`; \`secret\` is the \`public_key\` of the policy | \`{from}\`, \`{subject}\`, \`{text}\` |
| SendGrid Inbound Parse, not signed | \`https://…/webhooks/mail?token=…\` as the URL | \`signature: { query: token, algorithm: token }\` | the same |
| Postmark | \`https://user:password@…/webhooks/mail\` as the URL | [Basic](#another-sender) and \`delivery_id: { field: MessageID }\` | \`{From}\`, \`{Subject}\`, \`{TextBody}\`, \`{StrippedTextReply}\` |
| CloudMailin | the format JSON (Normalized), and an address with \`user:password@\` | Basic and \`delivery_id: { field: headers.message_id }\` | \`{envelope.from}\`, \`{headers.subject}\`, \`{plain}\`, \`{reply_plain}\` |

\`\`\`yaml
routes:
  mail:
    source: mailgun
    secret: \${MAILGUN_SIGNING_KEY}
    script: mail.mjs
    filters: [{ field: sender, in: [ada@example.com] }]
    prompt: 'Answer this email of {sender} on "{subject}": {text}'
    deliver: email                        # with the server that sends it under platforms.email
    deliver_extra: { chat_id: '{sender}', subject: 'Re: {subject}', in_reply_to: '{id}' }
\`\`\`

Mailgun's names have hyphens, which no token has. The script gives what the route needs other names, here \`scripts/mail.mjs\`:

\`\`\`js
import { readFileSync } from 'node:fs';

const mail = JSON.parse(readFileSync(0, 'utf8'));
const text = mail['stripped-text'] || mail['body-plain'];
console.log(JSON.stringify({ ...mail, text, id: mail['Message-Id'] }));
\`\`\`

- An email has no event type: leave \`events\` out. Of SendGrid and Mailgun give emails a route of their own, beside that of events.
- Anyone who knows the address can write to the agent, and a sender is easily forged. Filter by the sender, and by what the
  service found out about it, such as \`SPF\` of SendGrid; lend such a run no tool that harms.
- SendGrid's \`{from}\` has a name beside the address; the bare one is in \`envelope\`, a text of JSON that a script reads. A policy
  with OAuth alone does not sign.
- **Attachments** are shown as \`{"name": "bill.pdf", "type": "application/pdf", "size": 48211}\` under the name of their field:
  \`{attachment1.name}\` with SendGrid. Their bytes are dropped; a text, such as CSV or JSON, is in \`text\` beside these. Postmark
  and CloudMailin send theirs as Base64 within the JSON, and all of it is stored.
- A larger email than \`max_body_bytes\` (1 MiB) is answered 413: set it to \`31457280\` for the 30 MB of SendGrid. No email may
  be larger than half of \`max_unverified_bytes\` (64 MiB).
- Postmark repeats what is not answered 200: with its \`delivery_id\` that is a duplicate, which is answered 200 and runs nothing.
- Leave the raw message of SendGrid and Mailgun (an address that ends in \`mime\`) off: it is one text, with all attachments.

## Forms

A form (\`application/x-www-form-urlencoded\`, or \`multipart/form-data\` where it has files) becomes an object of its fields; a
name that comes several times has a list. A field \`payload\` that is JSON becomes the payload itself, as Plex sends it, without the
picture beside it. Files are as attachments above. Such senders rarely sign: give them \`?token=\` in their address, and a
\`delivery_id\` where they have one, such as \`{ field: submissionID }\` of Jotform. \`agent events show\` and a replay have what was
read, as JSON. A form has at most 1,000 fields; one that is cut off, or has a field without a name, is answered 400.

\`\`\`yaml
routes:
  plex:
    secret: \${PLEX_TOKEN}
    signature: { query: token, algorithm: token }
    filters: [{ field: payload.event, equals: media.play }]
    prompt: '{Account.title} watches {Metadata.title}'
\`\`\`

## Gmail

Gmail says by Google Cloud Pub/Sub that a mailbox has changed, not what is in it: the run reads the mail with a tool, such as one
of an MCP server.

\`\`\`sh
gcloud pubsub topics create gmail
gcloud pubsub topics add-iam-policy-binding gmail --role=roles/pubsub.publisher \\
  --member=serviceAccount:gmail-api-push@system.gserviceaccount.com
gcloud iam service-accounts create push
gcloud pubsub subscriptions create gmail --topic=gmail --push-endpoint=https://hooks.example.com/webhooks/mail \\
  --push-auth-service-account=push@<project>.iam.gserviceaccount.com
\`\`\`

\`\`\`yaml
routes:
  mail:
    source: google-pubsub               # with public_url: https://hooks.example.com under platforms.webhook.extra
    secret: push@<project>.iam.gserviceaccount.com
    toolsets: [agent-webhook, mcp-gmail]    # with a server gmail that reads mail
    prompt: 'The mailbox {message.data.emailAddress} has changed, up to {message.data.historyId}. Read the new mail.'
\`\`\`

Then call
[\`users.watch\`](https://developers.google.com/workspace/gmail/api/guides/push) of the mailbox with the topic, and again at least every
seven days. A message has no event type, so leave \`events\` out; many at once become one run by a [batch](coalesce-bursts.md).
What the run itself changes in the mailbox is a change too: watch \`INBOX\` alone (\`labelIds\`).

## Samples

\`agent webhook test <route> --sample <provider>:<event>\` sends an event in the provider's documented shape, with the provider's
headers and a fresh id, signed as the route verifies: by its source, by its \`signature:\`, else by GitHub's, GitLab's or the
generic scheme. On a route with a source the event alone will do. Discord, SendGrid, PayPal, Amazon SNS and Google Cloud alone can sign
theirs: such a sample is handed in without its signature and gets the gateway's own answer, and the history shows who
handed it in.

${sampleLines()}

## A request that was refused

\`\`\`sh
agent webhook doctor payments
\`\`\`

explains the last refused requests of a route, the newest first; \`agent inspect why\` adds the same to one refused request.
The gateway keeps the newest refusal of each answer in memory, with a body of up to 64 KiB, and checks it against the route as it
is now. An answer that takes the secret, such as a changed body, is not replaced by requests of untrusted senders. With \`--json\` each finding has one of these codes:

| code | what it says |
| --- | --- |
| \`header-missing\`, \`header-repeated\` | a header that the signature needs is not there, or came twice |
| \`other-provider\` | the headers of another provider are there, and whether \`source:\` of that provider would match |
| \`clock-skew\` | how many seconds the request's time is behind this machine's clock, or ahead of it |
| \`timestamp-unfit\` | the time is missing, or has another unit |
| \`body-changed\` | which change of the body would match: white space, escapes or key order of JSON, line breaks; or that it came compressed |
| \`url-differs\` | which other public address would match, or that a token is for another one |
| \`secret-shape\` | which reading of the secret would match: with or without \`whsec_\`, as text, base64 or hex |
| \`secret-kind\` | the secret looks like a key of another kind, such as an API key |
| \`scheme-differs\` | which line of \`signature:\` would match, also on a route that has none |
| \`handshake-token\` | what was wrong with the token of a handshake |
| \`passes-now\` | it would match now: the route or its secret was changed since |
| \`differs\` | no usual change of what the signature covers would match: the secret is another one, or what it covers was changed |
| \`body-not-kept\`, \`other-refusal\` | the body was too long to check again, or it was not the signature |

No secret, no computed signature and no text of the sender is shown.

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
| \`header\` | | the header that holds the signature or the token |
| \`query\` | | instead of \`header\`, with \`algorithm: token\`: the query parameter that holds the token |
| \`algorithm\` | hmac-sha256 | \`hmac-sha1\`, \`hmac-sha512\`, \`ed25519\` or \`ecdsa-sha256\` (the secret is the sender's public key: base64, PEM or, for \`ed25519\`, 64 hexadecimal digits or \`whpk_…\`), \`token\` (the header, or the query parameter, holds the secret itself) |
| \`encoding\` | hex | or \`base64\` |
| \`prefix\` | | text before the signature, such as \`sha256=\` |
| \`part\`, \`list\` | commas | the label of the signature in a list: \`v1=…,v1=…\`, with \`list: semicolons\` \`h1=…;h1=…\`, or with \`list: spaces\` \`t,… v1,… v1,…\`; one signature that fits is enough |
| \`signed\` | {body} | what is signed: text with \`{id}\`, \`{timestamp}\`, \`{method}\`, \`{url}\` and \`{body}\` |
| \`key\` | text | how the secret is written: \`text\`, \`base64\` (also after \`whsec_\`) or \`hex\` |
| \`id\` | | where \`{id}\` is: \`header\` or \`field\`; the delivery id too, unless \`delivery_id\` names another |
| \`timestamp\` | | where the time is, \`header\`, \`field\` or \`part\`; its \`unit\` (\`s\`, \`ms\`, or \`iso\` for RFC 3339) and \`tolerance_seconds\` (300) |

Typeform, for example, is \`signature: { header: Typeform-Signature, encoding: base64, prefix: sha256= }\` with
\`delivery_id: { field: event_id }\`.

Some senders can do no more than repeat a fixed token, in a header or in the address that they are given, such as Prometheus
Alertmanager, whose \`http_config\` has the token as \`authorization: { credentials: … }\` ([a complete
setup](quick-starts.md#alerts-to-telegram)), or a webhook of Jira without a secret:

\`\`\`yaml
routes:
  bearer:
    secret: \${BEARER_TOKEN}
    signature: { header: Authorization, algorithm: token, prefix: 'Bearer ' }
  linked:                               # https://…/webhooks/linked?token=…
    secret: \${LINK_TOKEN}
    signature: { query: token, algorithm: token }
\`\`\`

A sender that has a user and a password, as in an address \`https://user:password@…\`, sends \`Authorization: Basic …\`: write
\`prefix: 'Basic '\`, and the Base64 of \`user:password\` as the secret.

The same works for every sender whose signature these keys cannot describe, such as Mailchimp, Mandrill, Contentful, Adyen, Plaid and
LiveKit: put a token into its address, or into a header where the sender lets you choose one. An address with the right token also answers
200 to GET and HEAD, by which some senders ask for it first.

A token proves nothing about the body, and proxies log addresses: prefer a signature, then a header, and serve such a route by
HTTPS only. The gateway stores and shows no query.

The event type is \`event_type\` or \`type\` of the body, or that of [GitHub's or GitLab's header](webhook-lifecycle.md). Where a sender
has it elsewhere, leave \`events\` out and filter: \`{ field: headers.X-Acme-Event, equals: paid }\`. A sender that signs the body
alone may send [one body twice](webhook-lifecycle.md).

## Several events in one request

\`body\` says what a route makes of an array:

| \`body\` | an array is |
| --- | --- |
| \`object\` (default) | refused with 400 |
| \`each\` | split: each item is an event with its own type, filters, run and delivery id |
| \`raw\` | one event, whose payload is \`{"items": [...]}\`; templates read \`{items.0.id}\` |

A CloudEvent in binary mode, with \`ce-\` headers, is one event; data that is no object is \`{items}\` or \`{data}\`. Its type and id
are percent-decoded, so list the type in \`events\` as in structured mode.

With \`each\`, \`delivery_id: { field: id }\` is read from each item; an item without one has the id of the request and its
number, such as \`9f1c#3\`. All events of an array are accepted in one commit or none is, at most 10,000 of them; a longer array
is answered 413 with both numbers. Items with equal ids are one event. The answer counts them:
\`{"status":"accepted","accepted":2,"duplicate":1,"ignored":0}\`.

## Checked against the providers' libraries

Each row is a spec: how many requests each side signs, with bodies from an empty one to 300 kB, and both sides judge; altered, each
is refused by both. Where only the provider can sign, the spec has a key pair in its place. What a larger library signed or
accepted is recorded, and compared with what the gateway signs and accepts.

| \`source\` | library | it signs | the gateway signs | compared |
| --- | --- | ---: | ---: | --- |
${oracles.map(oracleRow).join('\n')}

A route without \`source\` and \`signature\` takes GitHub's, GitLab's, Standard Webhooks' and the generic schemes:
[receive events from GitHub](receive-github-events.md).
`;
}

function sampleLines(): string {
  const names = sourceNames.map((source) => {
    const events = sampleNames
      .filter((name) => name.startsWith(`${source}:`))
      .map((name) => name.slice(source.length + 1));
    return `- \`${source}\`: ${events.map((event) => `\`${event}\``).join(', ')}`;
  });
  return names.join('\n');
}

/** The spec of the oracles checks that the page has it. */
export function oracleRow(oracle: Oracle): string {
  const { source, library, signs, isRecorded } = oracle;
  const { theirs, ours } = casesOf(oracle);
  return tableRow([
    `\`${source}\``,
    `${library} ${versionOf(oracle)}`,
    signs === 'key' ? `${theirs}, by a key pair` : String(theirs),
    String(ours),
    isRecorded ? 'with its records' : 'with the library',
  ]);
}

const handshakes: Readonly<Record<HandshakeName, string>> = {
  slack: '`url_verification`: its `challenge`; `ssl_check`: 200; `block_suggestion`: no choices',
  woocommerce: '`webhook_id`: 200',
  head: 'HEAD: 200',
  twitch: '`webhook_callback_verification`: its `challenge`; `revocation`: 200',
  dropbox: 'GET `?challenge=`: the same',
  okta: 'GET `X-Okta-Verification-Challenge`: the same',
  monday: '`challenge`: the same',
  asana: '`X-Hook-Secret`: the same; becomes the secret',
  zoom: '`endpoint.url_validation`: its token, signed',
  discord: '`{"type":1}`: the same; `{"type":4}`: no choices',
  'discord-events': '`{"type":0}`: 204',
  meta: 'GET `hub.challenge`, with `verify_token`',
  notion: '`verification_token`: becomes the secret',
  'microsoft-graph': '`?validationToken=`: the same',
  'azure-event-grid': '`SubscriptionValidationEvent`: its code; OPTIONS: leave to send',
  cloudevents: 'OPTIONS: leave to send',
  'aws-sns': '`SubscriptionConfirmation`: its address is visited',
};

function rowOf(name: string, source: Source): string {
  const { title, page, schemes, timed, event, id, handshake, secret, body, answer, answerSeconds } = source;
  const cells = [
    `\`${name}\``,
    `[${title}](${page})`,
    `${schemes.map(schemeText).join(', or ')}${timed === undefined ? '' : `, or with a time of \`${timed}\``}`,
    handshake === undefined ? 'none' : handshakes[handshake],
    [
      ...event.map((one) => [one].flat().map(placeText).join(' + ')),
      ...(source.eventKeyBeside === undefined ? [] : [`the key beside \`${source.eventKeyBeside}\``]),
    ].join(', else '),
    id.map((one) => [one].flat().map(placeText).join(' + ')).join(', else ') ||
      (source.bodyDiffersBy === undefined ? 'none' : 'the digest of the body'),
    body === undefined
      ? 'object'
      : body.items === undefined
        ? `\`${body.shape}\``
        : `\`${body.shape}\` of \`${body.items}\``,
    (answer === undefined ? '202 or 200' : answerText(answer)) +
      (answerSeconds === undefined ? '' : ` within ${answerSeconds} s`),
    secret.is,
  ];
  return tableRow(cells);
}

function answerText({ status, body }: Answer): string {
  const code = status ?? 200;
  if (body === undefined) return `${code}`;
  return body === '' ? `${code} without a body` : `${code} \`${body}\``;
}

/** A bar in a cell would end it, within code too. */
function tableRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function schemeText(scheme: SignatureScheme): string {
  const { at, algorithm, encoding, prefix, signed, timestamp, byPublicKey, signsPayload, alsoAt } = scheme;
  if (algorithm === 'token') return `${placeText(at)}: the secret itself`;
  if (algorithm === 'jwt') return `${placeText(at)} \`${prefix}\`: a token (JWT), RS256, for \`${signed}\``;
  const label = `${labelOf(scheme)}${prefix ?? ''}`;
  const other =
    byPublicKey === undefined ? '' : ` (\`${labelOf({ ...scheme, ...byPublicKey })}\`: ${byPublicKey.algorithm})`;
  const window =
    timestamp?.toleranceSeconds === 300 || timestamp === undefined ? '' : `, within ${timestamp.toleranceSeconds} s`;
  const place = alsoAt === undefined ? placeText(at) : `${placeText(at)} or ${placeText(alsoAt)}`;
  const payload = signsPayload === true ? ' or of the `payload` of a form' : '';
  return `${place}${label === '' ? '' : ` \`${label}\``}: ${algorithm}${other}, ${encoding}, of \`${signed}\`${payload}${window}`;
}

function placeText(place: Place): string {
  if ('header' in place) return `\`${place.header}\``;
  if ('field' in place && place.of !== undefined) return `\`${place.field}\` of each item of \`${place.of}\``;
  return 'field' in place ? `\`${place.field}\` of the body` : `\`?${place.query}=\``;
}
