/**
 * The deliveries of the daemon's history for a view: the newest, and older ones as far as a person has asked for them,
 * page by page until one is found that is looked for; all of them kept fresh. How they are joined is told elsewhere.
 * @see DUR-2 and INS-2 in docs/specification.md
 */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { JsonObject } from '../../../../machines/base/json.ts';
import type { HistoryRow } from '../../../control/contract.ts';
import {
  endOf,
  isFull,
  type Listed,
  lacks,
  mostHeld,
  nothingListed,
  reaching,
  withAnew,
  withNewest,
  withOlder,
} from './listed.ts';
import { type Asked, call, useAsked, wordsOf } from './rpc.ts';
import { useFresh } from './use-fresh.ts';

const newestRows = 200;
/** As many as the daemon gives at once. */
const searchedRows = 1_000;
/** So many times as long as the older ones took to ask for, nobody asks for them again. */
const restShare = 4;
const tooMany = `no more than the newest ${mostHeld.toLocaleString('en')} are shown here: choose a route or a status, or go on with \`agent events --before <key>\``;
const changing = /^(webhookRequest|coalescingGroup|agentRun|delivery|cronJob|approval)$/;

export interface DeliveryHistory {
  readonly asked: Asked<Listed<HistoryRow>>;
  /** Older ones are being asked for. */
  readonly busy: boolean;
  /** Why older ones could not be had; empty otherwise. */
  readonly why: string;
  /** One page more. */
  older(): void;
  /** Pages more, until one holds what is looked for or none is left. */
  search(holds: (row: HistoryRow) => boolean): void;
}

/** What is held for one filter. */
interface Held {
  readonly key: string;
  newest?: readonly HistoryRow[];
  listed: Listed<HistoryRow>;
  busy: boolean;
  why: string;
  /** The older ones are being asked for anew. */
  isSwept: boolean;
}

export function useHistory(filter: { readonly route: string; readonly status: string }): DeliveryHistory {
  const params: JsonObject = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== ''));
  const key = JSON.stringify(params);
  const list = (more: JsonObject): Promise<readonly HistoryRow[]> => call('webhook.deliveries', { ...params, ...more });
  const { asked, again } = useAsked(`events ${key}`, () => list({ limit: newestRows }));
  useFresh(changing, again);
  const [, redraw] = useState({});
  const held = useRef<Held>(beginning(key));
  if (held.current.key !== key) held.current = beginning(key);
  const mine = held.current;
  if (asked.kind === 'there' && asked.value !== mine.newest) {
    mine.newest = asked.value;
    mine.listed = withNewest(mine.listed, asked.value, newestRows);
  }
  const isThere = useRef(true);
  useEffect(
    () => () => {
      isThere.current = false;
    },
    [],
  );
  // A filter that was changed has a list of its own, also when it is changed back.
  const goesOn = (): boolean => isThere.current && held.current === mine;

  /** Older rows are asked for anew after each newest page: one sweep at a time, which leaves the daemon its time. */
  async function sweep(): Promise<void> {
    if (mine.isSwept) return;
    mine.isSwept = true;
    try {
      for (let seen: unknown; goesOn() && mine.newest !== undefined && mine.newest !== seen; ) {
        seen = mine.newest;
        const begunMs = performance.now();
        const anew = await listedAnew(mine.newest);
        if (anew === undefined || !goesOn()) continue;
        if (lacks(anew, mine.listed)) {
          // A person has gone further back at this very moment.
          seen = undefined;
          continue;
        }
        mine.listed = withAnew(mine.listed, anew, { newest: mine.newest, limit: newestRows });
        redraw({});
        const restMs = (performance.now() - begunMs) * restShare;
        await new Promise((resolve) => setTimeout(resolve, restMs));
      }
    } catch {
      // What was told stays; the newest page, which is asked for anyway, says why the daemon does not answer.
    } finally {
      mine.isSwept = false;
    }
  }

  /** Undefined where all that is held is the newest page. */
  async function listedAnew(newest: readonly HistoryRow[]): Promise<Listed<HistoryRow> | undefined> {
    const first = withNewest<HistoryRow>(nothingListed, newest, newestRows);
    let anew = first;
    while (goesOn() && lacks(anew, mine.listed)) {
      const before = endOf(anew);
      anew = withOlder(anew, { before, older: await list({ limit: searchedRows, before }), limit: searchedRows });
    }
    return anew === first ? undefined : anew;
  }
  const { newest } = mine;
  useEffect(() => void sweep(), [newest]);

  async function goBack(limit: number, isEnough: (rows: readonly HistoryRow[]) => boolean): Promise<void> {
    Object.assign(mine, { busy: true, why: '', listed: reaching(mine.listed) });
    redraw({});
    try {
      for (let found: readonly HistoryRow[] = []; goesOn() && !mine.listed.isWhole && !isEnough(found); ) {
        if (isFull(mine.listed)) {
          mine.why = tooMany;
          break;
        }
        const before = endOf(mine.listed);
        const older = await list({ limit, before });
        const joined = withOlder(mine.listed, { before, older, limit });
        // The end has moved meanwhile: the page is asked for from where it is now.
        found = joined === mine.listed ? [] : older;
        mine.listed = joined;
        if (goesOn()) redraw({});
      }
    } catch (error) {
      mine.why = wordsOf(error).why;
    } finally {
      mine.busy = false;
      if (goesOn()) redraw({});
    }
  }

  return {
    asked: asked.kind === 'there' ? { kind: 'there', value: mine.listed } : asked,
    busy: mine.busy,
    why: mine.why,
    older: () => void (mine.busy ? undefined : goBack(newestRows, (rows) => rows.length > 0)),
    search: (holds) => void (mine.busy ? undefined : goBack(searchedRows, (rows) => rows.some(holds))),
  };
}

function beginning(key: string): Held {
  return { key, listed: nothingListed, busy: false, why: '', isSwept: false };
}
