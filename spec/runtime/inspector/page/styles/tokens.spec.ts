import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';

const folder = 'runtime/inspector/page/styles';
const tokens = readFileSync(`${folder}/tokens.css`, 'utf8');

/** The named colours, light first, dark second. */
const pairs = [...tokens.matchAll(/--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)];
const schemes = {
  light: new Map(pairs.map(([, name = '', light = '']) => [name, light])),
  dark: new Map(pairs.map(([, name = '', , dark = '']) => [name, dark])),
} as const;

const channels = (colour: string): readonly number[] =>
  [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));

/** WCAG's contrast of two colours. */
function contrast(one: string, other: string): number {
  const [more = 0, less = 0] = [one, other].map(luminance).sort((first, second) => second - first);
  return (more + 0.05) / (less + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = channels(colour).map((value) =>
    value / 255 <= 0.040_45 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function mixed(colour: string, share: number, ground: string): string {
  const grounds = channels(ground);
  return `#${channels(colour)
    .map((value, at) =>
      Math.round(value * share + (grounds[at] ?? 0) * (1 - share))
        .toString(16)
        .padStart(2, '0'),
    )
    .join('')}`;
}

const standings = ['working', 'resting', 'needs-user', 'failed', 'ended'];
/** A row that is chosen or pointed at has a ground of its own. */
const grounds = ['ground', 'panel', 'raised', 'accent-ground'];
/** Every ground that is a status's own colour, thinned, under letters of it. */
const shares = readdirSync(folder)
  .filter((name) => name.endsWith('.css') && name !== 'chart.css')
  .flatMap((name) =>
    [...readFileSync(`${folder}/${name}`, 'utf8').matchAll(/var\(--c\) (\d+)%, var\(--panel\)/g)].map(([, share]) =>
      Number(share),
    ),
  );

for (const [scheme, colours] of Object.entries(schemes)) {
  t.test(`INS-2 · letters can be read, and edges seen, on every ground, ${scheme}`, (t) => {
    const of = (name: string): string => colours.get(name) ?? '';
    const read = [
      ...standings.flatMap((name) => grounds.map((ground) => [name, of(name), of(ground)] as const)),
      ...['text', 'muted', 'accent'].flatMap((name) =>
        [...grounds, 'bad-ground'].map((ground) => [name, of(name), of(ground)] as const),
      ),
      ['failed', of('failed'), of('bad-ground')] as const,
      ['on-accent', of('on-accent'), of('accent')] as const,
    ];
    for (const [name, letters, ground] of read) {
      t.ok(
        contrast(letters, ground) >= 4.5,
        `${name} ${letters} on ${ground}: ${contrast(letters, ground).toFixed(2)}`,
      );
    }
    for (const [name, on] of [
      ['control-line', 'panel'],
      ['fill-ok', 'panel'],
      ['fill-work', 'panel'],
      ['fill-bad', 'panel'],
    ] as const) {
      t.ok(contrast(of(name), of(on)) >= 3, `${name} on ${on}: ${contrast(of(name), of(on)).toFixed(2)}`);
    }
    t.ok(shares.length > 1);
    for (const share of shares) {
      for (const name of standings) {
        const ground = mixed(of(name), share / 100, of('panel'));
        t.ok(
          contrast(of(name), ground) >= 4.5,
          `${name} on ${share} % of itself: ${contrast(of(name), ground).toFixed(2)}`,
        );
      }
    }
    t.end();
  });
}
