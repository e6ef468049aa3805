/**
 * The tools that a run has without any server, by name. A tool whose prerequisite is not configured is left out: offering
 * a tool that can only fail would cost the model steps.
 * @see DIS-5 in docs/specification.md
 */

import type { ModelQuestion } from '../../machines/agent/model-talk.ts';
import type { SearchSettings } from '../../machines/config/settings.ts';
import { type AskPerson, createClarify } from './clarify.ts';
import { createFetchPublic, type FetchPublic } from './fetch-public.ts';
import type { BuiltInTool } from './model-loop.ts';
import type { ModelVerdict } from './stream-model.ts';
import { createVisionAnalyze } from './vision-analyze.ts';
import { createWebExtract } from './web-extract.ts';
import { createWebSearch } from './web-search.ts';

interface BuiltInPorts {
  readonly search?: SearchSettings;
  readonly askModel: (question: ModelQuestion, signal: AbortSignal) => Promise<ModelVerdict>;
  readonly askPerson: AskPerson;
  readonly fetchPublic?: FetchPublic;
}

export function createBuiltInTools(ports: BuiltInPorts): ReadonlyMap<string, BuiltInTool> {
  const { search, askModel, askPerson, fetchPublic = createFetchPublic() } = ports;
  const tools = [
    ...(search === undefined ? [] : [createWebSearch(search)]),
    createWebExtract(fetchPublic),
    createVisionAnalyze(fetchPublic, askModel),
    createClarify(askPerson),
  ];
  return new Map(tools.map((tool) => [tool.offer.name, tool]));
}
