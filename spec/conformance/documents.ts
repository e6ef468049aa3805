/** What all documents must do, of files and of rows in a database, seen from two gateways that have the same ones. */

import { join } from 'node:path';
import type { Test } from 'tap';
import type { Documents } from '../../actors/documents.ts';
import { fc } from '../support/property.ts';
import { deferred } from '../support/turns.ts';

export interface Opener {
  readonly home: string;
  readonly documents: Documents;
  /** Resolves once it sees what the other has written. */
  seen(): Promise<void>;
}

export interface DocumentsSettings {
  /** Opens two on the same empty store. */
  readonly open: (t: Test) => Promise<readonly [Opener, Opener]>;
  readonly histories: number;
}

type Step =
  | { readonly kind: 'update' | 'keep'; readonly by: 0 | 1; readonly name: string }
  | { readonly kind: 'write'; readonly by: 0 | 1; readonly texts: Readonly<Record<string, string | null>> };

const names = ['a.json', 'cron/jobs.json', 'profiles/work/mcp-tokens/hub.json'];
const by = fc.constantFrom<0 | 1>(0, 1);
const name = fc.constantFrom(...names);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constantFrom<'update' | 'keep'>('update', 'update', 'keep'), by, name }),
    fc.record({
      kind: fc.constant('write' as const),
      by,
      texts: fc.dictionary(name, fc.option(fc.constantFrom('x', 'ж\ud83d\ude00', ''))),
    }),
  ),
  { maxLength: 12 },
);

export function documentsContract(t: Test, kind: string, { open, histories }: DocumentsSettings): void {
  const at = ({ documents, home }: Opener, path: string) => documents.at(join(home, path));
  const textOf = (opener: Opener, path: string): string | undefined => {
    const document = at(opener, path);
    return document.stamp() === undefined ? undefined : document.text();
  };

  t.test(`SUB-2 · CRN-1 · two writers of one document lose no change (${kind})`, async (t) => {
    const [one, other] = await open(t);
    const document = at(one, 'cron/jobs.json');
    await one.seen();
    t.equal(document.stamp(), undefined);
    t.throws(() => document.text());

    await Promise.all(
      [...'abcdefgh'].map((letter, index) =>
        at(index % 2 === 0 ? one : other, 'cron/jobs.json').update((text = '') => text + letter),
      ),
    );

    await Promise.all([one.seen(), other.seen()]);
    t.equal([...document.text()].sort().join(''), 'abcdefgh');
    t.equal(at(other, 'cron/jobs.json').text(), document.text());
    const stamp = document.stamp();
    await at(other, 'cron/jobs.json').update(() => undefined);
    await one.seen();
    t.equal(document.stamp(), stamp, 'a change that returns nothing writes nothing');
    await t.rejects(
      document.update(() => {
        throw new Error('no change');
      }),
      /no change/,
    );
    t.equal(document.stamp(), stamp);
    await at(other, 'cron/jobs.json').update(() => 'new');
    await one.seen();
    t.not(document.stamp(), stamp);
  });

  t.test(`OAU-1 · one holder of a lock at a time; another path is free (${kind})`, async (t) => {
    const [one, other] = await open(t);
    const order: string[] = [];
    const held = deferred<void>();
    const entered = deferred<void>();
    const locked = ({ documents, home }: Opener, path: string, work: () => Promise<unknown>) =>
      documents.locked(join(home, path), work);
    const first = locked(one, 'a', async () => {
      order.push('first');
      entered.resolve();
      await held.promise;
    });
    await entered.promise;
    const second = locked(other, 'a', async () => order.push('second'));
    await locked(other, 'b', async () => order.push('other'));
    t.same(order, ['first', 'other']);
    held.resolve();
    await Promise.all([first, second]);
    t.same(order, ['first', 'other', 'second']);
    await t.rejects(
      locked(one, 'a', () => Promise.reject(new Error('failed'))),
      /failed/,
    );
    t.equal(await locked(other, 'a', async () => 'free again'), 'free again');
  });

  t.test(`SUB-2 · OAU-2 · whatever two gateways write, both see the same texts (${kind})`, async (t) => {
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        const openers = await open(t);
        const model = new Map<string, string>();
        for (const step of history) {
          const { documents, home } = openers[step.by];
          if (step.kind === 'write') {
            const changes = Object.entries(step.texts).map(([path, text]) => ({ path, text: text ?? undefined }));
            await documents.write(changes.map(({ path, text }) => ({ path: join(home, path), text })));
            for (const { path, text } of changes) {
              if (text === undefined) model.delete(path);
              else model.set(path, text);
            }
          } else {
            await documents.at(join(home, step.name)).update((text) => {
              if (text !== model.get(step.name)) throw new Error(`${text} is not ${model.get(step.name)}`);
              return step.kind === 'keep' ? undefined : `${text ?? ''}+`;
            });
            if (step.kind === 'update') model.set(step.name, `${model.get(step.name) ?? ''}+`);
          }
          for (const opener of openers) await opener.seen();
          const expected = names.map((path) => model.get(path));
          for (const opener of openers) {
            const found = names.map((path) => textOf(opener, path));
            if (JSON.stringify(found) !== JSON.stringify(expected)) throw new Error(`${found} is not ${expected}`);
          }
        }
      }),
      { numRuns: histories },
    );
    t.pass('each history ends as the map says');
  });
}
