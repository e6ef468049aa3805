import t from 'tap';
import type { DeliveryRecord, EventRecord, RunRecord } from '../../../machines/webhook/record.ts';
import type { OutcomeKind } from '../../../machines/webhook/reply.ts';
import { openEvent } from '../../../runtime/inspector/event-opened.ts';
import { timelineOf } from '../../../runtime/inspector/timeline.ts';
import { noWork, type TimelineSources } from '../../../runtime/inspector/timeline-sources.ts';
import { plainDelivery, plainEvent, plainRun } from '../../support/records.ts';

const event: EventRecord = {
  ...plainEvent,
  deliveryId: 'd1',
  route: 'gh',
  receivedAtMs: 1_000,
  body: '{"x":1}',
  scheme: 'github',
  prompt: 'Look at x',
  deliver: 'sms',
  work: 'k1',
};
const run: RunRecord = {
  ...plainRun,
  eventKey: 'k1',
  route: 'gh',
  queuedAtMs: 1_010,
};
const delivery: DeliveryRecord = {
  ...plainDelivery,
  eventKey: 'k1',
  runKey: 'k1',
  deliveryId: 'd1',
  route: 'gh',
  target: 'sms',
  text: 'done',
  queuedAtMs: 1_500,
};

const pause = { untilMs: 60_000, reason: 'slow down' };

const question: TimelineSources['questions'][number] = {
  id: 'a1',
  server: 'a',
  kind: 'tool',
  tool: 'mcp__a__b',
  message: 'Does b',
  askedAtMs: 1_250,
  timeoutMs: 300_000,
};

function sources(more: Partial<TimelineSources>): TimelineSources {
  return {
    key: 'k1',
    event,
    status: 'accepted',
    ...noWork,
    deliveries: [],
    transcript: [],
    stepsOf: () => [],
    stateOf: () => undefined,
    ...more,
  };
}

const refused = (outcome: OutcomeKind, reason: string, more: Partial<EventRecord> = {}): TimelineSources =>
  sources({
    status: 'refused',
    event: { ...event, status: 'refused', outcome, reason, body: '', ...more },
  });

t.test('SIG-1 · INS-4 · an opened event says what its signature was found to be', (t) => {
  const { scheme: _, ...unsigned } = event;
  const rows: readonly (readonly [TimelineSources, string])[] = [
    [sources({}), 'GitHub, signature verified'],
    [refused('badBody', 'not JSON', {}), 'GitHub, signature verified'],
    [refused('badSignature', 'the signature does not match', {}), 'GitHub, signature refused'],
    [sources({ event: { ...unsigned, status: 'refused', outcome: 'rateLimited' } }), 'Not verified'],
  ];
  for (const [given, sender] of rows)
    t.match(openEvent({ ...given, joined: [], replays: [], answer: undefined }), { sender });
  t.end();
});

