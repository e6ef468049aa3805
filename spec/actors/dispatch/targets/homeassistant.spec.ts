import t from 'tap';
import { openBench, targetContract } from '../../../conformance/target.ts';
import { homeNotice, homeService } from '../../../support/platforms/homeassistant.ts';

for (const fixture of [homeNotice, homeService]) targetContract(t, fixture);

t.test('DLV-1 · a title comes along', async (t) => {
  const bench = await openBench(t, homeNotice);
  await bench.deliver('hello', { title: 'Build' });

  t.match(bench.platform.requests[0]?.json, { title: 'Build', message: 'hello', notification_id: /^[\w-]{32}$/ });
});

t.test('DLV-4 · a text to a phone is no command to it, and no template in its title', async (t) => {
  const bench = await openBench(t, homeService);
  for (const text of ['command_flashlight', ' clear_notification', 'TTS', 'clear skies'])
    await bench.deliver(text, { title: '{{ states("person.anna") }}' });

  t.same(
    bench.platform.world.messages.map(({ text }) => text),
    ['command_flashlight\u2060', ' clear_notification\u2060', 'TTS\u2060', 'clear skies'],
  );
  t.equal(bench.platform.requests[0]?.json.title, '{\u2060{ states("person.anna") }}');
});

t.test('DLV-1 · an entity without a service of its own gets the text by the service for all', async (t) => {
  const bench = await openBench(t, homeService);
  for (const chat_id of ['my_phone', 'notify.my_phone'])
    t.match(await bench.deliver('tts', { chat_id, title: 'Build' }), { kind: 'delivered' });

  const taken = { place: 'entity', text: 'tts\u2060' };
  t.same(bench.platform.world.messages, [taken, taken]);
  t.match(bench.platform.requests.at(-1), {
    path: '/api/services/notify/send_message',
    json: { entity_id: 'notify.my_phone', title: 'Build' },
  });
});

t.test('DLV-4 · a bad request says whether the service is not there or does not take the message', async (t) => {
  const bench = await openBench(t, homeService);
  t.match(await bench.deliver('hello', { chat_id: 'mobile_app_tablet' }), {
    kind: 'refused',
    class: 'notFound',
    reason: /no service notify\.mobile_app_tablet/,
  });

  bench.platform.scripts.push({ status: 400, text: '400: Bad Request' });
  t.match(await bench.deliver('hello'), {
    kind: 'refused',
    class: 'permanent',
    reason: /notify\.mobile_app_phone does not take the message/,
  });
});
