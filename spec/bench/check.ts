/**
 * Holds the cost of a request against the baseline: CPU beside the bare handler in the same rounds, a source preset beside
 * the generic scheme, and the bytes that a request allocates and leaves behind, which hardly depend on what else the machine
 * does. Says which guard was left and by how much.
 *
 * `npm run bench:check`; with `--accept`, what it finds becomes the baseline.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import type { SignatureScheme } from '../../machines/config/signature-scheme.ts';
import { sources } from '../../machines/config/sources.ts';
import { measurePresets, type PresetCost } from './presets.ts';
import {
  bareNode,
  bytesBy,
  durable,
  inMemory,
  journeys,
  manyRoutes,
  measureReceiver,
  type Subject,
  start,
  stop,
} from './receiver.ts';
import { print } from './table.ts';

interface Guard {
  readonly name: string;
  readonly found: number;
  /** How far above the baseline it may be: noise, and no more. */
  readonly tolerance: number;
}

const baselinePath = new URL('../../../spec/bench/baseline.json', import.meta.url);
const ratioTolerance = 0.2;
const bytesTolerance = 0.08;
const sampled = 20_000;
/** The least of them counts: by chance the engine keeps more, up to twice as much of what outlives the young heap. */
const runsOfBytes = 3;

const guards = [
  ...presets(),
  ...(await ratios()),
  ...(await bytes([inMemory, durable], 'allocation', { called: 'bytes allocated', tolerance: bytesTolerance })),
  // They cost several times what dies young. The journal in memory keeps its records there.
  ...(await bytes([inMemory, manyRoutes], 'survival', {
    called: 'bytes that outlive the young heap',
    tolerance: ratioTolerance,
  })),
];
if (process.argv.includes('--accept')) accept();
else process.exitCode = report();

/** The dearest preset that is signed by HMAC over the body as it came, or by a token: in what it costs beyond its own cryptography. */
function presets(): Guard[] {
  const costs = measurePresets({ sizes: [1_800], rounds: 40, requests: 300 });
  const isPlain = ({ preset }: PresetCost): boolean =>
    (sources[preset].schemes as readonly SignatureScheme[]).every(
      ({ algorithm, form }) => form === undefined && /^(?:hmac|token)/.test(algorithm),
    );
  const found = Math.max(
    ...costs.filter(isPlain).map(({ micros, cryptoMicros, byHandMicros }) => (micros - cryptoMicros) / byHandMicros),
  );
  return [{ name: 'presets, the dearest: CPU × V2', found, tolerance: ratioTolerance }];
}

/** Beside the bare handler, which is the first of each. */
async function ratios(): Promise<Guard[]> {
  const found: Guard[] = [];
  for (const subjects of [[bareNode, inMemory, durable], ...journeys]) {
    const [, ...costs] = await measureReceiver({ subjects, rounds: 9, requests: 6_000 });
    for (const { name, ratio } of costs)
      found.push({ name: `${name}: CPU × bare`, found: ratio, tolerance: ratioTolerance });
  }
  return found;
}

async function bytes(
  subjects: readonly Subject[],
  which: 'allocation' | 'survival',
  guard: { readonly called: string; readonly tolerance: number },
): Promise<Guard[]> {
  const found: Guard[] = [];
  for (const subject of subjects) {
    const runs: number[] = [];
    while (runs.length < runsOfBytes) {
      const server = await start(subject);
      runs.push(await bytesBy(server, which, sampled));
      stop(server);
    }
    found.push({ name: `${subject.name}: ${guard.called}`, found: Math.min(...runs), tolerance: guard.tolerance });
  }
  return found;
}

function accept(): void {
  const baseline = Object.fromEntries(guards.map(({ name, found }) => [name, Number(found.toPrecision(4))]));
  writeFileSync(baselinePath, `${JSON.stringify(baseline, undefined, 2)}\n`);
  process.stdout.write('the baseline is what was found:\n');
  for (const { name, found } of guards) print([name, found.toPrecision(4)]);
}

/** Prints what was found and returns the exit code. */
function report(): 0 | 1 {
  const baseline = JSON.parse(readFileSync(baselinePath, 'utf8')) as Readonly<Record<string, number>>;
  let exceeded = 0;
  print(['guard', 'found', 'baseline', 'allowed', 'verdict']);
  for (const { name, found, tolerance } of guards) {
    const stands = baseline[name];
    const allowed = stands === undefined ? Number.NaN : stands * (1 + tolerance);
    const verdict =
      stands === undefined
        ? 'unknown'
        : found > allowed
          ? 'TOO MUCH'
          : found < stands * (1 - tolerance)
            ? 'better'
            : 'kept';
    if (verdict === 'TOO MUCH' || verdict === 'unknown') exceeded += 1;
    print([name, found.toPrecision(4), String(stands ?? '-'), allowed.toPrecision(4), verdict]);
  }
  if (exceeded === 0) return 0;
  process.stdout.write(
    `\n${exceeded} of ${guards.length} guards were left. A cost that is meant to stand becomes the baseline by: npm run bench:check -- --accept\n`,
  );
  return 1;
}
