/**
 * Finds the target that a route names, by its neutral name or its platform's own, and says what prevents a delivery where
 * something does. Causes stay in here and in the log; callers over HTTP never see them.
 * @see DLV-2, DLV-3 and DLV-5 in docs/specification.md
 */

import { causeOf } from '../../machines/base/fault.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import type { ProfileName } from '../../machines/base/names.ts';
import type { PlatformSettings } from '../../machines/config/settings.ts';
import { canonicalTarget } from '../../machines/config/targets.ts';
import type { DeliveryRecord } from '../../machines/webhook/record.ts';
import type { DeliveryOutcome, DeliveryTarget, Logger } from '../ports.ts';
import { createCodehostTarget } from './targets/codehost-comment.ts';
import { createLogTarget } from './targets/log.ts';

export interface TargetSettings {
  readonly platforms: Readonly<Record<string, PlatformSettings>>;
  readonly log: Logger;
  readonly scope: ReadonlyMap<string, string>;
  readonly cwd: string;
}

export type SendText = (record: DeliveryRecord, signal: AbortSignal) => Promise<DeliveryOutcome>;

export interface Targets {
  readonly send: SendText;
  /** True where sending the same delivery twice delivers once. */
  deduplicates(name: string): boolean;
}

/** DLV-3. */
const codehostTimeoutMs = 30_000;

export function createTargets({ platforms, log, scope, cwd }: TargetSettings): Targets {
  const codehost = platforms.codehost_comment?.options.command;
  const targets: ReadonlyMap<string, DeliveryTarget> = new Map([
    ['log', createLogTarget(log)],
    [
      'codehost_comment',
      createCodehostTarget({
        command: typeof codehost === 'string' ? codehost : 'gh',
        cwd,
        timeoutMs: codehostTimeoutMs,
        scope,
      }),
    ],
  ]);
  const find = (name: string): DeliveryTarget | undefined => targets.get(canonicalTarget(name) ?? name);

  return {
    deduplicates: (name) => find(name)?.deduplicates ?? false,
    async send(record, signal) {
      const { target: name, deliveryId, text, extra } = record;
      const target = find(name);
      if (target === undefined) return { kind: 'failed', reason: whyNot(name, platforms, extra) };
      try {
        return await target.deliver({ deliveryId, profile: record.profile as ProfileName, text, extra }, signal);
      } catch (thrown) {
        return { kind: 'unknown', reason: `${name}: ${causeOf(thrown)}` };
      }
    },
  };
}

function whyNot(name: string, platforms: Readonly<Record<string, PlatformSettings>>, extra: JsonObject): string {
  const canonical = canonicalTarget(name);
  if (canonical === undefined) return `target "${name}" is not known; see the list of targets in docs/configuration.md`;
  if (platforms[canonical]?.enabled !== true) {
    return `target "${name}" is not enabled; set platforms.${canonical}.enabled: true and its credentials`;
  }
  if ((extra.chat_id ?? '') === '' && platforms[canonical].homeChannel === undefined) {
    return `target "${name}" has nowhere to deliver to; set deliver_extra.chat_id on the route or platforms.${canonical}.home_channel`;
  }
  return `target "${name}" is not connected: this version delivers to log and codehost_comment only`;
}
