import t from 'tap';
import { type NoticeKeys, noticePlace } from '../../../machines/config/notice-place.ts';

t.test(
  'DIS-4 · a notice goes to its own place, else to that of deliver at the same target, else to the home channel',
  (t) => {
    const keys: NoticeKeys = { deliver: 'slack', deliverExtra: { chat_id: 'C1' } };
    t.equal(noticePlace(keys), undefined);
    t.equal(noticePlace({ ...keys, onFailureExtra: { chat_id: 'C2' } }), undefined);
    t.same(noticePlace({ ...keys, onFailure: 'team_chat_a' }), { target: 'team_chat_a', extra: { chat_id: 'C1' } });
    t.same(noticePlace({ ...keys, onFailure: 'telegram' }), { target: 'telegram', extra: {} });
    t.same(noticePlace({ ...keys, onFailure: 'slack', onFailureExtra: {} }), { target: 'slack', extra: {} });
    t.end();
  },
);
