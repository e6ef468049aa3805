import t from 'tap';
import { migratePostgresJournal, openPostgresJournal } from '../../../actors/store/postgres-journal.ts';
import { createNeighbours, type Neighbours } from '../../../actors/store/postgres-neighbours.ts';
import { leaderLock, takeLock } from '../../../actors/store/shared-claims.ts';
import { got } from '../../support/open-journal.ts';
import { startPostgres, withoutPostgres } from '../../support/postgres.ts';
import { until } from '../../support/processes.ts';
import { deferred } from '../../support/turns.ts';

t.test('SCA-3 · gateways of one database know and ask each other', { skip: withoutPostgres }, async (t) => {
  const postgres = await startPostgres(t);
  const url = await postgres.url();
  const journal = got(await openPostgresJournal({ url }));
  t.teardown(() => journal.close());
  async function join(node: string, answer: (question: string) => Promise<string>) {
    const session = got(await journal.openSession(node, 60_000));
    const neighbours = createNeighbours({ url, place: 'db', session: () => session, sessionTtlMs: 60_000, answer });
    t.teardown(() => neighbours.close());
    await neighbours.listen();
    return { session, neighbours };
  }
  const never = new Promise<string>(() => {});
  const one = await join('one', async (question) => `one: ${question}`);
  const other = await join('other', async (question) => (question === 'hang' ? never : `other: ${question}`));
  const questions = () => postgres.run(url, 'select 1 from agent_question');

  t.test('they are listed by name, with the leader', async (t) => {
    await takeLock(
      {
        commit: journal.commit,
        isElsewhere: () => true,
        journal: () => journal,
        session: () => other.session,
      },
      leaderLock,
      '',
    );
    const rows = await one.neighbours.all();
    t.match(rows, [
      { node: 'one', session: one.session, isLeader: false },
      { node: 'other', session: other.session, isLeader: true },
    ]);
    t.ok(rows.every(({ silentMs }) => silentMs >= 0 && silentMs < 60_000));
    await journal.openSession('other', 60_000);
    t.equal((await one.neighbours.all()).filter(({ isLeader }) => isLeader).length, 0, 'its session has ended');
  });

  t.test('a question needs no sequence, which a promoted standby could not read', async (t) => {
    const unlogged = `select relname from pg_class where relkind = 'S' and relnamespace = current_schema::regnamespace
      and (relpersistence = 'u' or relname like 'agent_question%')`;
    t.same(await postgres.run(url, unlogged), []);
    await postgres.run(
      url,
      `alter table agent_question alter column id drop default,
        alter column id add generated always as identity (minvalue 0 maxvalue 1);
      select nextval('agent_question_id_seq'), nextval('agent_question_id_seq')`,
    );
    t.equal(await one.neighbours.ask(other.session, 'earlier', 60_000), 'other: earlier', 'in a table as it was made');
    got(await migratePostgresJournal(url));
    t.same(await postgres.run(url, unlogged), []);
    t.equal(await one.neighbours.ask(other.session, 'now', 60_000), 'other: now');
  });

  t.test('a question is answered by its gateway and leaves nothing behind, in any number at once', async (t) => {
    const ask = (of: Neighbours, to: string, question: string) => of.ask(to, question, 60_000);
    t.equal(await ask(one.neighbours, one.session, 'me'), 'one: me');
    const strange = 'é\u0001"\\\n😀';
    t.equal(await ask(one.neighbours, one.session, strange), `one: ${strange}`);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => ask(other.neighbours, one.session, String(n))),
    );
    t.same(
      answers,
      Array.from({ length: 20 }, (_, n) => `one: ${n}`),
    );
    t.same(await questions(), []);
  });

  t.test('one that is not answered in time is taken back', async (t) => {
    t.equal(await one.neighbours.ask('s99', 'nobody', 600_000), undefined, 'nobody waits for one that has ended');
    t.equal(await one.neighbours.ask(other.session, 'hang', 1), undefined);
    t.same(await questions(), []);
  });

  t.test('SCA-2 · SCA-3 · one that the database lost, as in a crash, is waited for no longer', async (t) => {
    const third = await join('third', () => never);
    const asked = one.neighbours.ask(third.session, 'hang', 86_400_000);
    await until(async () => (await questions()).length === 1);
    await postgres.run(url, 'truncate agent_question');
    t.equal(await asked, undefined);
  });

  t.test('SCA-3 · an answer is given to no other question that got its number after a crash', async (t) => {
    const slow = deferred<string>();
    const asked: string[] = [];
    const fourth = await join('fourth', async (question) => {
      asked.push(question);
      return question === 'slow' ? slow.promise : question === 'hang' ? never : `fourth: ${question}`;
    });
    const ask = async (question: string) => {
      await postgres.run(url, 'truncate agent_question restart identity');
      const answer = one.neighbours.ask(fourth.session, question, 86_400_000);
      await until(() => asked.includes(question));
      return { answer };
    };
    const lost = await ask('slow');
    t.equal(await (await ask('next')).answer, 'fourth: next', 'while the earlier one is still worked on');
    t.equal(await lost.answer, undefined);
    const waits = await ask('hang');
    slow.resolve('late');
    t.equal(await one.neighbours.ask(fourth.session, 'later', 60_000), 'fourth: later');
    t.same(await postgres.run(url, 'select question, answer from agent_question'), [
      { question: 'hang', answer: null },
    ]);
    await postgres.run(url, 'truncate agent_question');
    t.equal(await waits.answer, undefined);
  });

  t.test('SCA-2 · SCA-3 · a question is answered though the connection breaks as it is read or answered', async (t) => {
    const way = await postgres.lossy();
    const session = got(await journal.openSession('cut', 60_000));
    const asked: string[] = [];
    const answer = async (question: string): Promise<string> => {
      asked.push(question);
      return `cut: ${question}`;
    };
    const settings = { url: way.url(url), place: 'db', session: () => session, sessionTtlMs: 60_000, answer };
    const cut = createNeighbours(settings);
    t.teardown(() => cut.close());
    await cut.listen();

    const isAnswerCut = way.cutNext('lost', 'set answer');
    t.equal(await one.neighbours.ask(session, 'me', 86_400_000), 'cut: me');
    t.ok(isAnswerCut());

    await cut.listen();
    const isReadCut = way.cutNext('made', 'and expires_at > agent_now()');
    const again = one.neighbours.ask(session, 'again', 86_400_000);
    await until(isReadCut);
    await cut.listen();
    t.equal(await again, 'cut: again');
    t.same(asked, ['me', 'again'], 'each once');
  });

  t.test('SCA-2 · CLI-2 · while the database does not answer, one look for questions waits', async (t) => {
    const way = await postgres.lossy();
    const silent = createNeighbours({
      ...{ url: way.url(url), place: 'db', session: () => one.session, sessionTtlMs: 60_000 },
      answer: async (question) => question,
    });
    t.teardown(() => silent.close());
    await silent.listen();
    t.teardown(way.mute());
    const looks = [silent.listen(), silent.listen(), silent.listen()];
    t.equal(new Set(looks).size, 1);
    const refused = Promise.allSettled(looks);
    await silent.close();
    await refused;
  });

  t.test('SCA-2 · a connection that was lost is made anew', async (t) => {
    await postgres.run(
      url,
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'agent' and pid <> pg_backend_pid()`,
    );
    await until(async () => {
      const answer = await one.neighbours.ask(one.session, 'again', 1_000).catch(() => undefined);
      return answer === 'one: again';
    });
    t.same(
      (await one.neighbours.all()).map(({ node }) => node),
      ['cut', 'fourth', 'one', 'other', 'third'],
    );
  });

  t.test('CON-2 · one that leaves the database connects no more, though a question waits', async (t) => {
    const asked = one.neighbours.ask(other.session, 'hang', 60_000);
    await until(async () => (await questions()).length === 1);
    const refused = t.rejects(asked, { message: 'db: this gateway has left the database' });
    await one.neighbours.close();
    await refused;
    await t.rejects(one.neighbours.all(), { message: 'db: this gateway has left the database' });
  });
});

t.test(
  'SCA-3 · CLI-2 · where the gateways of a database cannot be listed, its place and the remedy are named',
  async (t) => {
    const ports = { place: 'db', session: () => undefined, sessionTtlMs: 1, answer: async () => '' };
    const neighbours = createNeighbours({ ...ports, url: 'postgres://me@127.0.0.1:1/db' });
    await t.rejects(neighbours.all(), {
      message: /^db: the database does not answer \(.*ECONNREFUSED.*\); see that it runs/,
    });
    await neighbours.close();
  },
);
