/**
 * Runs `agent gateway run` for one home after another, so that its modules are loaded once. A daemon that ends while its
 * spec uses it ends the process too, as ever; only one that its spec is done with makes room for the next.
 */

import { writeSync } from 'node:fs';

/** What a spec asks of it: a daemon, or the end of the one that runs. */
export type HostOrder =
  | { readonly entry: string; readonly env: Readonly<Record<string, string | undefined>> }
  | { readonly done: true };

/** The message of the line that comes after the last one of a daemon that has made room. */
export const hostIsFree = 'spec: the host is free';

let isDone = false;
let started = 0;

async function run(entry: string, env: Readonly<Record<string, string | undefined>>): Promise<void> {
  for (const name of Object.keys(process.env)) if (!Object.hasOwn(env, name)) delete process.env[name];
  Object.assign(process.env, env);
  process.argv.splice(1, Number.POSITIVE_INFINITY, entry, 'gateway', 'run');
  isDone = false;
  // The daemon ends when its own work does.
  process.channel?.unref();
  started += 1;
  await import(`${entry}?${started}`);
  if (!isDone) return;
  process.removeAllListeners('SIGINT');
  process.exitCode = undefined;
  process.channel?.ref();
  // By the same way as the log, so that it comes last.
  writeSync(1, `${JSON.stringify({ level: 'info', message: hostIsFree })}\n`);
}

process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.on('message', (order: HostOrder) => {
  if ('entry' in order) void run(order.entry, order.env);
  else {
    isDone = true;
    process.emit('SIGTERM', 'SIGTERM');
  }
});
