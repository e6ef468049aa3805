/**
 * A Postgres for the specs of a process: made in a folder of its own for the first that wants one, reached over a socket in
 * it, with the settings of a real one; its folder may be in memory. Each test has a database of its own in it. It refuses to run as
 * root, so it runs as another user there.
 */

import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { Test } from 'tap';
import { listenOn } from './http-listener.ts';

const root = '/usr/lib/postgresql';

/** Where Debian puts its programs; undefined where there is no Postgres. */
function programs(): string | undefined {
  const versions = existsSync(root)
    ? readdirSync(root).filter((name) => existsSync(join(root, name, 'bin/initdb')))
    : [];
  const newest = versions.sort((one, other) => Number(one) - Number(other)).at(-1);
  return newest && join(root, newest, 'bin');
}

/** What a test is skipped with; false where there is a Postgres. */
export const withoutPostgres = programs() === undefined && 'no Postgres is installed (apt-get install postgresql)';

export interface SpecPostgres {
  /** A URL whose tables are those of no other: a schema of its own, made empty. */
  url(more?: string): Promise<string>;
  /** Runs a statement in the schema of a URL. */
  run(url: string, statement: string): Promise<Record<string, unknown>[]>;
  /** The same database as a user who may do no more than docs/scale.md lists. */
  least(url: string): Promise<string>;
  /** Has the journal in the schema of a URL ask for a time that is set, instead of the database's clock. */
  lendClock(url: string): Promise<void>;
  setClock(url: string, nowMs: number): Promise<void>;
  /** Ends it as a power cut would, and starts it again, with settings of its own. */
  restart(...settings: readonly string[]): Promise<void>;
  /** Runs another program of Postgres, found beside it and told where it is, until the test ends. */
  beside(program: string, ...words: readonly string[]): void;
  /** A way to it that can be cut. */
  lossy(): Promise<LossyWay>;
}

export interface LossyWay {
  /** The same database by this way. */
  url(url: string): string;
  /**
   * Cuts the way at the next COMMIT, or at what holds another text: the database has made it and its answer is lost, has not had it, or has it only once
   * it is asked what became of it. `denied`: it has made it, and the answer is that of a pooler which has lost its server.
   * @param passing the number of such texts that pass before
   * @returns what says whether that has happened
   */
  cutNext(commit: 'made' | 'lost' | 'late' | 'denied', at?: string, passing?: number): () => boolean;
  /** Takes no further connection, or takes them again. */
  block(isBlocked: boolean): void;
  /**
   * Nothing passes any more by the connections that there are, and neither side hears that they have ended; the database
   * does once the returned function is called.
   */
  mute(): () => void;
  /** Carries so many bytes a millisecond in each direction. */
  slow(bytes: number): void;
}

/** The server that the tests of this process share, one after another. */
interface Server {
  /** Where its socket is. */
  readonly folder: string;
  /** A URL of one of its databases. */
  at(database: string, more?: string): string;
  /** Runs one of its programs, as the user that it runs as. */
  spawn(program: string, ...words: readonly string[]): ChildProcess;
  restart(settings: readonly string[]): Promise<void>;
  /** The settings that it was started with, beyond those of every test. */
  readonly settings: readonly string[];
}

let shared: Promise<Server> | undefined;
let databases = 0;

