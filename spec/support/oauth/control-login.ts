/** A login by the control socket, as the page or another program begins one: no process of its own. */

import type { Test } from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { TestHome } from '../home.ts';
import { controlOf } from '../mcp/gateway.ts';

export interface ControlLogin {
  /** The progress that came first: a URL or a code. */
  readonly progress: Promise<JsonObject>;
  /** How it ended: `loggedIn`, or the refusal in words with its code. */
  readonly ended: Promise<string>;
  cancel(): void;
}

export async function loginByControl(
  t: Test,
  home: TestHome,
  server: string,
  more: JsonObject = {},
  onProgress: (progress: JsonObject) => void = () => {},
): Promise<ControlLogin> {
  const control = await controlOf(t, home);
  let first: (progress: JsonObject) => void = () => {};
  const progress = new Promise<JsonObject>((resolve) => {
    first = resolve;
  });
  control.onNotification((_, params) => {
    first(params);
    onProgress(params);
  });
  const ended = control.call('mcp.login', { server, ...more }).then(
    () => 'loggedIn',
    (error: Error & { code?: string }) => `${error.message} [${error.code}]`,
  );
  return { progress, ended, cancel: () => control.close() };
}
