/** One line of text to use elsewhere, with a button that copies it. */

import type { JSX } from 'preact';
import { useCopy } from '../data/copy-text.ts';
import { Scrolled } from './basics.tsx';
import { Button } from './button.tsx';

export function CopyBox({ label, text }: { readonly label: string; readonly text: string }): JSX.Element {
  const [word, copy] = useCopy(text);
  return (
    <div class="panel raised">
      <header>
        <span class="small muted">{label}</span>
        <Button icon="copy" class="quiet push" onClick={copy}>
          {word}
          <span class="unseen"> {label}</span>
        </Button>
      </header>
      <Scrolled label={label} class="codebox">
        <pre class="code">{text}</pre>
      </Scrolled>
    </div>
  );
}
