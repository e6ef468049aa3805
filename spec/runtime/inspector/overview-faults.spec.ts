import t from 'tap';
import type { Diagnostic } from '../../../machines/config/diagnostic.ts';
import { type FaultSources, faultsOf } from '../../../runtime/inspector/overview-faults.ts';

const finding = (code: string, scope: Diagnostic['scope'], file = 'config.yaml'): Diagnostic => ({
  ...{ code, scope, file, line: 0, column: 0, message: 'no', severity: 'error', sourceLine: '' },
});
const ofWork = finding('of-work', { kind: 'platform', platform: 'slack' }, 'profiles/work/config.yaml');
const ofRoute = finding('of-route', { kind: 'webhook' });
const ofServer = finding('of-server', { kind: 'server', server: 'files' });
const statusOf = (fault?: string): FaultSources['status'] => ({
  config: fault === undefined ? { in_force: true } : { in_force: false, fault },
  webhook: { enabled: true, url: null },
  journal: 'ready',
});
const profiles = [undefined, 'default', 'work'];

t.test('INS-4 · PRF-2 · an error of a platform is listed for its profile and for all, one of a route for each', (t) => {
  const findings = [ofWork, ofRoute, ofServer, { ...ofRoute, code: 'odd', severity: 'warning' as const }];
  const [work, route] = ['profiles/work/config.yaml: no [of-work]', 'config.yaml: no [of-route]'];
  t.same(
    profiles.map((profile) => faultsOf({ findings, status: statusOf() }, profile)),
    [[work, route], [route], [work, route]],
  );
  t.end();
});

t.test(
  'INS-4 · a fault that the gateway reports is listed unless it is an error that was found, of any profile',
  (t) => {
    const status = statusOf('profiles/work/config.yaml: no [of-work], and 1 more');
    t.same(faultsOf({ findings: [ofWork], status }, 'default'), []);
    const inUse = { ...status, webhook: { enabled: true, url: null, fault: 'webhook listener: the port is in use' } };
    t.same(faultsOf({ findings: [ofWork, ofServer], status: { ...inUse, journal: 'the disk is full' } }, 'default'), [
      'webhook listener: the port is in use',
      'the disk is full',
    ]);
    t.end();
  },
);
