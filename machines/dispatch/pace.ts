/**
 * How fast deliveries go to a platform: so many at the same time, so many in a time, and within one chat one after another.
 * The figures are the platforms' own; a platform that still asks for fewer is obeyed elsewhere.
 * @see DLV-4 in docs/specification.md
 */

import { defaultConcurrency } from '../config/platform-settings.ts';
import type { PlatformSettings } from '../config/settings.ts';

export interface Pace {
  readonly concurrency: number;
  /** Between the beginnings of two deliveries to the platform, and to one chat there. */
  readonly gapMs: number;
  readonly chatGapMs: number;
}

/** Gaps that platforms ask for: to all of them, and to one chat. */
const gaps: Readonly<Record<string, readonly [gapMs: number, chatGapMs: number]>> = {
  // 30 messages a second, one a second in a chat.
  telegram: [34, 1_000],
  // 50 requests a second, five in five seconds in a channel.
  discord: [20, 1_000],
  slack: [0, 1_000],
  // 80 messages a second, one in six seconds to one recipient.
  whatsapp: [13, 6_000],
  // 20 messages a minute, and a robot that sends more is silenced for ten.
  dingtalk: [3_100, 0],
  feishu: [20, 210],
  // 30 messages a minute for a member, 20 for a robot.
  wecom: [0, 3_100],
  // One message a second in a space, for all its webhooks.
  google_chat: [0, 1_000],
  // Four requests a second by one address.
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
