/** What holds on every way through the chart of a login, in a browser or by device code. */

import t from 'tap';
import type { AnyStateMachine, EventObject } from 'xstate';
import { walksOf, wordsOfWalk as words } from '../walks.ts';

interface Told {
  readonly output?: { readonly kind: string; readonly identity?: string; readonly intervalMs?: number };
}

interface LoginContext {
  readonly why: string | null;
}

interface LoginWays {
  readonly events: readonly EventObject[];
  /** The ids of the rules that the ways prove. */
  readonly rule: string;
  /** Fewer ways to an end show that the walk is cut short. */
  readonly fewest: number;
  /** The last step before the tokens are written. */
  readonly granted: object;
}

/** Adds a test for each rule, and returns the ways for more. */
export function loginWalks<Context extends LoginContext>(
  machine: AnyStateMachine,
  { events, rule, fewest, granted }: LoginWays,
) {
  const input = { id: 'hub', profile: 'default', server: 'hub', startedFrom: 'terminal' };
  const walks = walksOf<Context, Told>(machine, { input, events, limit: 50_000 });
  const ended = walks.filter(({ value }) => value === 'loggedIn' || value === 'stopped');
  const states = Object.entries<object>(machine.config.states ?? {});

  t.test(`${rule} · every state is reached, and every way ends`, (t) => {
    t.same(new Set(walks.map(({ value }) => value)), new Set(states.map(([name]) => name)));
    t.ok(ended.length > fewest, 'the walk is not cut short');
    t.end();
  });

  t.test(`${rule} · credentials are written on the way into the logged-in state, and nowhere else`, (t) => {
    const writers = states.filter(([, state]) => JSON.stringify(state).includes('storeCredentials'));
    t.same(
      writers.map(([name]) => name),
      ['storing'],
      'one state can write',
    );
    for (const walk of walks) {
      const stored = walk.told.findIndex(
        ({ type, output }) => type.endsWith('.storeCredentials') && output?.kind === 'done',
      );
      t.equal(walk.value === 'loggedIn', stored >= 0, words(walk));
      if (stored < 0) continue;
      t.equal(stored, walk.told.length - 1, `what is written ends the login: ${words(walk)}`);
      t.match(walk.told[stored - 1], granted, `only what was granted is written: ${words(walk)}`);
    }
    t.end();
  });

  t.test(`${rule} · a login that stops says why, and can be cancelled until it writes`, (t) => {
    for (const walk of ended) {
      if (walk.value === 'loggedIn') t.equal(walk.context.why, null, words(walk));
      else t.ok((walk.context.why ?? '') !== '', words(walk));
      const [before, last] = walk.told.slice(-2);
      if (last?.type === 'login.cancel') t.notMatch(before, granted, words(walk));
    }
    t.ok(ended.some(({ told }) => told.length === 1 && told[0]?.type === 'login.cancel'));
    t.end();
  });

  return { walks, ended };
}
