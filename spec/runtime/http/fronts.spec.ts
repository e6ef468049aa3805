import t from 'tap';
import { openNodeFront } from '../../../runtime/http/node.ts';
import { openUwsFront } from '../../../runtime/http/uws.ts';
import { frontContract } from '../../conformance/front.ts';
import { noUws } from '../../support/fronts.ts';

frontContract(t, 'node', openNodeFront);
t.test('uWebSockets.js', { skip: noUws }, async (t) => frontContract(t, 'uws', openUwsFront));
