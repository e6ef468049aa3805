/**
 * Checks whether the journal is intact and has room: page by page if no gateway runs, by a question to the gateway if one
 * does; a database is queried in both cases. Changes nothing.
 * @see DUR-1 and CLI-2 in docs/specification.md
 */

import { statfsSync, statSync } from 'node:fs';
import { checkDatabase } from './check-database.ts';
import { type Examined, type Finding, good } from './finding.ts';

const storeCure = 'docs/errors.md has the remedy of the code; nothing was changed';
const mebibyte = 1_048_576;
/** With less, a batch of events may find no room. */
const leastBytes = 100 * mebibyte;
const comfortableBytes = 1_024 * mebibyte;

/** Network file systems by Linux's magic numbers; LMDB's header says that a store must not be on one. */
const networkDisks: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0x5346414f, 'AFS'],
]);

/** Free space of a disk. */
interface Room {
  readonly disk: number;
  readonly bytes: number;
  readonly files: number;
}

export async function checkStore(
  examined: Examined,
  measure = roomIn,
  network = networkDiskOf(examined.paths.state) ?? networkDiskOf(examined.paths.home),
): Promise<readonly Finding[]> {
  const { home, paths, gateway } = examined;
  const { postgres } = home.main.settings.gateway;
  // The file may name another journal than the one in use.
  const later = gateway?.status.restart_for ?? [];
  const isNext = later.some((key) => /^gateway\.(?:journal|postgres)/.test(key));
  const journal = isNext ? undefined : home.main.settings.gateway.journal;
  if (journal === 'memory') return [good('the journal is kept in memory; it is gone at every stop')];
  const url = postgres?.url ?? '';
  // The address may be in a variable that only the running gateway has; then only the gateway can say where its journal is.
  const isAsked = !examined.offline && (gateway === undefined || /^postgres/.test(url));
  const findings: Finding[] = journal === 'postgres' && isAsked ? [...(await checkDatabase(url))] : [];
  const isKnown = findings.some(({ level }) => level === 'wrong') || (journal === 'postgres' && gateway === undefined);
  const fault = isKnown
    ? undefined
    : gateway === undefined
      ? await faultOnDisk(paths.state)
      : await reportedFault(gateway);
  if (fault !== undefined) {
    findings.push({
      level: 'wrong',
      code: 'store-fault',
      place: 'state/',
      what: fault,
      cure: storeCure,
    });
  }
  if (network !== undefined && journal === 'lmdb') {
    findings.push({
      level: 'warning',
      code: 'disk-remote',
      place: 'state/',
      what: `the journal is on a network disk (${network}), where it can be damaged and lose what was acknowledged`,
      cure: 'keep the home on a disk of this machine, by AGENT_HOME, or set gateway.journal: postgres',
    });
  }
  const own = measure(paths.home);
  // `state/` may be a link to a folder on another disk.
  const store = measure(paths.state) ?? own;
  if (own !== undefined) findings.push(...shortOf(own, paths.home));
  if (store !== undefined && store.disk !== own?.disk) findings.push(...shortOf(store, 'state/'));
  if (findings.length > 0) return findings;
  const left = store === undefined ? '' : `, ${Math.floor(store.bytes / mebibyte / 1_024)} GB left on its disk`;
  if (journal === 'postgres') {
    const asked = !isAsked ? ', which was not asked' : ' and keeps what is acknowledged';
    return [good(`the journal is in Postgres${asked}`)];
  }
  const whose = isNext ? 'the journal that the running gateway uses' : 'the journal';
  return [good(`${whose} is intact${left}`)];
}

function shortOf({ bytes, files }: Room, place: string): readonly Finding[] {
  if (bytes >= comfortableBytes && files > 0) return [];
  return [
    {
      level: bytes < leastBytes || files === 0 ? 'wrong' : 'warning',
      code: 'disk-low',
      place,
      what: files === 0 ? 'its disk can hold no more files' : `its disk has ${Math.floor(bytes / mebibyte)} MB left`,
      cure: 'free space, or lower gateway.history.max_megabytes',
    },
  ];
}

async function faultOnDisk(folder: string): Promise<string | undefined> {
  const { lookAt } = await import('../../actors/store/lmdb-store.ts');
  const looked = await lookAt(folder);
  return looked.ok ? undefined : `${looked.fault.message} [${looked.fault.code}]`;
}

async function reportedFault(gateway: NonNullable<Examined['gateway']>): Promise<string | undefined> {
  const { journal } = gateway.status;
  if (journal !== 'ready') return journal;
  const rows = await gateway.ask('webhook.deliveries', { limit: 1 });
  return rows === undefined ? 'the gateway cannot read its journal; its log has the reason' : undefined;
}

/** Undefined if the system does not report it. */
function roomIn(path: string): Room | undefined {
  try {
    const { dev: disk } = statSync(path);
    const { bavail, bsize, ffree, files } = statfsSync(path);
    // Some file systems do not count files.
    return { disk, bytes: bavail * bsize, files: files === 0 ? 1 : ffree };
  } catch {
    return undefined;
  }
}

function networkDiskOf(path: string): string | undefined {
  try {
    return networkDisks.get(statfsSync(path).type >>> 0);
  } catch {
    return undefined;
  }
}
