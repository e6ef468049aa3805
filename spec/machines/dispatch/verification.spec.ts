import t from 'tap';
import { refused, type VerifyOutcome } from '../../../machines/dispatch/send-outcome.ts';
import { readVerification, type Verification } from '../../../machines/dispatch/verification.ts';

const read = (outcome: VerifyOutcome, failures = 0, jitter = 0, name = 'slack'): Verification =>
  readVerification(outcome, { name, failures, jitter });

t.test(
  'DLV-1 · DLV-2 · what a check says decides whether deliveries go there, when it is repeated, and the cure',
  (t) => {
    const quarter = 900_000;
    const rows: readonly (readonly [Verification, object])[] = [
      [read({ kind: 'verified', as: 'ops' }), { kind: 'connected', as: 'ops', note: null, againInMs: quarter }],
      [read({ kind: 'verified' }), { kind: 'connected', as: null }],
      [read({ kind: 'verified' }, 0, 0.5), { againInMs: 787_500 }],
      [read({ kind: 'unverifiable', reason: 'no call' }), { kind: 'connected', note: 'no call' }],
      [read(refused('forbidden', 'may not look') as VerifyOutcome), { kind: 'connected', note: 'may not look' }],
      [
        read(refused('auth', 'no') as VerifyOutcome),
        {
          kind: 'failed',
          refused: true,
          why: /^no; correct platforms\.slack .*`agent gateway reload`$/,
          againInMs: quarter,
        },
      ],
      // Its credentials are those of its client, not keys of config.yaml.
      [
        read(refused('auth', 'run `gh auth login`') as VerifyOutcome, 0, 0, 'codehost_comment'),
        { why: /^run `gh auth login`, then reload with `agent gateway reload`$/ },
      ],
      [read(refused('notFound', 'no such place') as VerifyOutcome), { kind: 'failed', refused: true }],
      [
        read({ kind: 'transient', reason: 'away' }),
        { kind: 'failed', refused: false, why: /^away; .*automatically$/, againInMs: 5_000 },
      ],
      [read({ kind: 'transient', reason: 'away' }, 3), { againInMs: 40_000 }],
      [read({ kind: 'transient', reason: 'away' }, 40), { againInMs: quarter }],
      [read({ kind: 'transient', reason: 'away' }, 3, 0.5), { againInMs: 30_000 }],
      [read({ kind: 'transient', reason: 'away', notBeforeMs: 60_000 }, 3), { againInMs: 60_000 }],
      [
        read({ kind: 'rateLimited', reason: 'slow', retryAfterMs: 60_000 }),
        { kind: 'failed', refused: false, againInMs: 60_000 },
      ],
      [read({ kind: 'rateLimited', reason: 'slow', retryAfterMs: 0 }), { againInMs: 5_000 }],
    ];
    for (const [found, expected] of rows) t.match(found, expected, JSON.stringify(expected));
    t.end();
  },
);
