/**
 * An authorization server whose every answer can be told: for what a good one never does. Untold, it logs everybody in:
 * metadata, registration, codes with PKCE, refresh tokens that rotate, device codes that wait for `approve`.
 */

import { createHash } from 'node:crypto';
import type { Test } from 'tap';
import type { LentTime } from '../lent-time.ts';
import { type ListeningServer, listen, type SeenByServer } from './http.ts';

export type Answer =
  | {
      readonly kind?: 'json';
      readonly status?: number;
      readonly json: unknown;
      readonly headers?: Record<string, string>;
    }
  | { readonly kind: 'text'; readonly status?: number; readonly text: string; readonly type?: string }
  | { readonly kind: 'redirect'; readonly to: string; readonly status?: number }
  /** Never answers. */
  | { readonly kind: 'hang' }
  | { readonly kind: 'reset' }
  /** Breaks off in the middle of its body. */
  | { readonly kind: 'part' };

export type Handler = (seen: SeenByServer) => Answer | Promise<Answer>;

export interface ScriptedServer extends ListeningServer {
  readonly issuer: string;
  /** Reports the answers at a path from now on; undefined: the usual ones again. */
  on(path: string, handler: Handler | Answer | undefined): void;
  /** The usual answer, to be changed by a handler. */
  usual(seen: SeenByServer): Answer;
  /** The metadata, with these changes; a value of undefined takes the key away. */
  metadata(changes?: Readonly<Record<string, unknown>>): Record<string, unknown>;
  /** Whether an access token is one of its own and not taken back. */
  accepts(token: string): boolean;
  /** Takes back every access token that is out. */
  expireTokens(): void;
  /** Takes back every refresh token that is out. */
  revokeGrants(): void;
  /** Says yes to every device code that is out. */
  approve(): void;
  /** Every code, token, secret and verifier that must never be seen anywhere. */
  readonly secrets: readonly string[];
  /** Lives of tokens in seconds; undefined: not said. */
  expiresIn: number | string | null | undefined;
}

export const paths = {
  metadata: '/.well-known/oauth-authorization-server',
  openid: '/.well-known/openid-configuration',
  register: '/register',
  authorize: '/authorize',
  token: '/token',
  device: '/device_authorization',
} as const;

export const html: Answer = { kind: 'text', text: '<!doctype html><title>Sign in</title>', type: 'text/html' };

/** Never answers, and whoever asks has waited for long once the request is there. */
export function silence(time: LentTime): Handler {
  return () => {
    time.pass(60_000);
    return { kind: 'hang' };
  };
}

export function oauthError(error: string, status = 400, description?: string): Answer {
  return { status, json: { error, ...(description === undefined ? {} : { error_description: description }) } };
}

