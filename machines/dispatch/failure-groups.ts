/**
 * Groups deliveries with the same target and the same reason, ignoring what differs between attempts (ids, times, counts).
 * Says what a person can do about each group, and whether a retry can help.
 * @see INS-4 and DLV-4 in docs/specification.md
 */

import { canonicalTarget, targetTitle } from '../config/targets.ts';
import type { DeliveryRecord } from '../webhook/record.ts';
import { type RefusalClass, refusalWords } from './send-outcome.ts';

/**
 * `now`: the cause passes on its own. `afterFix`: only after the cause is removed. `never`: the cause is in the message or
 * its destination, which a retry does not change; a replay does. `unsure`: the message may have arrived.
 */
export type RetryHelps = 'now' | 'afterFix' | 'never' | 'unsure';

export type Failure = Pick<
  DeliveryRecord,
  'target' | 'status' | 'reason' | 'route' | 'chat' | 'queuedAtMs' | 'endedAtMs'
>;

export interface FailureGroup {
  /** The same for all failures of the group, in every process and at any time. */
  readonly key: string;
  /** The platform's own name. */
  readonly target: string;
  /** Subject and cause, such as "Slack does not accept the credentials (HTTP 401)". */
  readonly title: string;
  readonly advice: string;
  /** Of the newest failure, unless grouped by cause. */
  readonly helps: RetryHelps;
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
  /** Sorted by name. */
  readonly routes: readonly string[];
}

/** Whether a delivery waits for a person: it is not retried automatically, and was not dropped. */
export function isOpenFailure({ status }: Pick<DeliveryRecord, 'status'>): boolean {
  return openFailureStatuses.some((open) => open === status);
}

export function failedAtMs({ endedAtMs, queuedAtMs }: Pick<Failure, 'endedAtMs' | 'queuedAtMs'>): number {
  return endedAtMs ?? queuedAtMs;
}

export const openFailureStatuses = ['deadLettered', 'unknown'] as const;

const noReason = 'the reason is not known';

/** Remarks about one message that do not describe the cause. */
const remarks =
  / \(piece \d+ of \d+; [^)]*\)|; an earlier request got no answer and may have arrived|; not before \d+ s(?:, and a delivery is retried for a day)?$/g;
/** What differs between failures of one cause, with its replacement. */
const varying: readonly (readonly [RegExp, string])[] = [
  [/\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2})?(?:\.\d+)?(?:Z|[+-]\d{2}:?\d{2})?/g, '…'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '…'],
  [/\b(?=[0-9a-f]*\d)[0-9a-f]{12,}\b/gi, '…'],
  [/\b\d+(?:\.\d+)?(?= ?(?:ms|s|m|h|seconds?|minutes?|hours?|bytes|characters)\b)/g, '…'],
  [/\b\d{6,}\b/g, '…'],
];

/** Returns the reason without what varies between failures; equal causes give equal texts. */
export function normaliseReason(reason: string): string {
  const shared = reason.replace(remarks, '');
  return varying.reduce((text, [pattern, by]) => text.replace(pattern, by), shared).trim();
}

export const failureGroupings = ['cause', 'target', 'route'] as const;
export type FailureGrouping = (typeof failureGroupings)[number];

export function failureKey(
  { target, reason, status, route }: Pick<Failure, 'target' | 'reason' | 'status' | 'route'>,
  by: FailureGrouping = 'cause',
): string {
  const name = nameOf(target);
  if (by === 'target') return `target/${name}`;
  if (by === 'route') return `route/${route}`;
  return `${name}/${status === 'unknown' ? 'unsure' : 'failed'}/${causeOf(target, reason)}`;
}

/** Returns the groups of failures in any order, the largest first; equally large ones by their latest failure. */
export function groupFailures(failures: Iterable<Failure>, by: FailureGrouping = 'cause'): readonly FailureGroup[] {
  const groups = new Map<
    string,
    { newest: Failure; count: number; firstMs: number; lastMs: number; routes: Set<string> }
  >();
  for (const failure of failures) {
    const key = failureKey(failure, by);
    const atMs = failedAtMs(failure);
    const group = groups.get(key);
    if (group === undefined) {
      groups.set(key, { newest: failure, count: 1, firstMs: atMs, lastMs: atMs, routes: new Set([failure.route]) });
      continue;
    }
    if (atMs > group.lastMs) group.newest = failure;
    group.count += 1;
    group.firstMs = Math.min(group.firstMs, atMs);
    group.lastMs = Math.max(group.lastMs, atMs);
    group.routes.add(failure.route);
  }
  return [...groups]
    .map(([key, { newest, routes, ...counted }]) => {
      const { target, reason } = newest;
      const { helps, advice } = adviceOn(newest);
      return {
        key,
        target: nameOf(target),
        title: by === 'cause' ? titleOf(target, reason) : by === 'target' ? targetTitle(target) : newest.route,
        advice: by === 'cause' ? advice : '',
        helps,
        ...counted,
        routes: [...routes].sort(),
      };
    })
    .sort((one, other) => other.count - one.count || other.lastMs - one.lastMs);
}

