/**
 * The settings of a profile as its files define them. Secrets with known values are masked too.
 * @see CLI-6 in docs/specification.md
 */

import { type HomeSource, loadHome } from '../../actors/config/load-config.ts';
import { readText } from '../../actors/files.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { defaultProfile, type ProfileName } from '../../machines/base/names.ts';
import { parseDocument } from '../../machines/config/document.ts';
import { parseEnvFile } from '../../machines/config/env-file.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import { configSchema } from '../../machines/config/schema.ts';
import { shownSettings } from '../../machines/config/shown-settings.ts';
import { learnSecrets } from '../config/loaded-home.ts';
import { createRedactor } from '../observe/redact.ts';
import type { Result } from './contract.ts';

export async function showConfig(source: HomeSource, profile: ProfileName): Promise<Result<'config.show'>> {
  const { home, env } = source;
  const paths = profilePaths(home, profile);
  const document = parseDocument((await readText(paths.config)) ?? '');
  const ofFile = parseEnvFile((await readText(paths.env)) ?? '');
  const redactor = createRedactor();
  learnSecrets(loadHome(source), redactor);
  const rows = shownSettings(document, configSchema() as JsonObject, (name) =>
    ofFile.has(name) ? '.env' : env[name] === undefined ? 'unset' : 'environment',
  );
  return {
    file: configFile(profile),
    settings: rows.map((row) => (typeof row.value === 'string' ? { ...row, value: redactor.text(row.value) } : row)),
  };
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
