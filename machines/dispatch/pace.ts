/**
 * How fast deliveries are sent to a platform: concurrently, per time, and one at a time within a chat. The numbers are the
 * platforms' own limits; Retry-After is handled elsewhere.
 * @see DLV-4 in docs/specification.md
 */

import { defaultConcurrency } from '../config/platform-settings.ts';
import type { PlatformSettings } from '../config/settings.ts';

export interface Pace {
  readonly concurrency: number;
  /** Between the starts of two deliveries to the platform, and to one chat on it. */
  readonly gapMs: number;
  readonly chatGapMs: number;
}

/** Required gaps between deliveries: on the platform, and in one chat. */
const gaps: Readonly<Record<string, readonly [gapMs: number, chatGapMs: number]>> = {
  // 30 messages per second, one per second in a chat.
  telegram: [34, 1_000],
  // 50 requests per second, five in five seconds per channel.
  discord: [20, 1_000],
  slack: [0, 1_000],
  // 80 messages per second, one in six seconds per recipient.
  whatsapp: [13, 6_000],
  // 20 messages per minute; a robot that sends more is blocked for ten minutes.
  dingtalk: [3_100, 0],
  feishu: [20, 210],
  // 30 messages per minute for a member, 20 for a robot.
  wecom: [0, 3_100],
  // Not documented: a third message within a second keeps the bot from sending for up to an hour.
  weixin: [1_500, 0],
  // One message per second and space, for all its webhooks.
  google_chat: [0, 1_000],
  // Four requests per second and address.
  teams: [250, 0],
};

export function paceOf(target: string, { concurrency, perMinute }: Partial<PlatformSettings>): Pace {
  const [gapMs, chatGapMs] = gaps[target] ?? [0, 0];
  return {
    concurrency: concurrency ?? defaultConcurrency,
    gapMs: perMinute === undefined ? gapMs : Math.ceil(60_000 / perMinute),
    chatGapMs,
  };
}
