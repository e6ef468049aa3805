/** A form in which a configured user gets a session by name and password. @see SEC-1 in docs/specification.md */

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { signIn } from '../data/session.ts';
import { Button } from './button.tsx';
import { Field } from './choice.tsx';

interface SignInProps {
  /** The name of a person who signs in again. */
  readonly name?: string;
  readonly onDone?: () => void;
}

export function SignIn({ name: known = '', onDone }: SignInProps): JSX.Element {
  const [name, setName] = useState(known);
  const [password, setPassword] = useState('');
  const [state, setState] = useState<
    { readonly kind: 'idle' | 'busy' | 'done' } | { readonly kind: 'refused'; readonly why: string }
  >({ kind: 'idle' });
  const form = useRef<HTMLFormElement>(null);
  const isRefused = state.kind === 'refused';
  // Beside something else, only a refusal takes the focus; a button that was pressed has lost it.
  useEffect(() => {
    if (known !== '' && !isRefused) return;
    form.current?.querySelector<HTMLElement>(name === '' ? 'input' : '[type=password]')?.focus();
  }, [isRefused]);
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    setState({ kind: 'busy' });
    const why = await signIn(name, password).catch(() => 'the daemon does not answer');
    setPassword('');
    setState(why === undefined ? { kind: 'done' } : { kind: 'refused', why });
    if (why === undefined) onDone?.();
  };
  if (state.kind === 'done') return <p role="status">Signed in.</p>;
  return (
    <form ref={form} class="fields" onSubmit={(event) => void send(event)}>
      <Field label="Name" autocomplete="username" value={name} readOnly={known !== ''} onInput={setName} />
      <Field
        label="Password"
        secret
        autocomplete="current-password"
        value={password}
        onInput={setPassword}
        {...(state.kind === 'refused' ? { fault: `Not signed in: ${state.why}.` } : {})}
      />
      <Button type="submit" class="primary tall" disabled={name === '' || password === '' || state.kind === 'busy'}>
        Sign in
      </Button>
    </form>
  );
}
