import t from 'tap';
import { isPublicAddress } from '../../../actors/agent/public-address.ts';
import { fc } from '../../support/property.ts';

t.test('DIS-5 · what a registry sets apart is not public', (t) => {
  const apart = [
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.8',
    '192.168.1.1',
    '198.18.0.1',
    '203.0.113.9',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::7f00:1',
    'fc00::1',
    'fd12::1',
    'fe80::1',
    'fe80::1%eth0',
    '2001:db8::1',
    '2002:7f00:1::1',
    '2001::1',
    'ff02::1',
    '3fff::1',
    '',
    'localhost',
    '127.1',
    '0x7f000001',
  ];
  for (const address of apart) t.notOk(isPublicAddress(address), address);
  for (const address of ['8.8.8.8', '172.15.255.255', '172.32.0.1', '1.1.1.1', '2606:4700::1111', '2a00:1450::1'])
    t.ok(isPublicAddress(address), address);
  t.end();
});

t.test('DIS-5 · no address of a private network is public, and no text makes it fail', (t) => {
  const part = fc.integer({ min: 0, max: 255 });
  const privates = fc.oneof(
    fc.tuple(fc.constant(10), part, part, part),
    fc.tuple(fc.constant(127), part, part, part),
    fc.tuple(fc.constant(192), fc.constant(168), part, part),
    fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), part, part),
  );
  fc.assert(
    fc.property(
      privates,
      (parts) => !isPublicAddress(parts.join('.')) && !isPublicAddress(`::ffff:${parts.join('.')}`),
    ),
  );
  fc.assert(fc.property(fc.string(), (text) => typeof isPublicAddress(text) === 'boolean'));
  t.end();
});
