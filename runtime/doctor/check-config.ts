/**
 * Checks the home's files: every finding of the configuration, broken subscriptions, and of the cron jobs of each profile a
 * file that cannot be used, records that are no jobs, and jobs that are never due or whose responses do not arrive.
 * @see CFG-2, CRN-1 and CLI-2 in docs/specification.md
 */

import { findLooseEnds } from '../../actors/config/route-world.ts';
import { createJobsStore } from '../../actors/cron/jobs.store.ts';
import { profileOption } from '../../machines/base/names.ts';
import { shellWord } from '../../machines/base/shell-word.ts';
import { hintsOnHeld, holdOf } from '../../machines/config/hints.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import { restOf } from '../../machines/cron/job.ts';
import { outlookOf } from '../cron/job-outlook.ts';
import { type Examined, type Finding, good, placeIn, routesIn } from './finding.ts';

const listCure = '`agent webhook list` and `agent cron list` read them';

export function checkConfig({ home, paths, diagnostics, gateway }: Examined): readonly Finding[] {
  const findings: Finding[] = diagnostics.map((found) => ({
    level: found.severity === 'error' ? 'wrong' : 'warning',
    code: 'config-finding',
    place: found.line === 0 ? found.file : `${found.file}:${found.line}:${found.column}`,
    what: `${found.message} [${found.code}]`,
    // Lines of .env and findings about no line are not shown.
    cure: `\`agent config check\` shows ${found.sourceLine === '' ? 'whether it is corrected' : 'the line'}`,
  }));
  const { subscriptions } = routesIn(home);
  const looseEndsOf = findLooseEnds(home);
  for (const [profile, store] of subscriptions) {
    const { routes, problems, fault, isUnread } = store.current();
    const file = placeIn(paths.home, profilePaths(paths.home, profile).subscriptions);
    const remove = (name: string): string => `agent webhook remove ${shellWord(name)}${profileOption(profile)}`;
    if (isUnread === true) {
      const what = 'the subscriptions and cron jobs are in Postgres and were not read';
      findings.push({ level: 'note', code: 'not-asked', place: file, what, cure: listCure });
      continue;
    }
    const found = [
      ...problems,
      ...(fault === undefined ? [] : [{ name: '', message: fault.message, code: fault.code }]),
    ];
    for (const { name, message, code } of found) {
      findings.push({
        level: 'warning',
        code: 'subscription-finding',
        place: name === '' ? file : `${file}: ${name}`,
        what: `${message} [${code}]`,
        cure:
          name === ''
            ? 'correct the file, or move it away'
            : `correct it in that file, so that its sender’s secret stays, or ${remove(name)}`,
      });
    }
    for (const entry of routes) {
      const { route } = entry;
      if (route.enabled && holdOf(1, route) !== undefined)
        findings.push(heldFinding(`${file}: ${route.name}`, 'is held: events are accepted, and their runs wait'));
      for (const { message, code } of looseEndsOf(entry)) {
        findings.push({
          level: 'warning',
          code: 'subscription-finding',
          place: `${file}: ${route.name}`,
          what: `${message} [${code}]`,
          cure: `once that is corrected, nothing more is to be done; ${remove(route.name)} takes it away`,
        });
      }
    }
  }
  findings.push(...refusedBy(gateway), ...waitingFor(gateway), ...heldIn(home));
  return findings.length > 0 ? findings : [good('no findings')];
}

/** Runs that a person holds, perhaps for longer than was meant. */
function heldIn({ profiles }: Examined['home']): readonly Finding[] {
  return hintsOnHeld(profiles).map((what) => heldFinding('config.yaml', what));
}

function heldFinding(place: string, what: string): Finding {
  const cure = '`agent webhook release`, or raise the limit, and they begin';
  return { level: 'warning', code: 'runs-held', place, what, cure };
}

/** Settings that only a start reads. */
function waitingFor(gateway: Examined['gateway']): readonly Finding[] {
  return (gateway?.status.restart_for ?? []).map((place) => ({
    level: 'warning',
    code: 'restart-needed',
    place,
    what: 'the running gateway still uses the earlier value; the new one takes effect at the next start',
    cure: 'agent gateway restart, or restart its service',
  }));
}

/** A gateway that keeps its earlier configuration: a person who edits the file sees no effect, and wonders why. */
function refusedBy(gateway: Examined['gateway']): readonly Finding[] {
  const { fault, in_force } = { ...gateway?.status.config };
  if (fault === undefined || in_force === true) return [];
  return [
    {
      level: 'wrong',
      code: 'config-refused',
      place: 'the running gateway',
      what: `has refused the configuration on disk, and the last good one stays in force: ${fault}`,
      cure: 'correct what is named there, or what `agent config check` shows; then `agent gateway reload`',
    },
  ];
}

const correct = 'correct what it says in that file';

export function checkCron({ home, paths }: Examined): readonly Finding[] {
  // Shared documents are not read here; the check of the configuration reports that.
  if (home.documents.isShared) return [];
  return [...home.profiles.values()].flatMap((profile) => {
    const file = placeIn(paths.home, profile.paths.jobs);
    const store = createJobsStore({ document: home.documents.at(profile.paths.jobs) });
    const found = (place: string, what: string, cure: string): Finding => ({
      level: 'warning',
      code: 'cron-finding',
      place,
      what,
      cure,
    });
    const { jobs, strays, problem: fault } = store.read();
    return [
      ...(fault === undefined ? [] : [found(file, fault.replace(`${profile.paths.jobs}: `, ''), correct)]),
      ...strays.map(({ problem }) => found(file, problem, correct)),
      ...jobs.flatMap((job) => {
        const rest = restOf(job);
        if (rest === 'paused' || rest === 'disabled') return [];
        const { problem } = outlookOf(job, profile);
        const remove = `agent cron remove ${shellWord(job.id)}${profileOption(profile.name)}`;
        return problem === undefined ? [] : [found(`${file}: ${job.name}`, problem, `${correct}, or ${remove}`)];
      }),
    ];
  });
}
