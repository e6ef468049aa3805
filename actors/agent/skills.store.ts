/** The skills of a profile: `skills/<name>/SKILL.md`, confined to the folder. @see DIS-6 in docs/specification.md */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSkill } from '../../machines/agent/skill.ts';
import { confined } from '../confine.ts';
import { isExhausted } from '../exhaustion.ts';

export interface SkillsStore {
  /** The text of a skill; undefined if no skill has that name. */
  text(name: string): string | undefined;
}

export function createSkillsStore({ folder }: { readonly folder: string }): SkillsStore {
  return {
    text(name) {
      const file = confined(folder, join(name, 'SKILL.md'));
      if (file === undefined) return undefined;
      try {
        return readSkill(name, readFileSync(file, 'utf8')).text;
      } catch (thrown) {
        if (isExhausted(thrown)) throw thrown;
        // A folder of that name or an unreadable file is not a skill.
        return undefined;
      }
    },
  };
}
