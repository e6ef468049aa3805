/**
 * One run of the agent: builds the prompt from the event, the skill and the note on superseded events, passes it to the
 * profile's runner and limits its time.
 * @see DIS-3, DIS-5, DIS-6 and COA-2 in docs/specification.md
 */

import { chooseSkill } from '../../machines/agent/skill.ts';
import { resolveToolsets } from '../../machines/agent/toolset.ts';
import { causeOf, isReplaced } from '../../machines/base/fault.ts';
import { promptWithNote } from '../../machines/webhook/coalesce.ts';
import type { EventRecord, RunRecord } from '../../machines/webhook/record.ts';
import { isExhausted } from '../exhaustion.ts';
import type { AgentRunner, AgentRunOutcome, Logger } from '../ports.ts';
import { createStopSignal } from '../stop-signal.ts';
import { textOfRun } from './batch-texts.ts';

/** What a profile provides to its runs (PRF-2). */
export interface RunnerOfProfile {
  readonly run: AgentRunner;
  readonly timeoutMs: number;
  /** The names of its MCP servers, connected or not. */
  readonly servers: readonly string[];
  /** The text of a skill of the profile; undefined if it has none of that name. */
  readonly skill: (name: string) => string | undefined;
}

export interface RunAgentPorts {
  readonly event: (key: string) => Promise<EventRecord | undefined>;
  readonly runnerOf: (profile: string) => RunnerOfProfile | undefined;
  /** Records that the agent gets the prompt. Resolves with false if the agent must not get it; never rejects. */
  readonly handOver: (key: string, record: RunRecord, signal: AbortSignal) => Promise<boolean>;
  /** Calls back when a run starts or stops waiting for a person, until the returned function is called. */
  readonly whileAsked: (key: string, changed: (waits: boolean) => void) => () => void;
  /** The trace that the agent's own work belongs to. */
  readonly traceparentOf: (run: string, event: EventRecord) => string | undefined;
  readonly log: Logger;
}

export type RunAgent = (key: string, record: RunRecord, signal: AbortSignal) => Promise<AgentRunOutcome>;

export function createRunAgent(ports: RunAgentPorts): RunAgent {
  /** Routes whose runs cannot begin, until one does, so that each outage is logged once. */
  const lacking = new Set<string>();
  const routeOf = ({ profile, route }: RunRecord) => `${profile}/${route}`;
  const attempt = createAttempt({
    ...ports,
    handOver: async (key, record, signal) => {
      const may = await ports.handOver(key, record, signal);
      if (may) lacking.delete(routeOf(record));
      return may;
    },
  });
  return async (key, record, signal) => {
    const outcome = await attempt(key, record, signal);
    if (outcome.kind === 'responded') lacking.delete(routeOf(record));
    if (outcome.kind === 'notBegun' && !lacking.has(routeOf(record))) {
      lacking.add(routeOf(record));
      const message = `its runs cannot be started; they wait and are tried again: ${outcome.reason}`;
      ports.log.log('warn', `route "${record.route}": ${message}`);
    }
    return outcome;
  };
}

/**
 * Returns the response of a run and its event if the response follows from the prompt alone; undefined if an agent is
 * needed.
 */
export type AnswerAtOnce = (
  record: RunRecord,
) => { readonly response: string; readonly event: EventRecord } | undefined;

export function createAnswerAtOnce(
  ports: Pick<RunAgentPorts, 'runnerOf' | 'log'> & {
    /** The event, if it can be read synchronously. */
    readonly event: (key: string) => EventRecord | undefined;
  },
): AnswerAtOnce {
  return (record) => {
    // The texts of a batch are read over several turns of the event loop.
    if (record.earlierKeys !== undefined) return undefined;
    const runner = record.isDirect ? undefined : ports.runnerOf(record.profile);
    if (!record.isDirect && runner?.run.respond === undefined) return undefined;
    const event = ports.event(record.eventKey);
    if (event === undefined) return undefined;
    const prompt = event.prompt ?? '';
    if (runner?.run.respond === undefined) return { response: prompt, event };
    toolsetsOf(record, event, runner, ports.log);
    const text = promptWithNote(prompt, (record.superseded ?? 0) + 1);
    try {
      return { response: runner.run.respond(withSkill(text, event, runner)), event };
    } catch (thrown) {
      // The run reads the skill again later, when it can wait for it.
      if (isExhausted(thrown)) return undefined;
      throw thrown;
    }
  };
}

