/**
 * Provides the effects of the device login chart: the client, the code to type elsewhere, the wait for tokens.
 */

import { fromPromise } from 'xstate';
import { chooseDeviceIdentity } from '../../machines/oauth/client-identity.ts';
import {
  type CodeVerdict,
  type DeviceLoginContext,
  deviceLoginMachine,
  type TokenVerdict,
} from '../../machines/oauth/device-login.machine.ts';
import type { StepVerdict } from '../../machines/oauth/login-step.ts';
import {
  clientFor,
  discover,
  endpointOf,
  type LoginPorts,
  loginIsGone,
  stepDone,
  storeCredentials,
  withCure,
} from './login-steps.ts';
import type { LiveLogin } from './logins.ts';

export function wireDeviceLogin(ports: LoginPorts) {
  const { logins } = ports;
  return deviceLoginMachine.provide({
    actors: {
      discover: fromPromise<StepVerdict, DeviceLoginContext>(({ input }) =>
        discover(ports, input, async () => (await import('../../actors/oauth/discover.ts')).discoverForDevice),
      ),
      identifyClient: fromPromise<StepVerdict, DeviceLoginContext>(({ input }) => identifyDevice(logins.get(input.id))),
      requestCode: fromPromise<CodeVerdict, DeviceLoginContext>(({ input }) => requestCode(logins.get(input.id))),
      pollToken: fromPromise<TokenVerdict, DeviceLoginContext>(({ input }) => poll(ports, input)),
      storeCredentials: fromPromise<StepVerdict, DeviceLoginContext>(({ input }) => storeCredentials(ports, input)),
    },
    actions: {
      announceCode: ({ context }) => {
        const row = logins.get(context.id);
        if (row?.device === undefined) return;
        const { userCode, verificationUri, verificationUriComplete } = row.device;
        row.report({
          kind: 'code',
          verification_uri: verificationUri,
          ...(verificationUriComplete === undefined ? {} : { verification_uri_complete: verificationUriComplete }),
          user_code: userCode,
          expires_in_seconds: Math.round(context.patienceMs / 1_000),
        });
      },
    },
  });
}

async function identifyDevice(row: LiveLogin | undefined): Promise<StepVerdict> {
  if (row?.discovery === undefined) return loginIsGone;
  const client = await clientFor(chooseDeviceIdentity(row.settings, row.discovery.metadata), row);
  if (client.kind === 'failed') return withCure(row, client);
  row.client = client.client;
  return stepDone;
}

async function requestCode(row: LiveLogin | undefined): Promise<CodeVerdict> {
  const endpoint = row && endpointOf(row);
  if (row === undefined || endpoint === undefined) return loginIsGone;
  const { requestDeviceCode } = await import('../../actors/oauth/device-authorization.ts');
  const answer = await requestDeviceCode(endpoint, row.discovery?.scope);
  if (answer.kind === 'failed') return withCure(row, answer);
  row.device = answer.code;
  const { intervalMs, expiresInMs } = answer.code;
  return { kind: 'done', intervalMs, patienceMs: Math.min(expiresInMs, row.settings.timeoutMs) };
}

async function poll({ logins, nowMs }: LoginPorts, { id, intervalMs }: DeviceLoginContext): Promise<TokenVerdict> {
  const row = logins.get(id);
  const endpoint = row && endpointOf(row);
  if (row?.device === undefined || endpoint === undefined) return { kind: 'stop', why: 'the login is gone' };
  const { pollForTokens } = await import('../../actors/oauth/device-authorization.ts');
  const answer = await pollForTokens(endpoint, row.device.deviceCode, { intervalMs, nowMs: nowMs() });
  if (answer.kind === 'stop') return withCure(row, answer);
  if (answer.kind === 'wait') return answer;
  row.tokens = answer.record;
  return { kind: 'approved' };
}
