/**
 * Builds the inspector's page into `dist/runtime/inspector/page`: one HTML file, one style sheet, one script, and a file
 * for each machine with its chart laid out. All but the document are kept compressed, as they are served.
 * @see INS-2 in docs/specification.md
 */

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { constants, gzipSync } from 'node:zlib';
import { build, type Plugin } from 'vite';
import { chartNames, chartOf } from '../../runtime/inspector/charts.ts';
import { notePackages, notesPackages, pagePackages } from './bundled-packages.ts';
import { layOut } from './lay-out-charts.ts';

const source = 'runtime/inspector/page';
const target = 'dist/runtime/inspector/page';

const packages = new Set<string>();
/** Outside of what is packed. */
const charts = `${process.cwd()}/dist/spec/house/charts`;
const chartsModule = 'virtual:charts';

rmSync(charts, { recursive: true, force: true });
mkdirSync(charts, { recursive: true });
for (const name of chartNames) {
  const chart = await chartOf(name);
  if (chart !== undefined) writeFileSync(join(charts, `${name}.json`), JSON.stringify(await layOut(chart)));
}

/** Gives the page the addresses of the charts, whose names carry their digests. */
function namesCharts(): Plugin {
  return {
    name: 'names-charts',
    resolveId: (id) => (id === chartsModule ? `\0${chartsModule}` : undefined),
    load(id) {
      if (id !== `\0${chartsModule}`) return undefined;
      const imports = chartNames.map(
        (name, at) => `import url${at} from ${JSON.stringify(`${charts}/${name}.json?url`)};`,
      );
      const urls = chartNames.map((name, at) => `${JSON.stringify(name)}: url${at}`);
      return `${imports.join('\n')}\nexport const chartUrls = { ${urls.join(', ')} };`;
    },
  };
}

rmSync(`${target}/assets`, { recursive: true, force: true });
await build({
  configFile: false,
  root: source,
  // The page is served from the listener's root; relative addresses let it lie anywhere.
  base: './',
  logLevel: 'warn',
  publicDir: false,
  plugins: [namesCharts(), notesPackages(source, packages)],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: `${process.cwd()}/${target}`,
    // Compiled rules of the page, which the specs import, lie in the same folder.
    emptyOutDir: false,
    target: 'es2022',
    // The first with `light-dark()`: a style sheet for older ones would hold each colour twice.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // A script or style in the document itself is forbidden by the page's policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
notePackages(pagePackages, packages);

const assets = `${target}/assets`;
for (const name of readdirSync(assets)) {
  const file = join(assets, name);
  writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: constants.Z_BEST_COMPRESSION }));
  rmSync(file);
}
