/**
 * Chooses the one skill that a run loads, and parses its text. A callback says whether a skill exists.
 * @see DIS-6 in docs/specification.md
 */

interface Skill {
  readonly name: string;
  readonly description: string;
  /** The text for the agent. */
  readonly text: string;
}

/** Returns the first name that exists; later ones are ignored. */
export function chooseSkill(names: readonly string[], has: (name: string) => boolean): string | undefined {
  return names.find(has);
}

const frontMatter = /^---\r?\n([\s\S]*?)\r?\n---\r?\n?/;

/** Reads a SKILL.md: front matter with `name` and `description`, then the text. Without front matter, all is text. */
export function readSkill(folderName: string, source: string): Skill {
  // Some editors on Windows write a byte order mark first.
  const whole = source.replace(/^\uFEFF/, '');
  const head = frontMatter.exec(whole);
  const fields = head?.[1] ?? '';
  return {
    name: fieldOf(fields, 'name') ?? folderName,
    description: fieldOf(fields, 'description') ?? '',
    text: whole.slice(head?.[0].length ?? 0).trim(),
  };
}

function fieldOf(fields: string, name: string): string | undefined {
  const line = new RegExp(`^${name}:[ \\t]*(.+)$`, 'm').exec(fields)?.[1]?.trim();
  return line?.replace(/^(["'])(.*)\1$/, '$2');
}
