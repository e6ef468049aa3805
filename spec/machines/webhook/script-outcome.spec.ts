import t from 'tap';
import { readScriptOutcome, type ScriptResult } from '../../../machines/webhook/script-outcome.ts';

t.test('SCR-2 · every row of the outcome table', (t) => {
  const exited = (stdout: string, code = 0): ScriptResult => ({ kind: 'exited', code, stdout });
  const rows: readonly (readonly [ScriptResult, string, unknown?])[] = [
    [exited('{"b":2}'), 'replaced', { b: 2 }],
    [exited('  {"b":2}\n'), 'replaced', { b: 2 }],
    [exited('some text\n'), 'annotated', { a: 1, script_output: 'some text' }],
    [exited('[1,2]'), 'annotated', { a: 1, script_output: '[1,2]' }],
    [exited('42'), 'annotated', { a: 1, script_output: '42' }],
    [exited('{"id":10000000000000000001}'), 'replaced', { id: '10000000000000000001' }],
    [exited('{broken'), 'annotated', { a: 1, script_output: '{broken' }],
    [exited(''), 'ignored'],
    [exited('[SILENT]\n'), 'ignored'],
    [exited('[SILENT] not'), 'annotated', { a: 1, script_output: '[SILENT] not' }],
    [exited('{"__agent_ignore__": true}'), 'ignored'],
    [exited('{"__hermes_ignore__": true}'), 'ignored'],
    [exited('{"__agent_ignore__": false}'), 'replaced', { __agent_ignore__: false }],
    [exited('{"b":2}', 1), 'failed'],
    [{ kind: 'timedOut', afterMs: 30_000 }, 'failed'],
    [{ kind: 'missing' }, 'failed'],
    [{ kind: 'flooded' }, 'failed'],
    [{ kind: 'notBegun', why: 'EMFILE' }, 'notBegun'],
  ];
  for (const [result, kind, payload] of rows) {
    const verdict = readScriptOutcome(result, { a: 1 });
    t.equal(verdict.kind, kind, JSON.stringify(result));
    if ('payload' in verdict) t.same(verdict.payload, payload, JSON.stringify(result));
  }
  t.end();
});

t.test('SCR-1 · SCR-2 · an ignored request says why', (t) => {
  const why = (result: ScriptResult): string | undefined => {
    const verdict = readScriptOutcome(result, {});
    return 'why' in verdict ? verdict.why : undefined;
  };
  const exited = (code: number | null, stdout = ''): string | undefined => why({ kind: 'exited', code, stdout });
  t.equal(exited(3, '{"b":2}'), 'exited with 3');
  t.equal(exited(null), 'exited with a signal');
  t.equal(exited(0, ' \n'), 'printed nothing');
  t.equal(exited(0, '[SILENT]'), 'printed [SILENT]');
  t.equal(exited(0, '{"__agent_ignore__": true}'), 'asked to be ignored');
  t.equal(exited(0, '{"__agent_ignore__": true, "a": 1}'), undefined, 'an object with more in it is a payload');
  t.equal(why({ kind: 'exited', code: 127, stdout: '', stderr: 'jq: not found' }), 'exited with 127: jq: not found');
  const traced = 'Traceback:\n  File "x"\n\u001b[31mKeyError\u001b[0m';
  t.equal(
    why({ kind: 'exited', code: 1, stdout: '', stderr: traced }),
    'exited with 1: Traceback: File "x" [31mKeyError [0m',
  );
  t.equal(why({ kind: 'timedOut', afterMs: 1_500 }), 'timed out after 1.5 s (script_timeout_seconds)');
  t.match(why({ kind: 'timedOut', afterMs: 1, stderr: 'waiting for the lock' }), /\): waiting for the lock$/);
  t.equal(why({ kind: 'flooded' }), 'printed more than 1 MiB');
  t.equal(why({ kind: 'aborted' }), 'stopped');
  t.equal(why({ kind: 'missing' }), 'not found in the scripts folder');
  t.equal(why({ kind: 'missing', why: 'its interpreter "x" is not there' }), 'its interpreter "x" is not there');
  t.end();
});
