/**
 * Carries out a Containerfile without a container engine: each stage is a folder in which its steps run by `chroot`, with the
 * programs of this machine in place of those of the base image. It needs root and Linux' namespaces.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import type { Test } from 'tap';
import { makeHome } from './home.ts';

/** What a test is skipped with; false where this machine can make such folders. */
export const withoutChroot =
  spawnSync('unshare', ['--mount', '--pid', '--net', '--fork', 'ip', 'link', 'set', 'lo', 'up']).status !== 0 &&
  'needs root, unshare and ip';

export interface Image {
  readonly root: string;
  readonly env: Record<string, string>;
  workdir: string;
  user: string;
  volume: string;
  start: readonly string[];
  health: readonly string[];
}

/** Linux as the base image has it, and no user but root and `node`. What it installs by apt-get is stood in for. */
function baseImage(root: string): Image {
  for (const folder of ['dev', 'etc', 'local/bin', 'opt', 'proc', 'tmp', 'usr'])
    mkdirSync(join(root, folder), { recursive: true });
  for (const name of ['bin', 'lib', 'lib64', 'sbin']) symlinkSync(`usr/${name}`, join(root, name));
  for (const name of ['ca-certificates', 'hosts', 'nsswitch.conf', 'resolv.conf', 'ssl']) {
    if (existsSync(`/etc/${name}`))
      cpSync(`/etc/${name}`, join(root, 'etc', name), { recursive: true, dereference: true });
  }
  appendFileSync(join(root, 'etc/passwd'), 'root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/tmp:/bin/sh\n');
  appendFileSync(join(root, 'etc/group'), 'root:x:0:\nnode:x:1000:\n');
  writeFileSync(join(root, 'local/bin/tini'), '#!/bin/sh\nshift 2; exec "$@"\n', { mode: 0o755 });
  return { root, env: {}, workdir: '/', user: 'root', volume: '', start: [], health: [] };
}

/** Returns what the last stage leaves. Throws with the output of a step that fails, and on an instruction that it does not know. */
export function buildImage(t: Test, file: string, context: string): Image {
  const { path } = makeHome(t);
  const ignored = readFileSync(join(context, '.dockerignore'), 'utf8').trim().split('\n');
  const stages = new Map<string, Image>();
  let image = baseImage(join(path, 'none'));
  for (const line of readFileSync(file, 'utf8').split('\n').filter(Boolean)) {
    const [, word, rest] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    if (word === undefined || rest === undefined) throw new Error(`no instruction: ${line}`);
    const words = rest.split(' ');
    if (word === 'FROM') {
      const name = words[2] ?? 'last';
      image = baseImage(join(path, name));
      stages.set(name, image);
    } else if (word === 'COPY') {
      const [from, source = '', target = ''] = words[0]?.startsWith('--from=') ? words : ['', ...words];
      const origin = from === '' ? resolve(context) : stages.get(from?.slice('--from='.length) ?? '')?.root;
      if (origin === undefined) throw new Error(`no stage: ${line}`);
      cpSync(join(origin, source), join(image.root, resolve(image.workdir, target)), {
        recursive: true,
        verbatimSymlinks: true,
        filter: (one) => from !== '' || !ignored.some((pattern) => matches(relative(origin, one), pattern)),
      });
    } else if (word === 'RUN') {
      if (words[0] !== 'apt-get') runIn(image, ['sh', '-ec', rest]);
    } else if (word === 'WORKDIR') {
      image.workdir = rest;
      mkdirSync(join(image.root, rest), { recursive: true });
    } else if (word === 'ENV') Object.assign(image.env, Object.fromEntries(words.map((one) => one.split('='))));
    else if (word === 'USER') image.user = rest;
    else if (word === 'VOLUME') image.volume = rest;
    else if (word === 'HEALTHCHECK') image.health = JSON.parse(rest.slice(rest.indexOf('CMD ') + 4)) as string[];
    else if (word === 'ENTRYPOINT' || word === 'CMD') image.start = [...image.start, ...(JSON.parse(rest) as string[])];
    else if (word !== 'EXPOSE') throw new Error(`unknown instruction: ${line}`);
  }
  return image;
}

/** As `.dockerignore` means its patterns: by the path from the context, unless one begins with two stars. */
function matches(path: string, pattern: string): boolean {
  if (pattern.startsWith('**/')) return basename(path) === pattern.slice(3);
  if (pattern.startsWith('*')) return path === basename(path) && path.endsWith(pattern.slice(1));
  return path === pattern;
}

const mounts = `
root=$1; user=$2; folder=$3; shift 3
mount --bind /usr $root/usr; mount -o remount,bind,ro $root/usr; mount --bind $root/local $root/usr/local
mount --rbind /dev $root/dev; mount -t proc proc $root/proc
[ "$LINK" = none ] && ip link set lo up
exec chroot --userspec=$user $root env -u LINK -C $folder "$@"`;

/**
 * Runs a command as the image's user, and returns what it prints.
 * @param network whether it reaches the network; else it has a loopback device of its own and nothing beside
 */
export function runIn(image: Image, command: readonly string[], { network = true } = {}): string {
  const id = image.user === 'root' ? '0:0' : '1000:1000';
  const spaces = ['--mount', '--pid', '--fork', '--kill-child', ...(network ? [] : ['--net'])];
  const certificates = process.env.SPEC_CA_CERTS;
  return execFileSync('unshare', [...spaces, 'sh', '-ec', mounts, 'sh', image.root, id, image.workdir, ...command], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: '/usr/local/bin:/usr/bin:/usr/sbin',
      HOME: '/tmp',
      LINK: network ? 'host' : 'none',
      ...(certificates === undefined ? {} : { NODE_EXTRA_CA_CERTS: certificates }),
      ...image.env,
    },
  });
}
