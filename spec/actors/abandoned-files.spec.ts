import { randomUUID } from 'node:crypto';
import { readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { sweepAbandoned } from '../../actors/abandoned-files.ts';
import { makeHome } from '../support/home.ts';

t.test('HOME-3 · temporary files of dead writers go, those of living ones and all others stay', async (t) => {
  const { path } = makeHome(t);
  const nowMs = 1_800_000_000_000;
  const make = (name: string, ageMs: number): string => {
    writeFileSync(join(path, name), 'a secret');
    const atSeconds = (nowMs - ageMs) / 1_000;
    utimesSync(join(path, name), atSeconds, atSeconds);
    return name;
  };
  const day = 86_400_000;
  make(`.${randomUUID()}.tmp`, day);
  make(`gateway.lock.${randomUUID()}.tmp`, day);
  const kept = [
    make(`.${randomUUID()}.tmp`, 60_000),
    make('.notes.tmp', day),
    make(`${randomUUID()}.txt`, day),
    make('config.yaml', day),
  ];

  t.equal(await sweepAbandoned([join(path, 'none'), path], nowMs), 2);
  t.same(readdirSync(path).sort(), kept.sort());
  t.equal(await sweepAbandoned([path], nowMs), 0);
});
