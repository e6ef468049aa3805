/**
 * Three real daemons on one real Postgres: one is active, the others wait in reserve. The active one is killed, stopped or
 * drained, again and again; everything that was answered 202 runs, and no attempt begins twice.
 */

import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { startDaemon } from '../support/daemon.ts';
import { makeHome, type TestHome } from '../support/home.ts';
import { startPostgres, withoutPostgres } from '../support/postgres.ts';
import { until } from '../support/processes.ts';
import { postSigned } from '../support/sign.ts';
import { inAllOnly } from '../support/tier.ts';

const secret = 'reserve-secret-reserve-secret';

const agent = `cat >/dev/null
echo "$AGENT_DELIVERY_ID $AGENT_ATTEMPT" >>ran.txt
printf done
`;

function makeReserveHome(t: Test, database: string): TestHome {
  return makeHome(t, {
    '.env': `DATABASE_URL='${database}'\n`,
    'config.yaml': `gateway: {journal: postgres, postgres: {url: "\${DATABASE_URL}"}}
agent: {runner: command, command: [sh, scripts/agent.sh], concurrency: 2}
inspector: {enabled: false}
platforms:
  webhook:
    enabled: true
    extra:
      host: 127.0.0.1
      port: 0
      secret: ${secret}
      rate_limit: 100000
      routes: {gh: {prompt: "run {n}"}}
`,
    'scripts/agent.sh': agent,
    'ran.txt': '',
  });
}

/** The id and the attempt of each run that began. */
const ranIn = (home: TestHome): string[] => readFileSync(`${home.path}/ran.txt`, 'utf8').split('\n').filter(Boolean);

/** Gateways on one database, each with a home of its own: one is active, the others are in reserve. */
async function passDatabaseOn(t: Test, faults: readonly ('SIGKILL' | 'SIGSTOP' | 'SIGTERM')[]): Promise<void> {
  const postgres = await startPostgres(t);
  const url = await postgres.url();
  const homes = Array.from({ length: 3 }, () => makeReserveHome(t, url));
  const acknowledged: string[] = [];
  const daemons = await Promise.all(homes.map(async (home) => ({ home, daemon: await startDaemon(t, home.path) })));
  let sent = 0;
  const send = async ({ daemon }: (typeof daemons)[number], id: string): Promise<number> =>
    (await postSigned(`${daemon.url}/webhooks/gh`, { n: sent }, { secret, id })).status;
  /** The gateway that takes events now. */
  async function active(): Promise<(typeof daemons)[number]> {
    for (;;) {
      for (const one of daemons) {
        sent += 1;
        const id = `d-${sent}`;
        const status = await send(one, id).catch(() => 0);
        if (status !== 202) continue;
        acknowledged.push(id);
        return one;
      }
      await wait(50);
    }
  }

  for (const fault of faults) {
    const now = await active();
    for (let n = 0; n < 5; n += 1) {
      sent += 1;
      if ((await send(now, `d-${sent}`)) === 202) acknowledged.push(`d-${sent}`);
    }
    daemons.splice(daemons.indexOf(now), 1);
    now.daemon.kill(fault);
    if (fault !== 'SIGSTOP') await now.daemon.exited;
    await active();
    if (fault === 'SIGSTOP') {
      now.daemon.kill('SIGCONT');
      await now.daemon.line(({ message }) => message.includes('this one is in reserve'));
      t.equal(await send(now, 'late'), 503, 'what woke takes nothing');
    }
    daemons.push({ home: now.home, daemon: fault === 'SIGSTOP' ? now.daemon : await startDaemon(t, now.home.path) });
  }

  await active();
  await until(async () => {
    const open = await postgres.run(
      url,
      `select 1 from agent_record where collection in ('r', 'd', 'g') and due_at is not null`,
    );
    return open.length === 0;
  });
  const ran = homes.flatMap(ranIn);
  t.same(
    acknowledged.filter((id) => !ran.some((one) => one.startsWith(`${id} `))),
    [],
    'everything acknowledged has run',
  );
  t.same(
    ran.filter((one, index) => ran.indexOf(one) !== index),
    [],
    'no attempt began twice',
  );
}

t.test(
  'SCA-1 · SCA-2 · a gateway in reserve takes over from one that is killed and from one that drains',
  { skip: withoutPostgres },
  (t) => passDatabaseOn(t, ['SIGKILL', 'SIGTERM']),
);

t.test(
  'SCA-2 · gateways in reserve take over from killed, stopped and drained ones, and what wakes is refused',
  { skip: withoutPostgres || inAllOnly },
  (t) => passDatabaseOn(t, ['SIGSTOP', 'SIGKILL', 'SIGTERM', 'SIGSTOP', 'SIGKILL']),
);