t.test('INS-2 · a timeline ends in the state that decided it, with its reason', (t) => {
  const rows: readonly (readonly [OutcomeKind, string, string])[] = [
    ['tooLarge', 'declared 5 bytes', 'sizing'],
    ['tooLarge', 'tooLarge', 'readingBody'],
    ['unknownRoute', 'no route has this path', 'routing'],
    ['routeDisabled', 'the route is disabled', 'routing'],
    ['methodNotAllowed', 'GET', 'routing'],
    ['rateLimited', 'rateLimited', 'throttling'],
    ['badSignature', 'the signature does not match', 'verifying'],
    ['badBody', 'not JSON', 'parsing'],
    ['ignoredEvent', 'event x is not among y', 'matching'],
    ['ignoredFilter', 'filter: x equals 1 saw 2', 'matching'],
    ['ignoredScript', 'script: printed nothing', 'transforming'],
    ['ignoredScriptFailed', 'script: exited with 127: jq: not found', 'transforming'],
    ['duplicate', 'duplicate', 'claiming'],
    ['pending', 'an earlier request with this id is still being delivered', 'claiming'],
    ['overloaded', 'bodies not yet verified fill max_unverified_bytes', 'readingBody'],
    ['overloaded', 'too many requests are under way for the events of this one', 'parsing'],
    ['unavailable', 'the disk is full', 'claiming'],
    ['unavailable', 'the subscriptions could not be read', 'routing'],
    ['unavailable', 'its certificate could not be fetched in time', 'verifying'],
    ['unavailable', 'filter: u in_file "a.json" was not tried: the list is JSON with a syntax error', 'matching'],
    ['unavailable', 'when: u in_file "a.json" was not tried: the list is JSON with a syntax error', 'rendering'],
    ['unavailable', 'script: could not be started: EAGAIN', 'transforming'],
    [
      'unavailable',
      'event 2 of 3: filter: u in_file "a.json" was not tried: the list is JSON with a syntax error',
      'matching',
    ],
    ['unavailable', 'another event of the same body stopped it: filter: u in_file "a.json" was not tried', 'claiming'],
    ['deliveryFailed', 'the target said no', 'dispatching'],
  ];
  /** What the sender, or the target, has to do. */
  const ofSender = new Set<string>(['methodNotAllowed', 'badBody', 'pending', 'deliveryFailed']);
  for (const [outcome, reason, state] of rows) {
    const timeline = timelineOf(refused(outcome, reason));
    const steps = timeline.phases[0]?.steps ?? [];
    const last = steps.at(-2);
    t.equal(last?.state, state, outcome);
    t.equal(last?.detail, reason, outcome);
    t.not(last?.result, 'passed', outcome);
    t.ok(
      steps.slice(0, -2).every(({ result }) => result === 'passed'),
      `${outcome}: all before it passed`,
    );
    t.equal(steps.at(-1)?.state, 'answered');
    t.match(timeline.verdict, /^[A-Z].*\.$/, outcome);
    t.notMatch(timeline.verdict, new RegExp(`: ${outcome}\\.`), 'no name of an outcome is shown');
    t.notMatch(timeline.verdict, /(: .*)\1/, 'nor a reason twice');
    t.equal(timeline.verdict.includes('written down'), reason === 'the disk is full', reason);
    t.ok(outcome === 'duplicate' || timeline.cure !== '', `${outcome} has a cure`);
    if (!ofSender.has(outcome)) t.match(timeline.cure, /`agent [a-z]+ [^`<>]+`/, `${outcome} names the command`);
    for (const { state: name, detail } of steps.slice(0, -2))
      if (name === 'rendering') t.equal(detail, 'its texts are filled in', `${outcome} speaks of no work`);
  }
  t.end();
});

t.test('INS-2 · INS-4 · a request that a crash or a stop has ended is not said to have passed checks', (t) => {
  for (const [outcome, verdict] of [
    ['internal', 'Refused: the gateway failed on it: why.'],
    ['draining', 'Put off: the gateway was starting or stopping: why.'],
  ] as const) {
    const given = refused(outcome, 'why');
    const timeline = timelineOf(given);
    t.equal(timeline.verdict, verdict);
    t.same(
      timeline.phases[0]?.steps.map(({ state }) => state),
      ['answered'],
    );
    const opened = openEvent({ ...given, joined: [], replays: [], answer: undefined });
    t.match(opened, { verdict: { tone: 'failed', text: verdict } });
    t.same(opened.checks, []);
  }
  t.end();
});

t.test('INS-2 · CRN-2 · a cron job was fired or not, and no request was checked', (t) => {
  const { scheme: _, work: __, ...fired } = { ...event, route: "cron/a 'b'", profile: 'work', body: '' };
  const reason = 'cron job "a" is paused';
  const noted = sources({ status: 'ignored', event: { ...fired, status: 'ignored', reason } });
  t.match(timelineOf(noted), {
    verdict: 'No run was fired: cron job "a" is paused.',
    cure: "`agent cron show 'a '\\''b'\\''' --profile work` shows the job.",
    phases: [{ title: "cron job a 'b', not fired", steps: [] }],
  });
  const beside = { joined: [], replays: [], answer: undefined };
  const opened = openEvent({ ...noted, ...beside });
  t.match(opened, { checks: [], spans: [{ name: 'Firing', tone: 'ended' }] });
  t.equal(opened.verdict.text, 'No run was fired: cron job "a" is paused.');
  const ran = sources({ event: { ...fired, work: 'k1' }, run: { key: 'k1', record: run } });
  t.match(openEvent({ ...ran, ...beside }), { answer: undefined, spans: [{ name: 'Firing', tone: 'resting' }] });
  t.match(timelineOf(ran).phases, [{ title: "cron job a 'b', fired", steps: [] }, { kind: 'run' }]);
  const failed = { ...run, kind: 'cron', status: 'failed' } as const;
  const broke = timelineOf(sources({ event: { ...fired, work: 'k1' }, run: { key: 'k1', record: failed } }));
  t.match(broke.cure, /^`agent cron run .* --profile work` fires the job once more\.$/, 'it has no payload to replay');
  // A route of config.yaml may be named so.
  const ofRoute = { ...fired, route: 'cron/x' };
  t.match(timelineOf(sources({ event: { ...event, route: 'cron/x' } })).phases, [{ title: 'request to cron/x' }]);
  t.match(timelineOf(sources({ event: { ...ofRoute, replayOf: 'k0' } })).phases, [{ title: 'replay of k0' }]);
  const handedIn = { ...ofRoute, told: { handedIn: 'the page' } } as const;
  t.match(timelineOf(sources({ event: handedIn })).phases, [{ title: 'request to cron/x' }]);
  // The name may have changed since.
  const renamed = sources({ status: 'ignored', event: { ...ofRoute, status: 'ignored', reason, cronJob: 'j' } });
  t.equal(timelineOf(renamed).cure, '`agent cron show j --profile work` shows the job.');
  t.match(
    timelineOf(refused('routeDisabled', 'off', { route: 'a b' })).cure,
    "`agent webhook enable 'a b'` enables it.",
  );
  t.end();
});

t.test('INS-2 · CRN-2 · an event that fired no cron job says why, and what its sender was answered', (t) => {
  const reason = 'cron job "digest" is paused';
  const { work: _, ...dropped } = event;
  const timeline = timelineOf(sources({ status: 'ignored', event: { ...dropped, status: 'cron', reason } }));
  t.equal(timeline.verdict, 'Accepted and dropped: no run was fired: cron job "digest" is paused.');
  t.same(
    timeline.phases[0]?.steps.slice(-2).map(({ detail }) => detail),
    [reason, '202 accepted'],
  );
  t.end();
});

t.test('INS-2 · DUR-2 · of a dry replay no target is named', (t) => {
  const record = { ...run, isDry: true, status: 'delivered', startedAtMs: 1_200, endedAtMs: 3_000 } as const;
  const { verdict, phases } = timelineOf(
    sources({
      status: 'delivered',
      event: { ...event, isDry: true },
      run: { key: 'k1', record: { ...record, response: 'done' } },
    }),
  );
  t.equal(verdict, 'Accepted and run. Nothing was sent: this replay was dry.');
  t.notMatch(JSON.stringify(phases), /sms|was delivered/);
  t.match(JSON.stringify(phases), /sent to no target/);
  t.end();
});

t.test('INS-2 · DUR-2 · a delivered event is shown from its request to its target', (t) => {
  const told = timelineOf(
    sources({
      status: 'delivered',
      event: { ...event, told: { bodyMs: 7, checkMs: 47, script: 'annotated', scriptMs: 40 } },
      run: {
        key: 'k1',
        record: { ...run, status: 'delivered', attempt: 2, startedAtMs: 1_200, endedAtMs: 3_000, response: 'done' },
      },
      deliveries: [{ key: 'k1', record: { ...delivery, status: 'delivered', messageId: 'm7', endedAtMs: 2_900 } }],
      transcript: [
        { kind: 'prompt', text: 'Look at x' },
        { kind: 'answer', text: '', input_tokens: 1, output_tokens: 1 },
        { kind: 'call', id: 'c1', tool: 'mcp__a__b', arguments: '{"q":1}' },
        { kind: 'result', id: 'c1', text: 'no answer in 5 s', is_error: true },
        { kind: 'answer', text: 'done', input_tokens: 1, output_tokens: 1 },
      ],
      calls: [
        {
          id: '1',
          run: 'k1',
          caller: 'run',
          profile: 'default',
          tool: 'mcp__a__b',
          server: 'a',
          args: '{"q":1}',
          outcome: 'timed_out',
          isError: false,
          why: 'no answer in 5 s',
          startedAtMs: 1_300,
          endedAtMs: 6_300,
          tries: 1,
        },
      ],
    }),
  );
  t.equal(told.verdict, 'Accepted, run and delivered to sms.');
  t.equal(told.cure, '');
  t.same(
    told.phases.map(({ kind, actor }) => [kind, actor]),
    [
      ['request', 'requests/k1'],
      ['run', 'runs/k1'],
      ['call', 'calls/1'],
      ['delivery', 'deliveries/k1'],
    ],
  );
  const step = (phase: number, state: string) => told.phases[phase]?.steps.find((one) => one.state === state);
  t.match(step(0, 'verifying'), { detail: 'genuine by github', rule: 'SIG-1' });
  t.match(step(0, 'readingBody'), { detail: '7 bytes in 7 ms' });
  const form = { ...event, headers: { 'content-type': 'multipart/form-data; boundary=x' }, told: { bodyMs: 7 } };
  const read = timelineOf(sources({ event: form })).phases[0]?.steps.find(({ state }) => state === 'readingBody');
  t.match(read, { detail: 'read in 7 ms' }, 'whose files were not kept');
  t.match(told.phases[0], { began: 1_000, ended: 1_047 }, 'a request without recorded steps has its time');
  t.match(step(0, 'transforming'), { detail: 'the script annotated the payload in 40 ms' });
  t.match(step(0, 'rendering'), { texts: [{ title: 'prompt', text: 'Look at x' }] });
  t.match(step(1, 'queued'), { detail: 'waited 190 ms for a slot' });
  t.match(step(1, 'running'), {
    detail: 'attempt 2; responded with 4 characters',
    result: 'passed',
    texts: [
      { title: 'prompt', text: 'Look at x' },
      { title: 'calls mcp__a__b', text: '{"q":1}' },
      { title: 'the tool failed', text: 'no answer in 5 s' },
      { title: 'the model says', text: 'done' },
      { title: 'response', text: 'done' },
    ],
  });
  t.match(step(2, 'settled'), { detail: 'no answer in 5 s; in 5.0 s', result: 'failed' });
  t.match(step(3, 'delivered'), { detail: 'sms took it as m7', result: 'passed' });
  t.end();
});

t.test('INS-2 · what is under way, failed or unknown is shown as such, with a remedy', (t) => {
  const runIs = (more: Partial<RunRecord>): Partial<TimelineSources> => ({
    run: { key: 'k1', record: { ...run, startedAtMs: 1_100, attempt: 1, ...more } },
  });
  const running = runIs({ status: 'running' });
  const call = { id: '1', tool: 'mcp__a__b', startedAtMs: 1_200 };
  const sent = (more: Partial<DeliveryRecord>): Partial<TimelineSources> => ({
    deliveries: [{ key: 'k1', record: { ...delivery, ...more } }],
  });
  const rows: readonly (readonly [string, Partial<TimelineSources>, RegExp, RegExp])[] = [
    ['queued', { run: { key: 'k1', record: run } }, /waits for a slot/, /^$/],
    [
      'queued',
      { run: { key: 'k1', record: { ...run, reason: 'no room' } } },
      /started yet, .* again: no room\.$/,
      /^$/,
    ],
    ['running', running, /under way/, /^$/],
    [
      'running',
      { ...running, callsUnderWay: [call] },
      /^Accepted: its run is under way, in a call of mcp__a__b\.$/,
      /^$/,
    ],
    [
      'running',
      { ...running, callsUnderWay: [{ ...call, approval: 'a1' }], questions: [question] },
      /^Accepted: its run waits for your yes to mcp__a__b\.$/,
      /`agent approvals approve a1`/,
    ],
    [
      'running',
      { ...running, questions: [{ ...question, kind: 'form', tool: 'clarify' }] },
      /^Accepted: its run waits for your answer\.$/,
      /`agent approvals show a1`/,
    ],
    ['delivering', sent({}), /^On its way to sms: it waits for its turn\.$/, /^$/],
    ['failed', runIs({ status: 'failed', reason: 'exit 1' }), /^Its run failed: exit 1\.$/, /agent events replay k1/],
    [
      'failed',
      sent({ status: 'failed', reason: 'chat not found' }),
      /^Not delivered to sms: chat not found\.$/,
      /^Correct what the reason names, then retry\. `agent deliveries retry k1` sends its text again\.$/,
    ],
    [
      'failed',
      sent({ status: 'deadLettered', reason: 'sms: the platform does not accept the credentials (HTTP 401)' }),
      /does not accept the credentials/,
      /^Correct the credentials of `platforms\.sms`, then retry\. `agent deliveries retry k1` /,
    ],
    [
      'failed',
      sent({ status: 'deadLettered', reason: 'sms: the platform does not know the place to deliver to (HTTP 404)' }),
      /does not know the place/,
      /correct `deliver_extra` .*`agent deliveries retry k1` .*`agent events replay k1` /,
    ],
    [
      'failed',
      sent({ status: 'deadLettered', reason: 'sms: "x" is no place to deliver to; chat_id is a number' }),
      /is no place to deliver to/,
      /^Correct `deliver_extra` of the route, then replay the events\. `agent events replay k1` [^`]*$/,
    ],
    [
      'delivering',
      sent({ status: 'waitingToRetry', attempts: 2, dueAtMs: 9_000, reason: 'busy' }),
      /tried again: busy\.$/,
      /^$/,
    ],
    [
      'delivering',
      { deliveries: [{ key: 'k1', record: delivery, pause }] },
      /^On its way to sms, which asks for a pause: slow down\.$/,
      /`agent deliveries retry k1` lets it go/,
    ],
    [
      'failed',
      sent({ status: 'deadLettered', attempts: 8, reason: 'gone' }),
      /^Not delivered to sms: gone\.$/,
      /agent deliveries retry k1/,
    ],
    [
      'failed',
      sent({ status: 'dropped', reason: 'busy' }),
      /^A person dropped it: not sent to sms: busy\.$/,
      /^If it is to be sent after all: `agent events replay k1`/,
    ],
    [
      'failed',
      sent({ status: 'dropped', reason: 'busy', note: 'sent by hand' }),
      /^A person dropped it: not sent to sms: sent by hand\.$/,
      /replay k1/,
    ],
    ['unknown', sent({ status: 'unknown', reason: 'cut off' }), /may or may not/, /agent deliveries retry k1 --force/],
  ];
  for (const [status, more, verdict, cure] of rows) {
    const timeline = timelineOf(sources({ status, ...more }));
    t.match(timeline.verdict, verdict);
    t.match(timeline.cure, cure);
  }
  const held = timelineOf(sources({ status: 'queued', run: { key: 'k1', record: run } })).phases[1]?.steps[0];
  t.match(held, { result: 'waiting', detail: /0 holds runs/ });
  t.end();
});

