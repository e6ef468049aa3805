/**
 * The gateways of one database, for their commands: lists them, and routes a request to the gateway that it concerns: a
 * named one, the leader for deliveries, or the one that has the run or the question.
 * @see SCA-3 and CLI-3 in docs/specification.md
 */

import type { Neighbour, Neighbours } from '../../actors/store/postgres-neighbours.ts';
import { causeOf } from '../../machines/base/fault.ts';
import type { Json } from '../../machines/base/json.ts';
import { readJson } from '../../machines/base/read-json.ts';
import type { Asker } from '../observe/audit.ts';
import { answerRequest } from './answer.ts';
import { type CommandHost, daemonOf } from './command.ts';
import type { ApprovalRow } from './contract/approvals.ts';
import type { CancelledRuns } from './contract/deliveries.ts';
import type { GatewayStatus, NodeRow, Nodes } from './contract/gateway.ts';
import { Refusal, refuse } from './contract/refusal.ts';
import { formatError, formatRequest, type RpcRequest, readMessage, rpcCodes } from './protocol.ts';
import { createQuestionsElsewhere } from './questions-elsewhere.ts';

interface NodesPorts {
  readonly neighbours: () => Promise<Neighbours>;
  readonly session: () => string | undefined;
  readonly leads: () => boolean;
  readonly host: () => CommandHost;
  readonly redact: (text: string) => string;
  /** A clock that only rises. */
  readonly steadyMs?: () => number;
}

/** A request of a caller, and how this gateway itself answers it. */
interface Routed {
  readonly request: Pick<RpcRequest, 'method' | 'params'>;
  readonly asker: Asker | undefined;
  readonly own: () => Promise<Json>;
}

/** Methods that another gateway may be sent: reads, and people's actions on runs, deliveries and questions. */
const askable: ReadonlySet<string> = new Set([
  ...['approvals.answer', 'approvals.answered', 'approvals.list', 'approvals.show'],
  ...['deliveries.confirm', 'deliveries.drop', 'deliveries.retry', 'deliveries.targets'],
  ...['gateway.status', 'inspect.show', 'inspect.tree', 'inspect.watch', 'inspect.why', 'mcp.list', 'runs.cancel'],
]);
const ofLeader: ReadonlySet<string> = new Set(['deliveries.confirm', 'deliveries.drop', 'deliveries.retry']);
/** The refusal codes of a gateway that does not have the record, by method. */
const isElsewhere: Readonly<Record<string, string>> = {
  'approvals.answer': 'approval-unknown',
  'approvals.show': 'approval-unknown',
  'runs.cancel': 'run-elsewhere',
};
const unknownAsker: Asker = { who: 'another gateway', from: 'terminal' };
const lookMs = 3_000;
/** An action may take long, for example on all dead letters of a history; a gateway that ends is not waited for. */
const actMs = 600_000;

