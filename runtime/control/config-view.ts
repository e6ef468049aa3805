/**
 * The settings of a profile as its files define them. Secrets with known values are masked too.
 * @see CLI-6 in docs/specification.md
 */

import { existsSync } from 'node:fs';
import { type HomeSource, loadHome } from '../../actors/config/load-config.ts';
import { readText } from '../../actors/files.ts';
import { isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import { defaultProfile, type ProfileName } from '../../machines/base/names.ts';
import { parseConfig } from '../../machines/config/edit.ts';
import { parseEnvFile } from '../../machines/config/env-file.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import { runVariables } from '../../machines/config/program-variables.ts';
import { configSchema } from '../../machines/config/schema.ts';
import { shownSettings, type VariableSource } from '../../machines/config/shown-settings.ts';
import { isPlace } from '../../machines/mcp/foreign-references.ts';
import { learnSecrets } from '../config/loaded-home.ts';
import { createRedactor } from '../observe/redact.ts';
import type { Result } from './contract.ts';
import { notServed } from './home-view.ts';

export async function showConfig(source: HomeSource, profile: ProfileName): Promise<Result<'config.show'>> {
  const { home, env } = source;
  const paths = profilePaths(home, profile);
  // The defaults of a profile that does not exist would be shown as its settings.
  if (profile !== defaultProfile && !existsSync(paths.home)) throw notServed(profile);
  const text = (await readText(paths.config)) ?? '';
  const document = parseConfig(text);
  const ofFile = parseEnvFile((await readText(paths.env)) ?? '');
  const redactor = createRedactor();
  // As a draft, a profile is read whether it is served or not.
  learnSecrets(loadHome(withDraft(source, profile, text)), redactor);
  const rows = shownSettings(document, configSchema() as JsonObject, (name) => setIn(name, ofFile, env));
  return {
    file: configFile(profile),
    settings: rows.map(({ variables = [], ...row }) => {
      const named = variables.filter(({ name }) => !isGiven(name));
      return {
        ...row,
        ...(named.length === 0 ? {} : { variables: named }),
        value: eachText(row.value, redactor.text),
      };
    }),
  };
}

/** Where a variable is set. */
export function setIn(name: string, ofFile: Pick<ReadonlySet<string>, 'has'>, env: HomeSource['env']): VariableSource {
  return ofFile.has(name) ? '.env' : env[name] === undefined ? 'unset' : 'environment';
}

/** Places and the variables of a run are set by the gateway. */
export function isGiven(variable: string): boolean {
  return isPlace(variable) || runVariables.some((one) => one === variable);
}

/** A secret-looking name must not mask a reference, so each text is redacted alone. */
export function eachText(value: Json, change: (text: string) => string): Json {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((one) => eachText(one, change));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, held]) => [key, eachText(held, change)]));
}

/** The name of a profile's file in findings. */
export function configFile(profile: ProfileName): string {
  return profile === defaultProfile ? 'config.yaml' : `profiles/${profile}/config.yaml`;
}

/** The home as it would be with this text as a profile's config.yaml. */
export function withDraft(source: HomeSource, profile: ProfileName, text: unknown) {
  if (typeof text !== 'string') return source;
  return { ...source, drafts: new Map([[profilePaths(source.home, profile).config, text]]) };
}