async function startServer(): Promise<Server> {
  const bin = programs() ?? '';
  const folder = mkdtempSync(join(tmpdir(), 'agent-pg-'));
  const asOther = process.getuid?.() === 0;
  const [uid, gid] = asOther
    ? [Number(execFileSync('id', ['-u', 'nobody'])), Number(execFileSync('id', ['-g', 'nobody']))]
    : [];
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
  chmodSync(folder, 0o755);
  const user = uid === undefined || gid === undefined ? {} : { uid, gid };
  const data = join(folder, 'data');
  execFileSync(join(bin, 'initdb'), ['-D', data, '-A', 'trust', '-U', 'agent', '-E', 'UTF8', '--no-locale', '-N'], {
    ...user,
    cwd: folder,
    stdio: 'ignore',
  });
  let server: ChildProcess;
  let given: readonly string[] = [];
  const at = (database: string, more = '') =>
    `postgres://agent@localhost/${database}?host=${encodeURIComponent(folder)}${more}`;

  async function start(): Promise<void> {
    const settings = [
      'listen_addresses=',
      `unix_socket_directories=${folder}`,
      'shared_buffers=16MB',
      'max_connections=200',
      // A deadlock is looked for after a second otherwise.
      'deadlock_timeout=20ms',
      ...given,
    ];
    server = spawn(join(bin, 'postgres'), ['-D', data, ...settings.flatMap((one) => ['-c', one])], {
      ...user,
      cwd: folder,
      stdio: 'ignore',
    });
    server.unref();
    while (!(await answers())) await sleep(20);
  }

  async function answers(): Promise<boolean> {
    const client = new Client({ connectionString: at('postgres') });
    try {
      await client.connect();
      await client.end();
      return true;
    } catch {
      return false;
    }
  }

  async function stop(): Promise<void> {
    server.ref();
    const ended = once(server, 'exit');
    server.kill('SIGQUIT');
    await ended;
  }

  // Also where no test runner reports the end.
  process.on('exit', () => {
    spawnSync(join(bin, 'pg_ctl'), ['stop', '-m', 'immediate', '-D', data], {
      ...user,
      cwd: folder,
      stdio: 'ignore',
    });
    rmSync(folder, { recursive: true, force: true });
  });
  await start();
  return {
    folder,
    at,
    spawn: (program, ...words) =>
      spawn(join(bin, program), ['-h', folder, '-U', 'agent', ...words], { ...user, cwd: folder }),
    async restart(settings) {
      await stop();
      given = settings;
      await start();
    },
    get settings() {
      return given;
    },
  };
}

/** Starts it, where no test before has, and makes a database for the test. */
export async function startPostgres(t: Pick<Test, 'teardown'>): Promise<SpecPostgres> {
  shared ??= startServer();
  const server = await shared;
  databases += 1;
  const database = `spec${databases}`;
  const maker = new Client({ connectionString: server.at('postgres') });
  await maker.connect();
  await maker.query(`create database ${database}`);
  await maker.end();
  const at = (more = '') => server.at(database, more);

  /** Serves every statement of the spec itself: a connection is a process of Postgres, and costs more than a statement. */
  let own: Client | undefined;

  async function run(url: string, statement: string): Promise<Record<string, unknown>[]> {
    if (own === undefined) {
      own = new Client({ connectionString: at() });
      // A restart ends it.
      own.on('error', () => {});
      await own.connect();
    }
    const schema = schemaOf(url);
    const text = `set search_path to ${schema === '' ? 'public' : schema}; ${statement}`;
    const results = (await own.query(text)) as unknown as readonly { readonly rows: Record<string, unknown>[] }[];
    return results.at(-1)?.rows ?? [];
  }

  async function restart(settings: readonly string[]): Promise<void> {
    await own?.end();
    own = undefined;
    await server.restart(settings);
  }

  let schemas = 0;
  t.teardown(async () => {
    // The next test has the settings of every test.
    if (server.settings.length > 0) await restart([]);
    await own?.end();
  });
  return {
    async url(more = '') {
      schemas += 1;
      const name = `s${schemas}`;
      await run(at(), `create schema ${name}`);
      return at(`&options=${encodeURIComponent(`-c search_path=${name}${more}`)}`);
    },
    run,
    async least(url) {
      const schema = schemaOf(url);
      await run(
        url,
        `do $$ begin create role gw login; exception when duplicate_object then null; end $$;
        grant usage on schema ${schema} to gw;
        grant select, insert, update, delete on agent_record, agent_claim, agent_session, agent_document, agent_question to gw;
        grant select on agent_meta to gw`,
      );
      return url.replace('agent@', 'gw@');
    },
    async lendClock(url) {
      await run(
        url,
        `insert into agent_meta values ('time', 0); create or replace function agent_now() returns bigint language sql
          volatile as $$ select value from agent_meta where name = 'time' $$`,
      );
    },
    async setClock(url, nowMs) {
      await run(url, `update agent_meta set value = ${nowMs} where name = 'time'`);
    },
    restart: (...settings) => restart(settings),
    beside(program, ...words) {
      const child = server.spawn(program, ...words);
      t.teardown(() => child.kill('SIGKILL'));
    },
    lossy: () => lossyWay(t, join(server.folder, '.s.PGSQL.5432'), database),
  };
}