t.test('INS-4 · CLI-6 · an event has not ended while its run has not noted the outcome of the delivery', (t) => {
  const arrived = { key: 'k1', record: { ...delivery, status: 'delivered', endedAtMs: 1_600 } } as const;
  const endOf = (status: 'delivering' | 'delivered'): number | undefined => {
    const record = { ...run, startedAtMs: 1_020, status, response: 'done' };
    const given = sources({ status, run: { key: 'k1', record }, deliveries: [arrived] });
    return openEvent({ ...given, joined: [], replays: [], answer: undefined }).ended;
  };
  t.same([endOf('delivering'), endOf('delivered')], [undefined, 1_600]);
  t.end();
});

t.test('DUR-2 · INS-4 · CLI-6 · an event of a batch whose run is no longer kept has ended, and says so', (t) => {
  const kept = sources({ status: 'coalesced', event: { ...event, work: 'b1', told: { groupKey: 'prod' } } });
  const opened = openEvent({ ...kept, joined: [1_000, 1_200], replays: [], answer: undefined });
  t.match(opened, { ended: 1_200, verdict: { tone: 'ended', text: /no longer in the history/ } });
  t.match(timelineOf(kept), { verdict: /no longer in the history/, phases: [{}, { state: 'dispatched' }] });
  t.end();
});

