/** Reads the text of a `config.yaml` as one of a home that has a secret to keep. */

import { filterChecker } from '../../actors/config/load-config.ts';
import { defaultProfile } from '../../machines/base/names.ts';
import { type ConfigRead, readConfig } from '../../machines/config/read-config.ts';

/** What `${SECRET}` stands for. */
export const keptSecret = 'never-to-be-printed';

export function readText(text: string, env: Readonly<Record<string, string>> = {}): ConfigRead {
  return readConfig({
    file: 'config.yaml',
    text,
    profile: defaultProfile,
    profiles: new Set(['default']),
    scope: {
      secrets: new Map([['SECRET', keptSecret]]),
      env,
      userHome: '/home/me',
      pathSeparator: '/',
    },
    checkFilters: filterChecker('/home/of/nobody'),
    isFolder: (path) => path.startsWith('/'),
  });
}
