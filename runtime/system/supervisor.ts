/** Provides the effects of the supervisor and of the journal's chart. */

import { type AnyActorLogic, fromPromise } from 'xstate';
import type { Logger } from '../../actors/ports.ts';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import { causeOf, type Fault } from '../../machines/base/fault.ts';
import type { ReloadOutcome } from '../../machines/reload.machine.ts';
import { supervisorMachine } from '../../machines/supervisor.machine.ts';
import { journalMachine } from '../../machines/webhook/journal.machine.ts';

interface JournalPorts {
  readonly keeper: JournalKeeper;
  readonly log: Logger;
  /** How much history to keep, by the current settings. */
  readonly history: () => { readonly keepAfterKey: string; readonly maxBytes: number };
}

/** The same fault is logged at its first try and then every half a minute. */
const triesPerLine = 15;

export function wireJournal({ keeper, log, history }: JournalPorts) {
  let logged: string | null = null;
  return journalMachine.provide({
    actors: {
      openJournal: fromPromise<undefined, undefined>(async () => throwing(await keeper.open())),
      keepJournal: fromPromise<undefined, undefined>(async () => throwing(await keeper.keep(history()))),
    },
    actions: {
      reportFault: ({ context }) => {
        if (context.fault === logged && context.tries % triesPerLine !== 0) return;
        logged = context.fault;
        log.log('error', `journal unavailable; requests are answered 503 until it can write: ${context.fault ?? ''}`, {
          tries: context.tries,
        });
      },
      reportRestored: ({ context }) => {
        logged = null;
        log.log('info', 'journal writes again; requests are taken', { tries: context.tries });
      },
    },
  });
}

interface SupervisorPorts extends Readonly<Record<'journal' | 'servers' | 'gateway' | 'reload', AnyActorLogic>> {
  readonly resumeWork: () => Promise<void>;
  /** Answers the requests of the reload that has ended. */
  readonly reloadEnded: (outcome: ReloadOutcome) => void;
  /** Refuses the pending reloads; without a reason, because the gateway stops. */
  readonly refuseReloads: (why?: string) => void;
  /** Ends the remains of a crashed gateway. */
  readonly abandonWork: () => void;
  /** Milliseconds that only rise: restarts are counted by elapsed time. */
  readonly steadyMs: () => number;
  readonly random: () => number;
  readonly log: Logger;
}

export function wireSupervisor(ports: SupervisorPorts) {
  const { journal, servers, gateway, reload } = ports;
  return supervisorMachine.provide({
    actors: {
      ...{ journal, servers, gateway, reload },
      resumeWork: fromPromise<undefined, undefined>(async () => {
        await ports.resumeWork();
        return undefined;
      }),
    },
    actions: {
      reportCrash: ({ event, self }) => {
        const fault = causeOf((event as { error?: unknown }).error);
        ports.log.log('error', `gateway crashed: ${fault}`);
        ports.abandonWork();
        ports.refuseReloads(`gateway crashed: ${fault}`);
        self.send({ type: 'crash.reported', fault, atMs: ports.steadyMs(), jitter: ports.random() });
      },
      reportReload: (_, outcome) => ports.reloadEnded(outcome),
      refuseReloads: () => ports.refuseReloads(),
    },
  });
}

/** A promise effect fails by rejecting; the chart reads the message. */
function throwing(fault: Fault | undefined): undefined {
  if (fault !== undefined) throw new Error(`${fault.message} [${fault.code}]`);
  return undefined;
}
