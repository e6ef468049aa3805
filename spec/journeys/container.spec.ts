/** What the Containerfile makes, and that it runs. */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { buildImage, runIn, withoutChroot } from '../support/containerfile.ts';

const file = 'docs/deploy/Containerfile';

t.test(
  'PKG-1 · the image has the package alone, and runs as a user that owns only its home',
  { skip: withoutChroot },
  (t) => {
    const image = buildImage(t, file, '.');
    const installed = join(image.root, 'opt/agent');
    const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
      packages: Record<string, { dev?: true }>;
    };
    const entries = readdirSync(image.root, { recursive: true, encoding: 'utf8' });
    const folders = entries
      .filter((path) => path.includes('/node_modules/'))
      .map((path) => path.replace('opt/agent/', ''));

    t.same(
      folders.filter((path) => packages[path]?.dev === true),
      [],
      'nothing that only builds or tests it',
    );
    t.ok(
      folders.some((path) => path === 'node_modules/lmdb'),
      'the packages are there',
    );
    t.notOk(entries.includes('src'), 'no sources');
    t.ok(sizeOf(installed) < 60e6, `${sizeOf(installed)} bytes`);
    t.same(
      entries.filter((path) => !/^(?:dev|tmp)\b/.test(path) && statOf(join(image.root, path)).uid !== 0),
      ['data'],
      'its user owns nothing but the home',
    );
    t.equal(image.user, 'node');
    t.equal(image.volume, '/data');
    t.equal(image.start[0], 'tini', 'the first process reaps what a run leaves, also where no engine adds an init');

    const [agent = '', ...words] = image.start;
    const script = `
    "$@" > /data/log & gateway=$!
    until node -e "$HEALTH" > /dev/null; do kill -0 $gateway || { cat /data/log >&2; exit 1; }; sleep 0.1; done
    stat -c %u /proc/$gateway /data/gateway.sock
    agent gateway status --json
    kill -TERM $gateway; wait $gateway`;
    t.same(image.health.slice(0, 2), ['node', '-e']);
    const env = { ...image.env, HEALTH: image.health[2] ?? '' };
    const printed = runIn({ ...image, env }, ['sh', '-ec', script, 'sh', agent, ...words], { network: false });
    const [owner, ofSocket, ...status] = printed.split('\n');

    t.same([owner, ofSocket], ['1000', '1000']);
    t.match(JSON.parse(status.join('\n')), { home: '/data', webhook: { enabled: true } });
    t.end();
  },
);

function statOf(path: string) {
  return statSync(path, { throwIfNoEntry: false }) ?? { uid: 0, size: 0, isDirectory: () => false };
}

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => statOf(join(folder, path)))
    .reduce((sum, one) => sum + (one.isDirectory() ? 0 : one.size), 0);
}
