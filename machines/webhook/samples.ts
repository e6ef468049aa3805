/**
 * Sample events in the documented shapes of their platforms, each signed and headed as its platform does. The shapes are
 * theirs, the values made up. Draws nothing and sends nothing.
 * @see SUB-4 in docs/specification.md
 * @see [GitHub's events](https://docs.github.com/en/webhooks/webhook-events-and-payloads)
 * @see [GitLab's events](https://docs.gitlab.com/user/project/integrations/webhook_events/)
 */

import type { JsonObject } from '../base/json.ts';
import { meantOr } from '../config/nearest.ts';
import { type Headers, signGithub } from './signature.ts';

/** What a sample is sent with. */
export interface SampleSeal {
  /** Undefined where the route checks no signature. */
  readonly secret?: string;
  /** A fresh delivery id; a second event of the same id would be a duplicate. */
  readonly id: string;
}

export interface SealedSample {
  readonly headers: Headers;
  readonly body: string;
}

interface Sample {
  /** The event type as the platform's header has it. */
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

/** The samples by name: `platform:event`, with the action where events of the type have one. */
export const sampleNames: readonly string[] = Object.keys(samples);

/**
 * The whole name of a sample that is asked for by it, or by its event alone where one platform has that.
 * @returns `ok: false` with why, and what to write instead, where no sample or several are meant
 */
export function findSample(
  asked: string,
): { readonly ok: true; readonly name: string } | { readonly ok: false; readonly why: string } {
  const meant = sampleNames.filter((name) => name === asked || name.split(':')[1] === asked);
  const [name] = meant;
  if (name === undefined) {
    return { ok: false, why: `no sample is named "${asked}"; ${meantOr(asked, sampleNames, sampleNames.join(', '))}` };
  }
  return meant.length === 1 ? { ok: true, name } : { ok: false, why: `"${asked}" is ${meant.join(' and ')}; name one` };
}

/** A sample as its platform would send it to a route. @param name one of `sampleNames` */
export function sealSample(name: string, { secret, id }: SampleSeal): SealedSample {
  const { type, payload } = samples[name] as Sample;
  const body = JSON.stringify(payload);
  const headers = name.startsWith('github:')
    ? { 'x-github-event': type, 'x-github-delivery': id, ...(secret === undefined ? {} : signGithub(secret, body)) }
    : {
        'x-gitlab-event': type,
        'x-request-id': id,
        ...(secret === undefined ? {} : { 'x-gitlab-token': Buffer.from(secret, 'utf8').toString('latin1') }),
      };
  return { headers, body };
}