/** The schema of a URL. */
export function schemaOf(url: string): string {
  return /search_path=(\w+)/.exec(decodeURIComponent(url))?.[1] ?? '';
}

const denialFields = 'SFATAL\0VFATAL\0C08P01\0Mserver conn crashed?\0\0';
/** PgBouncer's message for a server connection that has ended, with its length. */
const denial = `E\0\0\0${String.fromCharCode(denialFields.length + 4)}${denialFields}`;

async function lossyWay(t: Pick<Test, 'teardown'>, socket: string, database: string): Promise<LossyWay> {
  let next: 'made' | 'lost' | 'late' | 'denied' | undefined;
  let mark = '';
  let left = 0;
  let isBlocked = false;
  let rate = Number.POSITIVE_INFINITY;
  let held: (() => void) | undefined;
  let mutes: (() => () => void)[] = [];
  const open = new Set<Socket>();

  function carry(from: Socket, to: Socket, bytes: Buffer): void {
    to.write(bytes);
    if (rate === Number.POSITIVE_INFINITY) return;
    from.pause();
    setTimeout(() => from.resume(), bytes.length / rate);
  }

  const server = createServer((near) => {
    if (isBlocked) {
      near.destroy();
      return;
    }
    const far = connect(socket);
    open.add(far.on('close', () => open.delete(far)));
    const cut = () => [near, far].map((one) => one.destroy());
    let passes = true;
    let isDenied = false;
    let isMute = false;
    mutes.push(() => {
      isMute = true;
      // Unread, its end is not heard, and so not answered either.
      near.pause();
      return () => far.destroy();
    });
    near.on('error', cut).on('close', () => passes && !isMute && far.end());
    far.on('error', cut).on('close', () => near.destroy());
    far.on('data', (bytes) => {
      if (isDenied) {
        isDenied = false;
        near.end(denial, cut);
      } else if (!passes) cut();
      else if (!isMute) carry(far, near, bytes);
    });
    near.on('data', (bytes) => {
      if (isMute) return;
      if (bytes.includes('pg_xact_status')) held?.();
      if (next === undefined || !bytes.includes(mark) || left-- > 0) {
        carry(near, far, bytes);
        return;
      }
      passes = false;
      isDenied = next === 'denied';
      if (next === 'made' || isDenied) far.write(bytes);
      else near.destroy();
      if (next === 'lost') far.destroy();
      else if (next === 'late') held = () => far.write(bytes);
      next = undefined;
    });
  });
  const port = await listenOn(t, server);
  t.teardown(() => {
    for (const far of open) far.destroy();
  });
  return {
    url: (url) => `postgres://agent@127.0.0.1:${port}/${database}?options=${new URL(url).searchParams.get('options')}`,
    cutNext(commit, at = 'commit\0', passing = 0) {
      next = commit;
      mark = at;
      left = passing;
      return () => next === undefined;
    },
    block(blocked) {
      isBlocked = blocked;
    },
    slow(bytes) {
      rate = bytes;
    },
    mute() {
      const noticed = mutes.map((mute) => mute());
      mutes = [];
      return () => {
        for (const notice of noticed) notice();
      };
    },
  };
}
