/**
 * The skills of a profile: `skills/<name>/SKILL.md` or `skills/<category>/<name>/SKILL.md`, confined to the folder.
 * @see DIS-6 in docs/specification.md
 */

import { type Dirent, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readSkill } from '../../machines/agent/skill.ts';
import { confined } from '../confine.ts';
import { isExhausted } from '../exhaustion.ts';

/** The file of a skill: its own folder's, else that of the first category that has it; undefined if there is none. */
export function skillFile(folder: string, name: string): string | undefined {
  // A name of dots alone would be that of a category.
  const categories = /[^./]/.test(name) ? categoriesIn(folder) : [];
  const places = [name, ...categories.map((category) => join(category, name))];
  for (const place of places) {
    const file = confined(folder, join(place, 'SKILL.md'));
    if (file !== undefined && statSync(file, { throwIfNoEntry: false })?.isFile() === true) return file;
  }
  return undefined;
}

function categoriesIn(folder: string): readonly string[] {
  let entries: readonly Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch (thrown) {
    if (isExhausted(thrown)) throw thrown;
    return [];
  }
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}

export function createSkillsStore({ folder }: { readonly folder: string }) {
  return {
    /** The text of a skill; undefined if no skill has that name. */
    text(name: string): string | undefined {
      const file = skillFile(folder, name);
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
