import t from 'tap';
import {
  deliveryStatuses,
  eventWords,
  historyStatuses,
  meantStatus,
  runStatuses,
  stateWords,
} from '../../../machines/base/status.ts';

t.test('CLI-6 · a state is shown in words', async (t) => {
  for (const [state, words] of [
    ['needsLogin', 'needs login'],
    ['waitingToRetry', 'waiting to retry'],
    ['deadLettered', 'dead lettered'],
    ['delivered', 'delivered'],
    ['unknown', 'unconfirmed'],
    ['up.running', 'up.running'],
  ] as const)
    t.equal(stateWords(state), words);
  for (const status of [...historyStatuses, ...runStatuses, ...deliveryStatuses])
    t.match(stateWords(status), /^[a-z ]+$/);
});

t.test('CLI-6 · a status may be given as its value, in words or with hyphens', async (t) => {
  for (const text of ['deadLettered', 'dead lettered', 'dead-lettered'])
    t.equal(meantStatus(text, deliveryStatuses), 'deadLettered');
  t.equal(meantStatus('unconfirmed', deliveryStatuses), 'unknown');
  t.equal(meantStatus('dead', deliveryStatuses), undefined);
});

t.test('INS-1 · the interpreter’s own events are named by what they mean', async (t) => {
  t.equal(eventWords('xstate.done.actor.resumeWork'), 'resumeWork done');
  t.equal(eventWords('xstate.error.actor.connectServer'), 'connectServer error');
  t.equal(eventWords('xstate.after.retry.serverConnection.backingOff'), 'retry over');
  t.equal(eventWords('call.began'), 'call.began');
});