export function createNodes(ports: NodesPorts): Nodes {
  const { steadyMs = () => performance.now() } = ports;

  async function all(): Promise<{ readonly asks: Neighbours; readonly nodes: readonly Neighbour[] }> {
    const asks = await ports.neighbours();
    try {
      return { asks, nodes: await asks.all() };
    } catch (thrown) {
      refuse('journal-unavailable', `the database cannot be asked for the other gateways: ${causeOf(thrown)}`);
    }
  }

  async function others(): Promise<{ readonly asks: Neighbours; readonly nodes: readonly Neighbour[] }> {
    const { asks, nodes } = await all();
    return { asks, nodes: nodes.filter(({ session }) => session !== ports.session()) };
  }

  async function askOne(
    asks: Neighbours,
    { node, session }: Neighbour,
    { method, params }: Routed['request'],
    asker?: Asker,
  ): Promise<Json> {
    const waitMs = isElsewhere[method] === undefined && !ofLeader.has(method) ? lookMs : actMs;
    const question = JSON.stringify({ request: formatRequest({ id: 1, method, params }), asker });
    const beganMs = steadyMs();
    const answer = await asks.ask(session, question, waitMs);
    if (answer === undefined) {
      const seconds = Math.ceil((steadyMs() - beganMs) / 1_000);
      refuse(
        'node-silent',
        `gateway "${node}" gave no answer in ${seconds} s, or has ended; \`agent gateway nodes\` lists those that live`,
      );
    }
    const read = readMessage(answer);
    if (read.kind === 'result') return read.result;
    const { message, data } =
      read.kind === 'error' ? read.error : { message: 'it answered with no result', data: undefined };
    throw Refusal.carrying(data?.code ?? 'node-silent', `gateway "${node}": ${message}`);
  }

  async function askNamed(node: string, { request, asker, own }: Routed): Promise<Json> {
    const { asks, nodes } = await all();
    const meant = meantNode(node, nodes);
    if (meant.session === ports.session()) return own();
    if (!askable.has(request.method))
      refuse('node-unknown', `${request.method} is answered by the gateway of the home alone; run the command there`);
    return askOne(asks, meant, request, asker);
  }

  async function askLeader({ request, asker, own }: Routed): Promise<Json> {
    const { asks, nodes } = await others();
    const leader = nodes.find(({ isLeader }) => isLeader);
    // Without a leader nothing is sent, so any gateway may change what is on disk.
    return leader === undefined ? own() : askOne(asks, leader, request, asker);
  }

  /** Where this gateway does not have the record, one of the others may. */
  async function askHolder({ request, asker, own }: Routed): Promise<Json> {
    const { method, params } = request;
    try {
      return await own();
    } catch (thrown) {
      if (!(thrown instanceof Refusal) || thrown.code !== isElsewhere[method]) throw thrown;
      const { asks, nodes } = await others().catch(() => {
        throw thrown;
      });
      // A gateway that does not answer does not stop the search.
      let failure: unknown = thrown;
      for (const one of nodes) {
        try {
          const answer = await askOne(asks, one, request, asker);
          if (method === 'approvals.answer') questions.answered(one.session, String(params.id));
          return answer;
        } catch (refused) {
          if (!(refused instanceof Refusal && refused.code === thrown.code)) failure = refused;
        }
      }
      throw failure;
    }
  }

  /** Each gateway cancels the runs that it holds; this one first, and with them those that wait for any. */
  async function cancelEverywhere({ request, asker, own }: Routed): Promise<Json> {
    const answers = [await own()];
    const { asks, nodes } = await others();
    const asked = nodes.map((one) => askOne(asks, one, request, asker).catch((thrown: unknown) => leftBy(one, thrown)));
    answers.push(...(await Promise.all(asked)));
    // The answers are trusted to have the contract's type.
    const all = answers as unknown as CancelledRuns[];
    const sum = (count: (one: CancelledRuns) => number): number => all.reduce((total, one) => total + count(one), 0);
    const refusals = all.flatMap((one) => one.refusals);
    return { cancelled: sum((one) => one.cancelled), left: sum((one) => one.left), refusals };
  }

  async function ofOthers<Row extends object>(method: string): Promise<readonly (Row & { readonly node: string })[]> {
    const { asks, nodes } = await others().catch(() => ({ asks: undefined, nodes: [] }));
    const found = await Promise.all(
      nodes.map(async (one) => {
        const rows = asks && (await askOne(asks, one, { method, params: {} }).catch(() => []));
        return rows === undefined ? [] : rowsOf<Row>(one, rows);
      }),
    );
    return found.flat();
  }

  const questions = createQuestionsElsewhere(async () => {
    const { asks, nodes } = await others();
    return nodes.map((one) => ({
      session: one.session,
      ask: async () => rowsOf<ApprovalRow>(one, await askOne(asks, one, { method: 'approvals.list', params: {} })),
    }));
  }, steadyMs);

  return {
    async list() {
      const { asks, nodes } = await all();
      return Promise.all(
        nodes.map(async (one): Promise<NodeRow> => {
          const { node, session, isLeader, silentMs } = one;
          const row = { node, session, leader: isLeader, self: session === ports.session(), silent_ms: silentMs };
          try {
            if (row.self) return { ...row, status: daemonOf(ports.host()).status() };
            const answer = await askOne(asks, one, { method: 'gateway.status', params: {} });
            // The answer of another gateway is trusted to have the contract's type.
            return { ...row, status: answer as unknown as GatewayStatus };
          } catch (thrown) {
            return { ...row, error: causeOf(thrown) };
          }
        }),
      );
    },

    async routed({ method, params: { node, ...params } }, asker, own) {
      const routed = { request: { method, params }, asker, own };
      if (typeof node === 'string') return askNamed(node, routed);
      if (ofLeader.has(method) && !ports.leads()) return askLeader(routed);
      if (method === 'runs.cancel' && params.all === true) return cancelEverywhere(routed);
      return askHolder(routed);
    },

    ofOthers,

    questionsOfOthers: questions.known,
    askQuestionsOfOthers: questions.ask,

    answer: (question) => answerNeighbour(question, ports),
  };
}

/** The part of a sweep that a gateway did not do. */
function leftBy({ node }: Neighbour, thrown: unknown): Json {
  if (!(thrown instanceof Refusal)) throw thrown;
  return { cancelled: 0, left: 1, refusals: [{ id: node, code: thrown.code, error: thrown.message }] };
}

function meantNode(node: string, nodes: readonly Neighbour[]): Neighbour {
  const named = nodes.filter((one) => one.node === node || one.session === node);
  const [meant] = named;
  if (meant === undefined) {
    const known = nodes.map((one) => `"${one.node}"`).join(', ');
    return refuse('node-unknown', `no gateway "${node}" lives; these do: ${known}`);
  }
  if (named.length === 1) return meant;
  const sessions = named.map(({ session }) => session).join(', ');
  return refuse(
    'node-unknown',
    `${named.length} gateways are named "${node}"; set gateway.node, or give a session: ${sessions}`,
  );
}

/** Answers a question of another gateway, which is not passed on. */
async function answerNeighbour(question: string, { host: hostOf, redact }: NodesPorts): Promise<string> {
  const asked = readJson(question) as { readonly request?: unknown; readonly asker?: Asker } | undefined;
  const message = readMessage(typeof asked?.request === 'string' ? asked.request : '');
  const request = message.kind === 'request' ? message.request : { id: 1, method: '', params: {} };
  const { id, method, params } = request;
  if (!askable.has(method))
    return formatError(id, { code: rpcCodes.method, message: `no method "${method}" for another gateway` });
  // A rule for further calls is written into the home of this gateway.
  if (params.remember === 'always')
    return formatError(id, {
      code: rpcCodes.refused,
      message: 'only this gateway itself may always allow a tool; answer for the call or the run, or at this gateway',
      data: { code: 'approval-remember' },
    });
  const ends: (() => void)[] = [];
  const peer = {
    notify: () => {},
    onEnd(end: () => void) {
      ends.push(end);
      return () => {};
    },
    redact,
    asker: asked?.asker ?? unknownAsker,
  };
  const { nodes: _, ...host } = hostOf();
  const answer = (await answerRequest(request, host, peer))();
  // Nothing follows the answer.
  for (const end of ends) end();
  return answer;
}

/** The rows that a gateway answered, each with its name. They are trusted to have the contract's type. */
function rowsOf<Row extends object>({ node }: Neighbour, answer: Json): (Row & { readonly node: string })[] {
  const rows = Array.isArray(answer) ? answer : [];
  return rows.map((row) => ({ ...(row as object), node }) as Row & { node: string });
}
