/** The input and the output of an event: payload, headers and prompt beside response and HTTP answer. */

import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { indentedJson, indentedStart } from '../../../../machines/base/indented-json.ts';
import type { OpenedEvent } from '../../../control/contract/event-wire.ts';
import { announce } from '../data/announce.ts';
import { copyText } from '../data/copy-text.ts';
import { call, wordsOf } from '../data/rpc.ts';
import { Scrolled, withCode } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { Segmented } from '../parts/choice.tsx';
import { Code, piecesOf } from '../parts/code.tsx';
import { Panel } from '../parts/panel.tsx';

export function EventPapers({ event }: { readonly event: OpenedEvent }): JSX.Element {
  return (
    <div class="cols2 papers">
      <PayloadPanel event={event} />
      <ResponsePanel event={event} />
    </div>
  );
}

type PayloadPart = 'body' | 'headers' | 'prompt';

function PayloadPanel({ event }: { readonly event: OpenedEvent }): JSX.Element {
  const [part, setPart] = useState<PayloadPart>('body');
  const [whole, setWhole] = useState<string>();
  const { payload, headers, prompt } = event;
  const body = whole ?? payload.text;
  const isWhole = payload.whole || whole !== undefined;
  // An opened event is read again with each step of the gateway, and a payload may be megabytes.
  const indented = useMemo(
    // Not longer than the beginning was: one button shows the rest.
    () => (isWhole ? indentedJson(body) : indentedStart(body).slice(0, body.length)),
    [isWhole, body],
  );
  const text =
    part === 'body'
      ? indented
      : part === 'prompt'
        ? (prompt ?? '')
        : Object.entries(headers)
            .map(([name, value]) => `${name}: ${value}`)
            .join('\n');

  const pieces = useMemo(() => (whole === undefined ? [] : piecesOf(indented)), [whole, indented]);

  async function readAll(): Promise<string | undefined> {
    try {
      return (await call('events.open', { id: event.key, whole: true })).payload.text;
    } catch (error) {
      announce(`The payload could not be loaded: ${wordsOf(error).why}`, true);
      return undefined;
    }
  }

  async function copy(): Promise<void> {
    const all = part !== 'body' || isWhole ? text : await readAll();
    if (all !== undefined) await copyText(part === 'body' ? indentedJson(all) : all);
  }

  return (
    <Panel
      title="Payload"
      beside={
        <Segmented
          label="Part of the payload"
          value={part}
          options={[
            ['body', 'Body'],
            ['headers', 'Headers'],
            ...(prompt === undefined ? [] : [['prompt', 'Prompt'] as const]),
          ]}
          onChoose={setPart}
        />
      }
      right={
        <>
          <span class="muted small num size">{bytesWords(payload.bytes)}</span>
          <CopyButton label="Copy payload" disabled={text === ''} onCopy={copy} />
        </>
      }
    >
      {text === '' ? (
        <p class="pad muted">{part === 'body' && event.status !== 'refused' ? 'The body is empty.' : noText[part]}</p>
      ) : (
        <div class="paper">
          {whole === undefined || part !== 'body' ? (
            <Code key={part} text={text} label={names[part]} json={part === 'body'} paper />
          ) : (
            <Scrolled label={names[part]} class="codebox">
              <pre class="code">{pieces}</pre>
            </Scrolled>
          )}
          {part === 'body' && !isWhole ? (
            <div class="pad btns">
              <Button onClick={() => void readAll().then(setWhole)}>Show all {bytesWords(payload.bytes)}</Button>
            </div>
          ) : null}
        </div>
      )}
    </Panel>
  );
}

const names: Readonly<Record<PayloadPart, string>> = { body: 'Body', headers: 'Headers', prompt: 'Prompt' };
const noText: Readonly<Record<PayloadPart, string>> = {
  body: 'A refused request leaves no body.',
  headers: 'No headers were kept.',
  prompt: 'There is no prompt.',
};

function ResponsePanel({ event }: { readonly event: OpenedEvent }): JSX.Element {
  const { response, answer, ended } = event;
  const [part, setPart] = useState<'agent' | 'http'>();
  const shown = part ?? (response === undefined && ended !== undefined ? 'http' : 'agent');
  const text = shown === 'agent' ? (response ?? '') : (answer?.body ?? '');
  // The status of a refused question of the provider, for one, is not stored.
  const noAnswer = ended === undefined ? 'The sender waits.' : 'The answer was not kept.';
  return (
    <Panel
      title="Response"
      beside={
        <Segmented
          label="Part of the response"
          value={shown}
          options={[
            ['agent', 'Agent'],
            ['http', 'HTTP answer'],
          ]}
          onChoose={setPart}
        />
      }
      right={
        <>
          <span class="muted small num size">
            {shown === 'http' ? answer?.status : text === '' ? null : `${text.length.toLocaleString('en')} chars`}
          </span>
          <CopyButton label="Copy response" disabled={text === ''} onCopy={() => copyText(text)} />
        </>
      }
    >
      {shown === 'agent' ? (
        text === '' ? (
          <p class="pad muted">{ended === undefined ? 'No response yet.' : 'No agent responded.'}</p>
        ) : (
          <Scrolled label="Response of the agent" class="paper prose">
            {text.split(/\n{2,}/).map((paragraph, at) => (
              <p key={at}>{proseOf(paragraph)}</p>
            ))}
          </Scrolled>
        )
      ) : (
        <div class="paper">
          <Code
            text={answer === undefined ? noAnswer : `HTTP ${answer.status}\n${indentedJson(text)}`}
            label="HTTP answer"
            paper
          />
        </div>
      )}
    </Panel>
  );
}

/** Formats bold and code of Markdown; anything else stays as it is. */
function proseOf(paragraph: string): JSX.Element[] {
  return paragraph
    .split(/\*\*(.+?)\*\*/s)
    .map((part, at) => (at % 2 === 1 ? <b key={at}>{part}</b> : <span key={at}>{withCode(part)}</span>));
}

interface CopyButtonProps {
  readonly label: string;
  readonly disabled: boolean;
  readonly onCopy: () => Promise<void>;
}

function CopyButton({ label, disabled, onCopy }: CopyButtonProps): JSX.Element {
  return (
    <Button
      icon="copy"
      class="quiet icon-only"
      aria-label={label}
      title={label}
      disabled={disabled}
      onClick={() => void onCopy()}
    />
  );
}

function bytesWords(bytes: number): string {
  if (bytes < 1_024) return `${bytes} bytes`;
  const kilobytes = bytes / 1_024;
  return kilobytes < 1_024 ? `${kilobytes.toFixed(1)} KB` : `${(kilobytes / 1_024).toFixed(1)} MB`;
}
