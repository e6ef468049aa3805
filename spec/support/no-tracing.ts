/** For assemblies without traces. */

import type { Tracing } from '../../runtime/observe/tracing.ts';

export const noTracing: Tracing = {
  isOn: () => false,
  begin: () => undefined,
  apply: async () => {},
  close: async () => {},
};
