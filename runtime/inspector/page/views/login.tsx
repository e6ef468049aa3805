/**
 * A login by browser, started from the page: opens the authorization server in another tab, and takes the redirect's
 * address by paste if the browser cannot reach the callback. Closing the dialog ends the login.
 * @see OAU-8 and INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ServerRow } from '../../../control/contract/servers.ts';
import { announce } from '../data/announce.ts';
import { call, stream, wordsOf } from '../data/rpc.ts';
import { Refused } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { Field } from '../parts/choice.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Form } from '../parts/form.tsx';

export function LoginDialog({ row, onClose }: { readonly row: ServerRow; readonly onClose: () => void }): JSX.Element {
  const [address, setAddress] = useState('');
  const [pasted, setPasted] = useState('');
  const [why, setWhy] = useState('');
  const { name: server, profile } = row;

  useEffect(() => {
    const ended = new AbortController();
    stream(
      'mcp.login',
      { server, profile, flow: 'browser' },
      {
        signal: ended.signal,
        heard: (_, progress) => {
          // Only a web address becomes a link, so that a server cannot inject a script URL.
          if (progress.kind === 'url' && /^https?:\/\//.test(String(progress.url))) setAddress(String(progress.url));
        },
      },
    ).then(
      () => {
        announce(`Logged in to ${server}.`);
        onClose();
      },
      (error: unknown) => {
        if (!ended.signal.aborted) setWhy(wordsOf(error).why);
      },
    );
    return () => ended.abort();
  }, [server, profile]);

  async function paste(): Promise<void> {
    try {
      await call('mcp.loginPaste', { server, profile, url: pasted.trim() });
      setWhy('');
    } catch (error) {
      setWhy(wordsOf(error).why);
    }
  }

  return (
    <Dialog title={`Log in to ${server}`} onClose={onClose}>
      {address === '' ? (
        <p role="status">{why === '' ? 'Asking the server where to log in…' : ''}</p>
      ) : (
        <>
          <p>
            <a class="btn primary" href={address} target="_blank" rel="noreferrer noopener">
              Open the login page
            </a>
          </p>
          <p class="muted wrap">{new URL(address).host} asks you there. This dialog closes when you are logged in.</p>
          <Form class="stack" onSubmit={paste}>
            <Field
              label="The browser is on another computer? Paste the address that it ended at"
              value={pasted}
              onInput={setPasted}
            />
            <div class="btns">
              <Button onClick={onClose}>Cancel</Button>
              <Button type="submit" disabled={pasted.trim() === ''}>
                Use it
              </Button>
            </div>
          </Form>
        </>
      )}
      {why === '' ? null : <Refused why={why} />}
    </Dialog>
  );
}