function createAttempt(ports: RunAgentPorts): RunAgent {
  return async (key, record, signal) => {
    const event = await ports.event(record.eventKey);
    if (event === undefined) return { kind: 'failed', reason: `the event ${record.eventKey} is not in the journal` };
    // Before its time begins: while the journal cannot be read, the events of a batch are waited for.
    const text = await textOfRun(record, event.prompt ?? '', ports.event);
    if (record.isDirect) return { kind: 'responded', response: text };
    const runner = ports.runnerOf(record.profile);
    if (runner === undefined)
      return { kind: 'failed', reason: `profile "${record.profile}" is not configured any more` };

    const toolsets = toolsetsOf(record, event, runner, ports.log);
    const traceparent = ports.traceparentOf(key, event);
    const refused = new AbortController();
    const stop = createStopSignal([signal, refused.signal], runner.timeoutMs);
    // The run's time does not count while a person is asked.
    const forget = ports.whileAsked(key, (waits) => (waits ? stop.pause() : stop.resume()));
    let handing: Promise<void> | undefined;
    try {
      const { printed = '', ...outcome } = await runner.run(
        {
          runId: key,
          deliveryId: event.deliveryId,
          route: record.route,
          event: event.event,
          profile: record.profile,
          attempt: record.attempt,
          prompt: withSkill(text, event, runner),
          toolsets,
          handOver: () => {
            // While the journal cannot record it, the agent has no prompt and uses no time.
            if (handing === undefined) stop.pause();
            handing ??= ports.handOver(key, record, stop.signal).then((may) => {
              stop.resume();
              if (!may) refused.abort();
            });
            return handing;
          },
          ...(event.model === undefined ? {} : { model: event.model }),
          ...(traceparent === undefined ? {} : { traceparent }),
        },
        stop.signal,
      );
      if (outcome.kind === 'failed' && stop.isTimeOver()) {
        return {
          ...outcome,
          reason: `the run took longer than ${runner.timeoutMs / 1000} s (agent.timeout_seconds)${printed}`,
        };
      }
      return outcome;
    } catch (thrown) {
      const mayBegin = handing === undefined && (isExhausted(thrown) || isReplaced(thrown));
      return { kind: mayBegin ? 'notBegun' : 'failed', reason: causeOf(thrown) };
    } finally {
      // A record has one writer at a time, so the outcome is written after this.
      await handing;
      stop.release();
      forget();
    }
  };
}

/** Returns the names of the toolsets that a run gets; logs those that are dropped. */
function toolsetsOf(
  { profile, route }: RunRecord,
  event: EventRecord,
  runner: RunnerOfProfile,
  log: Logger,
): readonly string[] {
  const { names, dropped } = resolveToolsets(event.toolsets, runner.servers);
  for (const { name, why } of dropped)
    log.warnOnce(`toolset/${profile}/${route}/${name}`, `route "${route}": toolset "${name}" dropped: ${why}`);
  return names;
}

/** Puts the first skill that exists before the prompt. */
function withSkill(prompt: string, event: EventRecord, runner: RunnerOfProfile): string {
  const chosen = chooseSkill(event.skills ?? [], (name) => runner.skill(name) !== undefined);
  const skill = chosen === undefined ? undefined : runner.skill(chosen);
  return skill === undefined ? prompt : `${skill}\n\n${prompt}`;
}
