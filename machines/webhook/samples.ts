/**
 * Sample events in the documented formats of their platforms, with the platform's headers and signed as the route verifies.
 * The formats are the platforms' own, the values are made up. Sends nothing.
 * @see SUB-4 in docs/specification.md
 * @see [GitHub's events](https://docs.github.com/en/webhooks/webhook-events-and-payloads)
 * @see [GitLab's events](https://docs.gitlab.com/user/project/integrations/webhook_events/)
 */

import { eachText, type Json, type JsonObject } from '../base/json.ts';
import { meantOr } from '../config/nearest.ts';
import type { Route } from '../config/route.ts';
import type { SignatureScheme } from '../config/signature-scheme.ts';
import { type Source, type SourceName, sources } from '../config/sources.ts';
import { typeReader } from './envelope.ts';
import { type SignedEvent, signEvent } from './sign-event.ts';
import { signV2 } from './signature.ts';
import { sourceSamples } from './source-samples.ts';

/** The parameters for sending a sample. */
export interface SampleToSign {
  /** Undefined if the route checks no signature. */
  readonly secret?: string | undefined;
  /** How the route verifies. */
  readonly route: Pick<Route, 'sender' | 'signature'>;
  /** A fresh delivery id, a UUID; a second event of the same id would be a duplicate. */
  readonly id: string;
  /** The route's path, as it is sent. */
  readonly path: string;
  readonly publicUrl?: string | undefined;
  readonly nowMs: number;
}

interface Sample {
  /** The platform's event type. */
  readonly type: string;
  readonly payload: JsonObject;
}

const octocat = { login: 'octocat', id: 583231, html_url: 'https://github.com/octocat', type: 'User' };
const github = {
  repository: {
    id: 1296269,
    name: 'hello-world',
    full_name: 'octocat/hello-world',
    private: false,
    owner: octocat,
    html_url: 'https://github.com/octocat/hello-world',
    clone_url: 'https://github.com/octocat/hello-world.git',
    default_branch: 'main',
  },
  sender: octocat,
};
const issue = {
  number: 12,
  title: 'The greeting lacks a comma',
  body: 'It says "Hello world".',
  state: 'open',
  html_url: 'https://github.com/octocat/hello-world/issues/12',
  labels: [{ name: 'bug', color: 'd73a4a' }],
  user: octocat,
};
const commit = {
  id: '6dcb09b5b57875f334f61aebed695e2e4193db5e',
  message: 'Greet with a comma',
  timestamp: '2026-01-15T09:30:00Z',
  url: 'https://github.com/octocat/hello-world/commit/6dcb09b5b57875f334f61aebed695e2e4193db5e',
  author: { name: 'Mona Octocat', email: 'octocat@example.com', username: 'octocat' },
  added: [],
  removed: [],
  modified: ['README.md'],
};
const gitlab = {
  user: { id: 1, name: 'Mona Fox', username: 'mona', email: 'mona@example.com' },
  project: {
    id: 15,
    name: 'hello-world',
    web_url: 'https://gitlab.example.com/mona/hello-world',
    git_http_url: 'https://gitlab.example.com/mona/hello-world.git',
    path_with_namespace: 'mona/hello-world',
    default_branch: 'main',
  },
};

const samples: Readonly<Record<string, Sample>> = {
  'github:ping': { type: 'ping', payload: { zen: 'Keep it logically awesome.', hook_id: 30, hook: {}, ...github } },
  'github:push': {
    type: 'push',
    payload: {
      ref: 'refs/heads/main',
      before: '762941318ee16e59dabbacb1b4049eec22f0d303',
      after: commit.id,
      created: false,
      deleted: false,
      forced: false,
      compare: 'https://github.com/octocat/hello-world/compare/762941318ee1...6dcb09b5b578',
      commits: [commit],
      head_commit: commit,
      pusher: { name: 'octocat', email: 'octocat@example.com' },
      ...github,
    },
  },
  'github:pull_request.opened': {
    type: 'pull_request',
    payload: {
      action: 'opened',
      number: 7,
      pull_request: {
        number: 7,
        title: 'Greet with a comma',
        body: 'Closes #12.',
        state: 'open',
        draft: false,
        merged: false,
        html_url: 'https://github.com/octocat/hello-world/pull/7',
        diff_url: 'https://github.com/octocat/hello-world/pull/7.diff',
        user: octocat,
        head: { ref: 'comma', sha: commit.id, label: 'octocat:comma' },
        base: { ref: 'main', sha: '762941318ee16e59dabbacb1b4049eec22f0d303', label: 'octocat:main' },
        additions: 1,
        deletions: 1,
        changed_files: 1,
      },
      ...github,
    },
  },
  'github:issues.opened': { type: 'issues', payload: { action: 'opened', issue, ...github } },
  'github:issue_comment.created': {
    type: 'issue_comment',
    payload: {
      action: 'created',
      issue,
      comment: {
        id: 99262140,
        body: 'I can have a look.',
        html_url: 'https://github.com/octocat/hello-world/issues/12#issuecomment-99262140',
        user: octocat,
      },
      ...github,
    },
  },
  'gitlab:push': {
    type: 'Push Hook',
    payload: {
      object_kind: 'push',
      event_name: 'push',
      ref: 'refs/heads/main',
      before: '95790bf891e76fee5e1747ab589903a6a1f80f22',
      after: 'da1560886d4f094c3e6c9ef40349f7d38b5d27d7',
      user_name: gitlab.user.name,
      user_username: gitlab.user.username,
      project_id: 15,
      project: gitlab.project,
      commits: [
        {
          id: 'da1560886d4f094c3e6c9ef40349f7d38b5d27d7',
          message: 'Greet with a comma',
          url: 'https://gitlab.example.com/mona/hello-world/-/commit/da1560886d4f094c3e6c9ef40349f7d38b5d27d7',
          author: { name: gitlab.user.name, email: gitlab.user.email },
        },
      ],
      total_commits_count: 1,
    },
  },
  'gitlab:merge_request.open': {
    type: 'Merge Request Hook',
    payload: {
      object_kind: 'merge_request',
      event_type: 'merge_request',
      ...gitlab,
      object_attributes: {
        id: 93,
        iid: 16,
        title: 'Greet with a comma',
        description: 'Closes #12.',
        state: 'opened',
        action: 'open',
        source_branch: 'comma',
        target_branch: 'main',
        url: 'https://gitlab.example.com/mona/hello-world/-/merge_requests/16',
        last_commit: { id: 'da1560886d4f094c3e6c9ef40349f7d38b5d27d7', message: 'Greet with a comma' },
      },
    },
  },
};

