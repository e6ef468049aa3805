/** A home as the doctor's checks see it. */

import type { Test } from 'tap';
import { loadHome } from '../../actors/config/load-config.ts';
import type { Json } from '../../machines/base/json.ts';
import { homePaths } from '../../machines/config/profile.ts';
import type { Examined, Finding, Trouble } from '../../runtime/doctor/finding.ts';
import { makeHome } from './home.ts';

/** Makes a home with the given files; its private paths are as a gateway would make them. */
export function examined(
  t: Test,
  files: Readonly<Record<string, string>> = {},
  change: Partial<Examined> = {},
): Examined {
  const { path } = makeHome(t, files);
  const env = { PATH: process.env.PATH };
  const home = loadHome({ home: path, env });
  return {
    home,
    diagnostics: home.diagnostics,
    paths: homePaths(path),
    env,
    version: '1.0.0',
    offline: false,
    gateway: undefined,
    ...change,
  };
}

/** A gateway that answers from a table. */
export function answering(answers: Readonly<Record<string, Json>>): NonNullable<Examined['gateway']> {
  const status = { pid: 1, journal: 'ready', webhook: { enabled: true, url: 'http://127.0.0.1:1' }, inspector: {} };
  return {
    status: { ...status, ...(answers.status as object) } as never,
    ask: (method) => Promise.resolve(answers[method] as never),
  };
}

export function troubles(findings: readonly Finding[]): readonly Trouble[] {
  return findings.filter((one): one is Trouble => one.level !== 'good');
}

export function codes(findings: readonly Finding[]): string[] {
  return troubles(findings).map(({ code, level }) => `${level} ${code}`);
}
