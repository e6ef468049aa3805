import t from 'tap';
import type { AnyActorRef } from 'xstate';
import { createSubjects } from '../../../runtime/inspector/subjects.ts';
import { createRedactor } from '../../../runtime/observe/redact.ts';
import { fc } from '../../support/property.ts';

/** As much of an actor as shows where it lives. */
const actor = (id: string): AnyActorRef =>
  ({ id, sessionId: `x:${id}`, _parent: { id: 'root', logic: {} }, logic: { id: 'thing' } }) as unknown as AnyActorRef;

function subjects(deliveryOf: (key: string) => string | undefined = () => undefined) {
  const redactor = createRedactor();
  redactor.learn('hunter2hunter2');
  return createSubjects({ redactor, deliveryOf });
}

t.test('INS-3 · an actor is reported with its present context, however often it was reported before', (t) => {
  const { of } = subjects();
  const ref = actor('one');
  const told = of(ref, { route: { name: 'held' } });
  t.match(told, { actor: 'one', machine: 'thing', route: 'held', delivery: undefined });
  t.equal(of(ref, { route: { name: 'held' } }), told, 'worked out once while it says the same');
  t.match(of(ref, { route: { name: 'held' }, deliveryId: 'd-1' }), { route: 'held', delivery: 'd-1' });
  t.match(of(ref, { server: 's' }), { route: undefined, delivery: undefined, server: 's' });
  t.end();
});

t.test('INS-3 · many actors that take turns are not taken for each other', (t) => {
  const actors = Array.from({ length: 30 }, (_, at) => actor(`actor-${at}`));
  fc.assert(
    fc.property(
      fc.array(fc.record({ at: fc.nat(29), route: fc.constantFrom('a', 'b') }), { maxLength: 200 }),
      (turns) => {
        const { of } = subjects();
        for (const { at, route } of turns) {
          const ref = actors[at] ?? actor('none');
          t.match(of(ref, { route }), { actor: `actor-${at}`, route });
        }
      },
    ),
    { numRuns: 20 },
  );
  t.end();
});

t.test('INS-1 · no address and no fact shows a secret, encoded or not', (t) => {
  const { of, addressOf } = subjects();
  const ref = actor('groups/hunter2hunter2');
  const told = of(ref, { deliveryId: 'id-hunter2hunter2', route: 'hunter2hunter2' });
  t.notMatch(JSON.stringify([told, told.members, addressOf(ref)]), /hunter2/);
  t.end();
});

t.test('INS-3 · the members are the facts as JSON', (t) => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 1 }),
      fc.option(fc.string({ minLength: 1 }), { nil: undefined }),
      (id, route) => {
        const { of } = subjects();
        const told = of(actor(id), { route });
        const { delivery_id, ...read } = JSON.parse(`{${told.members}"end":1}`);
        t.same(read, JSON.parse(JSON.stringify({ actor: told.actor, machine: 'thing', route: told.route, end: 1 })));
        t.equal(delivery_id, undefined);
      },
    ),
  );
  t.end();
});

t.test('INS-1 · an actor that has only a key is reported with its delivery, once that is known', (t) => {
  let asked = 0;
  let known: string | undefined;
  const { of } = subjects((key) => {
    asked += 1;
    return key === 'k' ? known : undefined;
  });
  const ref = actor('run');
  t.equal(of(ref, { eventKey: 'k' }).delivery, undefined);
  known = 'd-1';
  t.equal(of(ref, { eventKey: 'k' }).delivery, 'd-1');
  t.equal(of(actor('other'), { run: 'k' }).delivery, 'd-1');
  t.equal(asked, 2, 'not asked for again once it is known');
  t.end();
});
