/** Fills the holes of the supervisor and of the journal's chart. */

import { type AnyActorLogic, fromPromise } from 'xstate';
import type { Logger } from '../../actors/ports.ts';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import { causeOf, type Fault } from '../../machines/base/fault.ts';
import { type ReloadVerdict, supervisorMachine } from '../../machines/supervisor.machine.ts';
import { journalMachine } from '../../machines/webhook/journal.machine.ts';
import { Refusal } from '../control/refusal.ts';

export interface JournalPorts {
  readonly keeper: JournalKeeper;
  readonly log: Logger;
  /** What history to keep, as it stands now. */
  readonly history: () => { readonly keepAfterKey: string; readonly maxBytes: number };
}

export function wireJournal({ keeper, log, history }: JournalPorts) {
  return journalMachine.provide({
    actors: {
      openJournal: fromPromise<undefined, undefined>(async () => throwing(await keeper.open())),
      keepJournal: fromPromise<undefined, undefined>(async () => throwing(await keeper.keep(history()))),
    },
    actions: {
      reportFault: ({ context }) => {
        log.log('error', `journal unavailable; requests are answered 503 until it can write: ${context.fault ?? ''}`, {
          tries: context.tries,
        });
      },
      reportMended: ({ context }) => {
        log.log('info', 'journal writes again; requests are taken', { tries: context.tries });
      },
    },
  });
}

export interface SupervisorPorts {
  readonly journal: AnyActorLogic;
  readonly servers: AnyActorLogic;
  readonly gateway: AnyActorLogic;
  readonly resumeWork: () => Promise<void>;
  readonly applyConfig: () => Promise<ReloadVerdict>;
  /** A reload has ended; the error says why it did not do what was asked. */
  readonly reloadEnded: (error: Error | undefined) => void;
  /** Ends what a crashed gateway left behind. */
  readonly abandonWork: () => void;
  /** Milliseconds that only rise: restarts count by the time that passed between them. */
  readonly steadyMs: () => number;
  readonly random: () => number;
  readonly log: Logger;
}

export function wireSupervisor(ports: SupervisorPorts) {
  return supervisorMachine.provide({
    actors: {
      journal: ports.journal,
      servers: ports.servers,
      gateway: ports.gateway,
      resumeWork: fromPromise<undefined, undefined>(async () => {
        await ports.resumeWork();
        return undefined;
      }),
      applyConfig: fromPromise<ReloadVerdict, undefined>(async () => {
        try {
          return await ports.applyConfig();
        } catch (thrown) {
          ports.log.log('error', `reload: ${causeOf(thrown)}`);
          ports.reloadEnded(thrown as Error);
          throw thrown;
        }
      }),
    },
    actions: {
      reportCrash: ({ event, self }) => {
        const fault = causeOf((event as { error?: unknown }).error);
        ports.log.log('error', `gateway crashed: ${fault}`);
        ports.abandonWork();
        ports.reloadEnded(new Refusal('internal-error', `gateway crashed: ${fault}`));
        self.send({ type: 'crash.reported', fault, atMs: ports.steadyMs(), jitter: ports.random() });
      },
      reportReloaded: () => ports.reloadEnded(undefined),
      reportRefusal: ({ event }) => {
        const fault = (event as { fault?: string }).fault ?? '';
        ports.log.log('error', `reload: ${fault}`);
        ports.reloadEnded(new Refusal('reload-refused', fault));
      },
    },
  });
}

/** A promise effect fails by rejecting; the chart reads the message. */
function throwing(fault: Fault | undefined): undefined {
  if (fault !== undefined) throw new Error(`${fault.message} [${fault.code}]`);
  return undefined;
}
