/**
 * Lists and shows agent runs from the journal, in a daemon or read from disk.
 * @see CLI-5 and DUR-2 in docs/specification.md
 */

import { setImmediate as turn } from 'node:timers/promises';
import { textOfRun } from '../../actors/dispatch/batch-texts.ts';
import type { Collection, JournalReader, Records } from '../../actors/store/journal.ts';
import { defined, type Json } from '../../machines/base/json.ts';
import { toolWords } from '../../machines/mcp/tool-name.ts';
import { type EventRecord, type RunRecord, runRow } from '../../machines/webhook/record.ts';
import { noticeKey } from '../../machines/webhook/run-notices.ts';
import type { HistoryQuery } from '../control/contract/choices.ts';
import type { RunDetail, RunHistory, SeenRun } from '../control/contract/runs.ts';
import { runsLike, runsUnderWay } from './history.ts';
import { meantKey } from './meant-key.ts';
import { listsOf, newestFirst } from './newest-first.ts';
import { furtherOf } from './responses.ts';

interface RunHistoryPorts {
  /** Undefined if there is no journal to read. */
  readonly journal: () => JournalReader | undefined;
  readonly seenRun: SeenRun;
  /** The runs that wait for a person, each with its oldest question. */
  readonly runsThatWait: () => ReadonlyMap<string, string>;
  readonly redact: <Given extends object>(record: Given) => Given;
}

export function createRunHistory({ journal, seenRun, runsThatWait, redact }: RunHistoryPorts): RunHistory {
  const get = async <In extends Collection>(collection: In, key: string): Promise<Records[In] | undefined> =>
    (await journal()?.get(collection, key))?.value;
  const eventOf = (key: string): Promise<EventRecord | undefined> => get('events', key);

  /** The stored transcript; for a runner without one, the prompt and the response. */
  async function transcriptOf(id: string, run: RunRecord, prompt: string): Promise<Json> {
    const { entries } = (await get('transcripts', id)) ?? {};
    if (entries !== undefined) return entries;
    const asked = { kind: 'prompt', text: prompt };
    return run.response === undefined ? [asked] : [asked, { kind: 'answer', text: run.response }];
  }

  return {
    async runs(query) {
      const waiting = runsThatWait();
      return newestFirst(journal(), await runsLike(journal(), query), async ({ key, value, heldBy }) => {
        const run = seenRun(key, value, heldBy);
        if (!matches(run, query)) return undefined;
        const row = redact(runRow(key, run, await eventOf(run.eventKey)));
        return { ...row, ...questionOf(key, waiting) };
      });
    },
    async waiting(route) {
      let count = 0;
      for await (const list of listsOf(journal(), await runsUnderWay(journal(), {}))) {
        const isMeant = ({ key, value, heldBy }: (typeof list)[number]): boolean =>
          matches(seenRun(key, value, heldBy), { ...route, status: 'queued' });
        count += list.filter(isMeant).length;
        await turn();
      }
      return count;
    },
    async run(asked, { transcript = false } = {}) {
      const id = (await meantKey(journal(), 'runs', asked)) ?? asked;
      const kept = await journal()?.get('runs', id);
      if (kept === undefined) return undefined;
      const run = seenRun(id, kept.value, kept.heldBy);
      const event = await eventOf(run.eventKey);
      const prompt = event === undefined ? '' : await textOfRun(run, event.prompt ?? '', eventOf);
      const delivery = await get('deliveries', id);
      const notice = await get('deliveries', noticeKey(id));
      return redact({
        ...runRow(id, run, event),
        ...questionOf(id, runsThatWait()),
        prompt,
        response: run.response ?? null,
        ...spendingOf(run),
        ...(delivery === undefined ? {} : { delivery }),
        ...(await furtherOf(journal(), id, delivery)),
        ...(notice === undefined ? {} : { notice }),
        ...(transcript ? { transcript: await transcriptOf(id, run, prompt) } : {}),
      });
    },
  };
}

export interface AskedQuestion {
  readonly kind: string;
  readonly server: string;
  readonly tool?: string | undefined;
}

/** "Waiting for your approval to call deployer.deploy". */
export function waitingWords({ kind, tool, server }: AskedQuestion): string {
  return kind === 'form'
    ? 'Waiting for your answer to a question'
    : `Waiting for your approval to call ${toolWords(tool ?? '', server)}`;
}

/** The question that a run waits for, if it waits for a person. */
export function questionOf(
  run: string | undefined,
  waiting: ReadonlyMap<string, string>,
): { readonly question?: string } {
  const question = run === undefined ? undefined : waiting.get(run);
  return question === undefined ? {} : { question };
}

/** Whether a row matches the filters of a listing. */
export function matches(
  row: { readonly route: string; readonly profile: string; readonly status: string },
  query: Omit<HistoryQuery, 'limit'>,
): boolean {
  return (
    (query.route === undefined || row.route === query.route) &&
    (query.profile === undefined || row.profile === query.profile) &&
    (query.status === undefined || row.status === query.status)
  );
}

/** With the field names of rows; absent fields are unknown to the runner. */
function spendingOf({ steps, inputTokens, cachedTokens, outputTokens, cost }: RunRecord): Partial<RunDetail> {
  return defined({ steps, input_tokens: inputTokens, cached_tokens: cachedTokens, output_tokens: outputTokens, cost });
}
