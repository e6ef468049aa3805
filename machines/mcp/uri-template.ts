/**
 * Decides whether a URI template could expand to an address, with any variable values; expands none. Steps are counted over
 * all templates tried for one address, so that servers cannot block the event loop with their templates.
 * @see CLI-5 in docs/specification.md
 * @see [RFC 6570 §3.2](https://www.rfc-editor.org/rfc/rfc6570.html#section-3.2)
 */

/** Longer templates and addresses match nothing, because the cost grows with both. */
const maxLength = 2_048;
/** A template with more matches nothing. */
const maxExpressions = 16;
/** For all templates tried for one address: about 30 ms. */
export const maxSteps = 1_000_000;

type Part =
  | { readonly kind: 'literal'; readonly text: string }
  /** `first` begins every non-empty expansion; `stops` are characters that it never contains. */
  | { readonly kind: 'value'; readonly first: string; readonly isOptional: boolean; readonly stops: string };

/** By the operator of an expression. A plain value has its reserved characters encoded, so it never contains a `/`. */
const operators: Readonly<Record<string, Omit<Extract<Part, { kind: 'value' }>, 'kind'>>> = {
  '+': { first: '', isOptional: false, stops: '' },
  '#': { first: '#', isOptional: true, stops: '' },
  '.': { first: '.', isOptional: true, stops: '/?#' },
  '/': { first: '/', isOptional: true, stops: '?#' },
  ';': { first: ';', isOptional: true, stops: '/?#' },
  '?': { first: '?', isOptional: true, stops: '#' },
  '&': { first: '&', isOptional: true, stops: '#' },
};

const plain = { first: '', isOptional: false, stops: '/?#' } as const;

/**
 * Returns a predicate: whether a template may have produced the address. After `steps` steps over all templates, it returns
 * false for every further one.
 */
export function templateMatcher(uri: string, steps = maxSteps): (template: string) => boolean {
  let left = steps;
  /** Whether that many more steps are allowed. */
  const takes = (count: number): boolean => {
    left -= count;
    return left >= 0;
  };
  return (template) => {
    if (template.length > maxLength || uri.length > maxLength || !takes(template.length)) return false;
    const parts = partsOf(template);
    if (parts.filter(({ kind }) => kind === 'value').length > maxExpressions) return false;
    return matches(parts, uri, takes);
  };
}

function matches(parts: readonly Part[], uri: string, takes: (count: number) => boolean): boolean {
  let starts = new Set([0]);
  for (const part of parts) {
    if (!takes(part.kind === 'literal' ? starts.size * part.text.length : uri.length)) return false;
    starts = part.kind === 'literal' ? afterLiteral(uri, starts, part.text) : afterValue(uri, starts, part);
    if (starts.size === 0) return false;
  }
  return starts.has(uri.length);
}

function afterLiteral(uri: string, starts: ReadonlySet<number>, text: string): Set<number> {
  const ends = new Set<number>();
  for (const at of starts) if (uri.startsWith(text, at)) ends.add(at + text.length);
  return ends;
}

function afterValue(
  uri: string,
  starts: ReadonlySet<number>,
  { first, isOptional, stops }: Extract<Part, { kind: 'value' }>,
) {
  const ends = new Set<number>(isOptional ? starts : []);
  let isInside = false;
  for (let at = 0; at < uri.length; at += 1) {
    const character = uri.charAt(at);
    const goesOn = !stops.includes(character);
    if (first === '') isInside = (isInside || starts.has(at)) && goesOn;
    // The character that begins an expansion need not be allowed within it.
    else isInside = (starts.has(at) && character === first) || (isInside && goesOn);
    if (isInside) ends.add(at + 1);
  }
  return ends;
}

/** An unclosed brace is a literal. */
function partsOf(template: string): readonly Part[] {
  return template.split(/(\{[^{}]*\})/).flatMap((text): readonly Part[] => {
    if (text === '') return [];
    if (!text.startsWith('{') || !text.endsWith('}')) return [{ kind: 'literal', text }];
    const known = operators[text.charAt(1)];
    return [{ kind: 'value', ...(known ?? plain) }];
  });
}
