/**
 * The wizards' questions on the terminal. Ctrl-C or the end of the input at one ends them all. The prompts
 * package is loaded at the first question, so that other commands do not pay for it.
 * @see CLI-1 in docs/specification.md
 */

/** There is no terminal to ask on, the input has ended, or Ctrl-C was pressed. */
export class QuestionsLeft extends Error {
  readonly isCancelled: boolean;

  constructor(why = 'the questions were left; nothing was written', isCancelled = false) {
    super(why);
    this.name = 'QuestionsLeft';
    this.isCancelled = isCancelled;
  }
}

interface Choice<Value> {
  readonly value: Value;
  readonly label: string;
  readonly hint?: string;
}

export interface Prompts {
  intro(title: string): void;
  note(text: string, title: string): void;
  outro(text: string): void;
  /** Prints a line between the questions. */
  step(text: string): void;
  confirm(message: string, initial: boolean): Promise<boolean>;
  text(message: string, initial: string, problem?: (text: string) => string | undefined): Promise<string>;
  /** Does not show what is typed. */
  secret(message: string, problem?: (text: string) => string | undefined): Promise<string>;
  select<Value>(message: string, choices: readonly Choice<Value>[], initial: Value): Promise<Value>;
  several<Value>(
    message: string,
    choices: readonly Choice<Value>[],
    initial: readonly Value[],
  ): Promise<readonly Value[]>;
}

const defaultSize = { columns: 80, rows: 24 } as const;

/** Whether a person can be asked. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stdout.isTTY === true;
}

export async function loadPrompts(): Promise<Prompts> {
  // A terminal of unknown size reports 0, and the package would draw nothing on it.
  if (process.stdout.columns === 0) process.stdout.columns = defaultSize.columns;
  if (process.stdout.rows === 0) process.stdout.rows = defaultSize.rows;
  const clack = await import('@clack/prompts');
  const answered = <Value>(value: Value): Exclude<Value, symbol> => {
    if (typeof value === 'symbol') throw new QuestionsLeft(undefined, !process.stdin.readableEnded);
    return value as Exclude<Value, symbol>;
  };
  const judge = (problem: ((text: string) => string | undefined) | undefined) =>
    problem === undefined ? {} : { validate: (text: string | undefined) => problem(text ?? '') };
  return {
    intro: (title) => clack.intro(title),
    note: (text, title) => clack.note(text, title),
    outro: (text) => clack.outro(text),
    step: (text) => clack.log.step(text),
    confirm: async (message, initial) => answered(await clack.confirm({ message, initialValue: initial })),
    text: async (message, initial, problem) =>
      answered(await clack.text({ message, initialValue: initial, ...judge(problem) })) ?? '',
    secret: async (message, problem) => answered(await clack.password({ message, ...judge(problem) })) ?? '',
    select: async (message, choices, initial) =>
      answered(await clack.select({ message, options: optionsOf(choices), initialValue: initial })),
    several: async (message, choices, initial) =>
      answered(
        await clack.multiselect({ message, options: optionsOf(choices), initialValues: [...initial], required: false }),
      ),
  };
}

/** The package distinguishes strings from other values only in its types. */
function optionsOf<Value>(choices: readonly Choice<Value>[]): never[] {
  return choices.map((choice) => ({ ...choice })) as never[];
}