t.test('INS-2 · LIM-5 · DIS-3 · a run that ended before it began shows why, and no longer waits', (t) => {
  for (const more of [
    { status: 'failed', reason: 'EMFILE' },
    { status: 'cancelled', reason: 'cancelled by me' },
  ] as const) {
    const ended = sources({ run: { key: 'k1', record: { ...run, ...more, endedAtMs: 2_000 } } });
    const { phases } = timelineOf(ended);
    const { verdict } = openEvent({ ...ended, joined: [], replays: [], answer: undefined });
    if (more.status === 'cancelled')
      t.same(verdict, { tone: 'ended', text: 'Cancelled by me: nothing is delivered.', detail: '' }, 'said once');
    const steps = phases.find(({ kind }) => kind === 'run')?.steps;
    t.match(steps, [{ state: 'queued', result: 'failed', detail: more.reason }]);
    t.equal(steps?.length, 1);
  }
  t.end();
});

t.test('INS-2 · DLV-4 · what waits behind a pause of its platform says until when, and whose words those are', (t) => {
  const toldOf = (record: Partial<DeliveryRecord>) =>
    timelineOf(sources({ deliveries: [{ key: 'k1', record: { ...delivery, ...record }, pause }] })).phases.at(-1)
      ?.steps;

  t.match(
    toldOf({})?.at(-1)?.detail,
    /4 characters for sms; sms asks for a pause until 1970-01-01T00:01:00.000Z: slow down$/,
  );
  const waiting = { status: 'waitingToRetry', attempts: 2, reason: 'busy' } as const;
  t.match(
    toldOf({ ...waiting, dueAtMs: 9_000 })?.at(-1)?.detail,
    /^busy; 2 attempts; tried again at 1970-01-01T00:01:00/,
  );
  t.match(toldOf({ ...waiting, dueAtMs: 90_000 })?.at(-1)?.detail, /tried again at 1970-01-01T00:01:30/);
  t.end();
});