/** The normalised reason without the target's name, which the group shows separately. */
function causeOf(target: string, reason = noReason): string {
  const [name = '', ...rest] = normaliseReason(reason).split(': ');
  // An alias, as which the configuration or the route may have written it, counts too.
  return (nameOf(name) === nameOf(target) ? rest : [name, ...rest]).join(': ');
}

function nameOf(target: string): string {
  return canonicalTarget(target) ?? target;
}

function titleOf(target: string, reason: string | undefined): string {
  const title = targetTitle(target);
  const cause = causeOf(target, reason);
  return cause.startsWith('the platform ') ? `${title} ${cause.slice('the platform '.length)}` : `${title}: ${cause}`;
}

interface Cure {
  readonly helps: RetryHelps;
  /** A replay helps too, if the route was corrected instead. */
  readonly orReplay?: true;
  /** @param key of the target in config.yaml */
  readonly advice: (key: string) => string;
}

/** A retry sends the stored text to the stored destination; only the target's settings are read again. */
const unsure: Cure = {
  helps: 'unsure',
  advice: () => 'The message may have arrived. Look for it there, then resolve it.',
};
const other: Cure = { helps: 'afterFix', advice: () => 'Correct what the reason names, then retry.' };
const login: Cure = {
  helps: 'afterFix',
  advice: () => 'Log in with `gh auth login` as the gateway’s user, then retry.',
};

const tooLong: Cure = {
  helps: 'never',
  advice: () => 'Ask for less text in `prompt` of the route, then replay the events.',
};

/** By the class of a refusal, which its words begin with; the platform's own words follow and decide nothing. */
const ofRefusals: Readonly<Record<RefusalClass, Cure>> = {
  auth: { helps: 'afterFix', advice: (key) => `Correct the credentials of \`${key}\`, then retry.` },
  notFound: {
    helps: 'afterFix',
    orReplay: true,
    advice: () => 'Invite the bot there and retry; or correct `deliver_extra` of the route and replay the events.',
  },
  forbidden: { helps: 'afterFix', advice: () => 'Let the account write there, then retry.' },
  tooLong,
  permanent: {
    helps: 'never',
    advice: () =>
      'Correct what the platform names in `prompt` or `deliver_extra` of the route, then replay the events.',
  },
};

/** Of other reasons, the first match applies. The spec compares the words with those in the code of the targets. */
const cures: readonly (readonly [words: RegExp, cure: Cure])[] = [
  [/stopped before/, { helps: 'now', advice: () => 'The gateway stopped before it was sent. Retry.' }],
  [
    /fewer messages|is busy|asks for a pause/,
    { helps: 'now', advice: (key) => `Retry later; \`messages_per_minute\` of \`${key}\` slows the gateway down.` },
  ],
  [
    /was not reached|did not reach/,
    { helps: 'now', advice: () => 'Check the network of the gateway with `agent doctor`, then retry.' },
  ],
  [
    /the platform failed|was not taken|gave no access token|did not accept the report/,
    { helps: 'now', advice: () => 'Retry once the platform answers again.' },
  ],
  [
    /is not enabled|cannot be used|is not connected|check (?:api_base|url|bridge_url)\b/,
    {
      helps: 'afterFix',
      advice: (key) => `Correct \`${key}\` in config.yaml until Targets shows it connected, then retry.`,
    },
  ],
  [
    /target ".*" is not known/,
    { helps: 'never', advice: () => 'Correct `deliver` of the route, then replay the events.' },
  ],
  [/is not configured any more/, { helps: 'afterFix', advice: () => 'Add the profile again and retry, or drop them.' }],
  [
    /was not found in the gateway/,
    { helps: 'afterFix', advice: () => 'Install the program on the gateway’s host, then retry.' },
  ],
  [/not logged in/, login],
  [
    /nowhere to deliver to/,
    {
      helps: 'afterFix',
      orReplay: true,
      advice: (key) =>
        `Set \`home_channel\` of \`${key}\` and retry; or set \`deliver_extra\` of the route and replay the events.`,
    },
  ],
  [
    /is no place to deliver to|is not filled in|leave deliver_extra|deliver_extra\.\w+ must|no (?:such notify )?service/,
    { helps: 'never', advice: () => 'Correct `deliver_extra` of the route, then replay the events.' },
  ],
  [/is too long/, tooLong],
];

/** Returns what a person can do about one failure. */
export function adviceOn(
  failure: Pick<Failure, 'target' | 'status' | 'reason'>,
): Omit<Cure, 'advice'> & { readonly advice: string } {
  const { advice, ...helps } = cureOf(failure);
  return { ...helps, advice: advice(`platforms.${nameOf(failure.target)}`) };
}

function cureOf({ target, status, reason }: Pick<Failure, 'target' | 'status' | 'reason'>): Cure {
  if (status === 'unknown') return unsure;
  const cause = causeOf(target, reason);
  const refusal = (Object.keys(ofRefusals) as RefusalClass[]).find((one) => cause.startsWith(refusalWords[one]));
  if (refusal === undefined) return cures.find(([words]) => words.test(cause))?.[1] ?? other;
  // Its credentials belong to the GitHub client.
  const isOfClient = refusal === 'auth' && nameOf(target) === 'github_comment';
  return isOfClient ? login : ofRefusals[refusal];
}