export async function startScriptedServer(t: Pick<Test, 'teardown'>): Promise<ScriptedServer> {
  const told = new Map<string, Handler>();
  const codes = new Map<
    string,
    { readonly challenge: string; readonly redirectUri: string; readonly clientId: string }
  >();
  const access = new Set<string>();
  const refresh = new Set<string>();
  const devices = new Map<string, 'pending' | 'approved'>();
  const secrets: string[] = [];
  let count = 0;
  let expiresIn: number | string | null | undefined = 3_600;
  let origin = '';

  const fresh = (kind: string): string => {
    count += 1;
    const value = `${kind}-${count}-${createHash('sha256').update(`${origin}${kind}${count}`).digest('base64url')}`;
    if (kind !== 'client') secrets.push(value);
    return value;
  };
  const tokens = (): Answer => {
    const [at, rt] = [fresh('access'), fresh('refresh')];
    access.add(at);
    refresh.add(rt);
    return {
      json: {
        access_token: at,
        refresh_token: rt,
        token_type: 'Bearer',
        scope: 'mcp:tools',
        ...(expiresIn === undefined ? {} : { expires_in: expiresIn }),
      },
    };
  };

  const metadata = (changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => ({
    issuer: origin,
    authorization_endpoint: `${origin}${paths.authorize}`,
    token_endpoint: `${origin}${paths.token}`,
    registration_endpoint: `${origin}${paths.register}`,
    device_authorization_endpoint: `${origin}${paths.device}`,
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
    authorization_response_iss_parameter_supported: true,
    scopes_supported: ['mcp:tools', 'offline_access'],
    ...changes,
  });

  const register = (seen: SeenByServer): Answer => {
    const asked = JSON.parse(seen.text) as Record<string, unknown>;
    const secret = asked.token_endpoint_auth_method === 'none' ? {} : { client_secret: fresh('secret') };
    return { status: 201, json: { ...asked, client_id: fresh('client'), ...secret } };
  };
  const authorize = ({ query }: SeenByServer): Answer => {
    const code = fresh('code');
    const redirectUri = query.get('redirect_uri') ?? '';
    codes.set(code, {
      challenge: query.get('code_challenge') ?? '',
      redirectUri,
      clientId: query.get('client_id') ?? '',
    });
    return { kind: 'redirect', to: redirectTo(redirectUri, { code, state: query.get('state') ?? '', iss: origin }) };
  };
  const token = ({ form }: SeenByServer): Answer => {
    switch (form.get('grant_type')) {
      case 'authorization_code': {
        const code = form.get('code') ?? '';
        const standing = codes.get(code);
        codes.delete(code);
        const verifier = form.get('code_verifier') ?? '';
        secrets.push(verifier);
        const proves = createHash('sha256').update(verifier).digest('base64url') === standing?.challenge;
        if (!proves || standing?.redirectUri !== form.get('redirect_uri')) return oauthError('invalid_grant');
        return tokens();
      }
      case 'refresh_token':
        return refresh.delete(form.get('refresh_token') ?? '') ? tokens() : oauthError('invalid_grant', 400, 'spent');
      case 'urn:ietf:params:oauth:grant-type:device_code': {
        const standing = devices.get(form.get('device_code') ?? '');
        if (standing === undefined) return oauthError('expired_token');
        return standing === 'approved' ? tokens() : oauthError('authorization_pending');
      }
      default:
        return oauthError('unsupported_grant_type');
    }
  };
  const device = (): Answer => {
    const code = fresh('device');
    devices.set(code, 'pending');
    return {
      json: {
        device_code: code,
        user_code: `WDJB-${String(1_000 + count)}`,
        verification_uri: `${origin}/activate`,
        verification_uri_complete: `${origin}/activate?user_code=WDJB-${1_000 + count}`,
        expires_in: 600,
        interval: 1,
      },
    };
  };
  const usual = (seen: SeenByServer): Answer => {
    switch (seen.path) {
      case paths.metadata:
        return { json: metadata() };
      case paths.register:
        return register(seen);
      case paths.authorize:
        return authorize(seen);
      case paths.token:
        return token(seen);
      case paths.device:
        return device();
      default:
        return { kind: 'text', status: 404, text: 'Not Found' };
    }
  };

  const server = await listen(t, (at) => {
    origin = at;
    return async (seen, _, res) => {
      const answer = await (told.get(seen.path) ?? usual)(seen);
      switch (answer.kind) {
        case 'hang':
          return;
        case 'reset':
          res.socket?.resetAndDestroy();
          return;
        case 'part':
          res.writeHead(200, { 'content-type': 'application/json' });
          res.write('{', () => res.destroy());
          return;
        case 'redirect':
          res.writeHead(answer.status ?? 302, { location: answer.to }).end();
          return;
        case 'text':
          res.writeHead(answer.status ?? 200, { 'content-type': answer.type ?? 'text/plain' }).end(answer.text);
          return;
        default:
          res
            .writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers })
            .end(JSON.stringify(answer.json));
      }
    };
  });

  return {
    ...server,
    issuer: origin,
    on(path, handler) {
      if (handler === undefined) told.delete(path);
      else told.set(path, typeof handler === 'function' ? handler : () => handler);
    },
    usual,
    metadata,
    accepts: (value) => access.has(value),
    expireTokens: () => access.clear(),
    revokeGrants: () => refresh.clear(),
    approve() {
      for (const code of devices.keys()) devices.set(code, 'approved');
    },
    secrets,
    get expiresIn() {
      return expiresIn;
    },
    set expiresIn(value) {
      expiresIn = value;
    },
  };
}

/** A redirect URI with these parameters. */
export function redirectTo(uri: string, params: Readonly<Record<string, string>>): string {
  const url = new URL(uri);
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  return url.href;
}