const ofSources = Object.entries(sourceSamples).flatMap(([name, events]) =>
  Object.entries(events).map(([type, payload]): [string, Sample] => [`${name}:${type}`, { type, payload }]),
);
const all: Readonly<Record<string, Sample>> = { ...samples, ...Object.fromEntries(ofSources) };

/** The samples by name: `platform:event`, with the action if events of the type have one. */
export const sampleNames: readonly string[] = Object.keys(all);

/** What `findSample` takes: the names, then the events without their platform. */
export const sampleWords: readonly string[] = [...new Set([...sampleNames, ...sampleNames.map(eventOf)])];

/** The samples of a source; all if the route has none. */
export function samplesFor(source: SourceName | undefined): readonly string[] {
  return source === undefined ? sampleNames : sampleNames.filter((name) => platformOf(name) === source);
}

/** The first sample of a source whose event type a route accepts. */
export function sampleFor(source: SourceName | undefined, accepts: (type: string) => boolean): string | undefined {
  return samplesFor(source).find((name) => accepts((all[name] as Sample).type));
}

/**
 * The full name of a sample given by it, or by its event alone if only one platform, or the route's source, has that.
 * @returns `ok: false` with the reason and what to write instead, if no sample or several match
 */
export function findSample(
  asked: string,
  source?: SourceName,
): { readonly ok: true; readonly name: string } | { readonly ok: false; readonly why: string } {
  const own = `${source}:${asked}`;
  if (Object.hasOwn(all, own)) return { ok: true, name: own };
  const meant = sampleNames.filter((name) => name === asked || eventOf(name) === asked);
  const [name] = meant;
  if (name === undefined) {
    const alike = sampleNames.filter((one) => one.includes(asked));
    const near =
      alike.length > 0 ? alike : sampleNames.filter((one) => platformOf(one) === (source ?? platformOf(asked)));
    const known = near.length > 0 ? `known are ${near.join(', ')}` : 'docs/sources.md lists them, such as github:push';
    return { ok: false, why: `no sample is named "${asked}"; ${meantOr(asked, sampleWords, known)}` };
  }
  return meant.length === 1 ? { ok: true, name } : { ok: false, why: `"${asked}" is ${meant.join(' and ')}; name one` };
}

function platformOf(name: string): string {
  return name.slice(0, Math.max(0, name.indexOf(':')));
}

function eventOf(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

/**
 * A sample as its platform would send it, signed for the route; unsigned if only the platform can sign.
 * @param name one of `sampleNames`
 */
export function signSample(name: string, { secret, route, id, path, publicUrl, nowMs }: SampleToSign): SignedEvent {
  const { type, payload: template } = all[name] as Sample;
  const platform = platformOf(name) as SourceName;
  const source: Source = sources[platform];
  const own = schemeOf(route, platform);
  const payload = filled(template, id) as JsonObject;
  const isIdInside = JSON.stringify(template) !== JSON.stringify(payload);
  // A message of Gmail has no type, and none that it never has is put into its sample.
  const isTypeless = platform === 'google-pubsub' && type === 'gmail';
  const isTypeInside = isTypeless || (isIdInside && typeReader(source)({}, payload) === type);
  const event = isTypeInside ? undefined : type;
  const signed = signEvent(
    own ?? (source.schemes[0] as SignatureScheme),
    { name: platform, secret: own && secret, publicUrl },
    { payload, event, id, isIdInside, path, nowMs },
    source,
  );
  if (own !== undefined || secret === undefined) return signed;
  return { ...signed, headers: { ...signed.headers, ...signV2(secret, Math.floor(nowMs / 1_000), signed.body) } };
}

/** The scheme with which a route verifies a platform's samples; undefined for the generic one. */
function schemeOf({ sender, signature }: SampleToSign['route'], platform: SourceName): SignatureScheme | undefined {
  if (signature !== undefined) return signature;
  if (sender === undefined && platform !== 'github' && platform !== 'gitlab') return undefined;
  const { schemes }: Source = sources[sender ?? platform];
  // GitLab's token, which routes without a source accept in this header.
  return (sender ?? platform) === 'gitlab' ? schemes[1] : schemes[0];
}

function filled(template: Json, id: string): Json {
  const number = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
  return eachText(template, (text) =>
    text === '{number}' ? number : text.replace('{number}', `${number}`).replace('{id}', id),
  );
}
