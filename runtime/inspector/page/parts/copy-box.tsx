/** One line of text to use elsewhere, with a button that copies it. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { copyText } from '../data/copy-text.ts';
import { Scrolled } from './basics.tsx';
import { Icon } from './icons.tsx';

const shownMs = 1_500;

export function CopyBox({ label, text }: { readonly label: string; readonly text: string }): JSX.Element {
  const [copied, setCopied] = useState(false);
  const copy = (): void => {
    void copyText(text, () => {
      setCopied(true);
      setTimeout(() => setCopied(false), shownMs);
    });
  };
  return (
    <div class="panel raised">
      <header>
        <span class="small muted">{label}</span>
        <button type="button" class="btn quiet push" onClick={copy}>
          <Icon name="copy" />
          {copied ? 'Copied' : 'Copy'}
          <span class="unseen"> {label}</span>
        </button>
      </header>
      <Scrolled label={label} class="codebox">
        <pre class="code">{text}</pre>
      </Scrolled>
    </div>
  );
}