t.test('INS-2 · DLV-7 · an event of a route with a list names each target of its response', (t) => {
  const place = { target: 'slack', extra: {} };
  const deliverTo = [place, { ...place, target: 'http' }];
  const rendered = (more: Partial<EventRecord>) =>
    timelineOf(
      sources({ status: 'delivered', event: { ...event, ...more }, run: { key: 'r1', record: run } }),
    ).phases[0]?.steps?.find(({ state }) => state === 'rendering');
  t.match(rendered({ deliverTo }), { detail: 'an agent run, its response to slack and http' });
  t.match(rendered({ deliverTo: [] }), { detail: 'an agent run, its response to log' });
  t.end();
});

t.test('INS-2 · DIS-2 · of a text that its sender does not wait for, no agent run is shown', (t) => {
  const direct = {
    key: 'r1',
    record: { ...run, status: 'delivered', startedAtMs: 5, response: 'hi', isDirect: true },
  } as const;
  const arrived = { ...event, status: 'accepted', deliver: 'slack' } as const;
  const { verdict, phases } = timelineOf(sources({ status: 'delivered', event: arrived, run: direct }));
  t.equal(verdict, 'Delivered to slack.');
  t.match(
    phases[0]?.steps?.find(({ state }) => state === 'rendering'),
    { detail: 'goes to slack as it is' },
  );
  t.match(phases[1], { title: 'its text, without an agent' });
  t.match(
    phases[1]?.steps?.find(({ state }) => state === 'running'),
    { detail: 'the text has 2 characters' },
  );
  t.end();
});

