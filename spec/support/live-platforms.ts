/** The live targets of a home, over a real pool and a platform on loopback. */

import type { Test } from 'tap';
import { loadHome } from '../../actors/config/load-config.ts';
import { compile } from '../../machines/base/compile.ts';
import type { PlatformInput } from '../../machines/dispatch/platform-connection.machine.ts';
import type { DeliveryRecord } from '../../machines/webhook/record.ts';
import { wirePlatform } from '../../runtime/dispatch/assemble-targets.ts';
import { createPlatforms, type Platforms, type PlatformsPorts } from '../../runtime/dispatch/platforms.ts';
import { never } from '../conformance/target.ts';
import { makeHome } from './home.ts';
import { startPlatform } from './platforms/fake-platform.ts';
import { slackApi } from './platforms/slack.ts';
import { startPool } from './pools.ts';
import { plainDelivery } from './records.ts';

/** A delivery to Slack of an event with this key. */
export function slackRecord(eventKey: string, more: Partial<DeliveryRecord> = {}): DeliveryRecord {
  return { ...plainDelivery, eventKey, deliveryId: eventKey, extra: { chat_id: slackApi.chat ?? '' }, ...more };
}

export async function openPlatforms(t: Test, slack: object = {}) {
  const server = await startPlatform(t, slackApi);
  const home = makeHome(t);
  let spelled = 'slack';
  const configure = (entry: object, more: object = {}): void => {
    const base = { enabled: true, api_base: server.base, timeout_seconds: 600, ...slackApi.options, ...entry };
    home.write('config.yaml', JSON.stringify({ platforms: { [spelled]: base, ...more } }));
    loaded = loadHome({ home: home.path, env: {} });
  };
  let loaded = loadHome({ home: home.path, env: {} });
  configure(slack);
  /** The same entry under another name of its target. */
  const respell = (name: string): void => {
    spelled = name;
    configure(slack);
  };
  /** The wall clock goes back while time passes: no wait may ask it. */
  const clock = { ms: 1_000_000 };
  const log = { log: () => {}, warnOnce: () => {} };
  /** What waits for a time. */
  const woken: (() => void)[] = [];
  const pool = startPool<PlatformInput>(t, compile(wirePlatform({ platforms: () => platforms, log })), {
    onDone: (key) => platforms.ended(key),
  });
  const ports: PlatformsPorts = {
    home: () => loaded,
    runOf: async () => undefined,
    pool,
    targetPorts: { now: () => clock.ms, wait: () => Promise.resolve(), random: () => 1 },
    wake: (callback) => {
      woken.push(callback);
      return () => {};
    },
    nowMs: () => 2_000_000 - clock.ms,
    steadyMs: () => clock.ms,
    random: () => 0,
    log,
  };
  const platforms: Platforms = createPlatforms(ports);
  await platforms.reconcile();
  const send = (more: Partial<DeliveryRecord> = {}) => platforms.send(slackRecord('d', more), never);
  /** The deliveries that got a slot, by their names. */
  const granted: string[] = [];
  const ask = (name: string, more: Partial<DeliveryRecord> = {}) =>
    platforms.ask(slackRecord(name, more), () => void granted.push(name));
  const pass = (ms: number): void => {
    clock.ms += ms;
    for (const wake of woken.splice(0)) wake();
  };
  const checks = () => server.requests.filter(({ path }) => path === '/auth.test').length;
  const state = (key: string) => pool().get(key)?.getSnapshot().value;
  return { server, ports, platforms, configure, respell, clock, pass, send, ask, granted, checks, state, pool, woken };
}
