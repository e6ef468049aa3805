/** One line of text to use elsewhere, with a button that copies it. */

import type { JSX } from 'preact';
import { useCopy } from '../data/copy-text.ts';
import { Scrolled } from './basics.tsx';
import { Icon } from './icons.tsx';

export function CopyBox({ label, text }: { readonly label: string; readonly text: string }): JSX.Element {
  const [word, copy] = useCopy(text);
  return (
    <div class="panel raised">
      <header>
        <span class="small muted">{label}</span>
        <button type="button" class="btn quiet push" onClick={copy}>
          <Icon name="copy" />
          {word}
          <span class="unseen"> {label}</span>
        </button>
      </header>
      <Scrolled label={label} class="codebox">
        <pre class="code">{text}</pre>
      </Scrolled>
    </div>
  );
}