t.test('INS-2 · COA-2 · a batch’s event shows what it waits for, and which run stood for it', (t) => {
  const coalesced: EventRecord = { ...event, status: 'coalesced', work: 'b1', told: { groupKey: 'prod' } };
  const burst = { id: 'b1', firstAtMs: 900, count: 3, latestEventKey: 'k1', dueAtMs: 60_000 };
  const waiting = timelineOf(
    sources({
      status: 'coalesced',
      event: coalesced,
      group: { key: 'default/gh/prod', record: { profile: 'default', route: 'gh', groupKey: 'prod', burst } },
    }),
  );
  t.match(waiting.verdict, /waits in its batch/);
  t.match(waiting.phases[1], { kind: 'group', actor: 'groups/default/gh/prod', steps: [{ result: 'waiting' }] });
  const stood = timelineOf(
    sources({
      status: 'delivered',
      event: coalesced,
      run: {
        key: 'b1',
        record: { ...run, eventKey: 'k3', superseded: 2, group: 'default/gh/prod', status: 'delivered' },
      },
    }),
  );
  t.match(stood.phases[1]?.steps[1], {
    detail: /one run for 3 events, with the texts of the newest \(k3\), not of this one$/,
  });
  const batch = timelineOf(
    sources({
      status: 'delivered',
      event: coalesced,
      run: {
        key: 'b1',
        record: { ...run, eventKey: 'k3', superseded: 1, earlierKeys: ['k1', 'k2'], status: 'delivered' },
      },
    }),
  );
  t.match(batch.phases[1]?.steps[1], { detail: /one run for 4 events, with the texts of 3 up to the newest \(k3\)$/ });
  t.end();
});

t.test('DUR-2 · a replay and a record of an earlier version show what they can', (t) => {
  const replay = timelineOf(sources({ event: { ...event, replayOf: 'k0' } }));
  t.match(replay.phases[0]?.title, /replay of k0/);
  t.equal(replay.phases[0]?.steps.find(({ state }) => state === 'verifying')?.result, 'skipped');
  const old = timelineOf(sources({ status: 'ignored', event: { ...event, status: 'ignored', reason: 'filter: x' } }));
  t.equal(old.phases[0]?.steps.at(-2)?.state, 'matching');
  t.end();
});

t.test('INS-2 · times are shown where steps were remembered', (t) => {
  const timeline = timelineOf(
    sources({
      stepsOf: (actor) =>
        actor === 'requests/k1'
          ? [{ seq: 1, at: 1_003, actor, machine: 'webhookRequest', event: '', from: 'sizing', to: 'routing' }]
          : [],
    }),
  );
  t.equal(timeline.phases[0]?.steps.find(({ state }) => state === 'routing')?.at, 1_003);
  t.end();
});
