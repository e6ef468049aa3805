/**
 * Returns the charts as the page and the terminal draw them, read from the machines' definitions: states with their
 * descriptions, transitions with their triggers. Each chart is loaded on first use and cached.
 * @see INS-2 in docs/specification.md
 */

import type { AnyStateMachine, AnyStateNode } from 'xstate';
import type { Chart, ChartState, ChartTransition } from '../control/contract/wire.ts';
import { stateName } from './tap.ts';

const machines: Readonly<Record<string, () => Promise<AnyStateMachine>>> = {
  supervisor: async () => (await import('../../machines/supervisor.machine.ts')).supervisorMachine,
  reload: async () => (await import('../../machines/reload.machine.ts')).reloadMachine,
  journal: async () => (await import('../../machines/webhook/journal.machine.ts')).journalMachine,
  gateway: async () => (await import('../../machines/webhook/gateway.machine.ts')).gatewayMachine,
  webhookRequest: async () => (await import('../../machines/webhook/webhook-request.machine.ts')).webhookRequestMachine,
  coalescingGroup: async () =>
    (await import('../../machines/webhook/coalescing-group.machine.ts')).coalescingGroupMachine,
  agentRun: async () => (await import('../../machines/webhook/agent-run.machine.ts')).agentRunMachine,
  platformConnection: async () =>
    (await import('../../machines/dispatch/platform-connection.machine.ts')).platformConnectionMachine,
  chatSession: async () => (await import('../../machines/agent/chat-session.machine.ts')).chatSessionMachine,
  delivery: async () => (await import('../../machines/webhook/delivery.machine.ts')).deliveryMachine,
  servers: async () => (await import('../../machines/mcp/servers.machine.ts')).serversMachine,
  serverConnection: async () =>
    (await import('../../machines/mcp/server-connection.machine.ts')).serverConnectionMachine,
  toolCall: async () => (await import('../../machines/mcp/tool-call.machine.ts')).toolCallMachine,
  approval: async () => (await import('../../machines/mcp/approval.machine.ts')).approvalMachine,
  serverRequest: async () => (await import('../../machines/mcp/server-request.machine.ts')).serverRequestMachine,
  addServer: async () => (await import('../../machines/mcp/add-server.machine.ts')).addServerMachine,
  browserLogin: async () => (await import('../../machines/oauth/browser-login.machine.ts')).browserLoginMachine,
  deviceLogin: async () => (await import('../../machines/oauth/device-login.machine.ts')).deviceLoginMachine,
  cronJob: async () => (await import('../../machines/cron/cron-job.machine.ts')).cronJobMachine,
};

export const chartNames: readonly string[] = Object.keys(machines);

const drawn = new Map<string, Chart>();

/** Resolves with undefined for a machine without a chart, such as a pool. */
export async function chartOf(machine: string): Promise<Chart | undefined> {
  const known = drawn.get(machine);
  if (known !== undefined) return known;
  const load = Object.hasOwn(machines, machine) ? machines[machine] : undefined;
  if (load === undefined) return undefined;
  const chart = readChart(await load());
  drawn.set(machine, chart);
  return chart;
}

function readChart(machine: AnyStateMachine): Chart {
  const { root } = machine as { readonly root: AnyStateNode };
  const nodes = below(root);
  let next = 0;
  const transitions = [root, ...nodes].flatMap((node) =>
    // In the definition's order: the first transition whose guard holds is taken.
    [...node.transitions.values(), node.always ?? []].flat().map((definition): ChartTransition => {
      const target = definition.target?.[0];
      const id = next;
      next += 1;
      return {
        id,
        from: node === root ? null : stateName(node),
        to: target === undefined ? null : stateName(target),
        ...labelOf(definition.eventType),
        event: definition.eventType,
        ...(definition.guard === undefined ? {} : { guard: nameOf(definition.guard) }),
        actions: definition.actions.map(nameOf).filter(isNamed),
      };
    }),
  );
  return { machine: machine.id, states: nodes.map((node) => stateOf(node, root)), transitions };
}

function below(node: AnyStateNode): AnyStateNode[] {
  return (Object.values(node.states) as AnyStateNode[]).flatMap((child) => [child, ...below(child)]);
}

function stateOf(node: AnyStateNode, root: AnyStateNode): ChartState {
  const { parent } = node;
  const begins = parent?.type === 'parallel' || parent?.initial?.target?.some((target) => target === node) === true;
  return {
    id: stateName(node),
    parent: parent === undefined || parent === root ? null : stateName(parent),
    name: node.key,
    kind: node.type === 'history' ? 'atomic' : node.type,
    initial: begins,
    description: node.description ?? '',
    rule: (node.meta as { readonly rule?: string } | undefined)?.rule ?? '',
    tags: node.tags,
    entry: node.entry.map(nameOf).filter(isNamed),
    // Without the interpreter's own actions, which cancel the timers of `after`.
    exit: node.exit.map(nameOf).filter(isNamed),
    invokes: node.invoke.map(({ src, id }) => (typeof src === 'string' ? src : id)),
  };
}

/** Parses an event type. The interpreter generates the types of delays, invoked actors and eventless transitions. */
export function labelOf(eventType: string): Pick<ChartTransition, 'kind' | 'label'> {
  if (eventType === '') return { kind: 'always', label: '' };
  const after = /^xstate\.after\.(\w+)\./.exec(eventType);
  if (after !== null) return { kind: 'after', label: after[1] ?? '' };
  const ended = /^xstate\.(done|error)\.actor\.(.+)$/.exec(eventType);
  if (ended !== null) return { kind: ended[1] === 'done' ? 'done' : 'error', label: ended[2] ?? '' };
  return { kind: 'event', label: eventType };
}

function nameOf(reference: unknown): string {
  if (typeof reference === 'string') return reference;
  if (typeof reference === 'function') return reference.name;
  return String((reference as { readonly type?: unknown }).type ?? '');
}

function isNamed(name: string): boolean {
  return name !== '' && !name.startsWith('xstate.') && name !== 'actions' && name !== 'raise' && name !== 'cancel';
}
