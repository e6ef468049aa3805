/**
 * Chooses the runner of a profile's agent and provides its tools, the files of a run and the redaction. The model code is
 * loaded with the first run that needs it.
 * @see DIS-3, CON-3 and PRF-2 in docs/specification.md
 */

import { createCommandRunner } from '../../actors/agent/run-command.ts';
import { echoRunner } from '../../actors/agent/run-echo.ts';
import { type RunFilesSettings, sweepRunFiles } from '../../actors/agent/run-files.ts';
import type { ModelRunner } from '../../actors/agent/run-model.ts';
import type { LoadedProfile } from '../../actors/config/load-config.ts';
import type { AgentRunner, AgentRunRequest, Logger } from '../../actors/ports.ts';
import type { HomePaths } from '../../machines/config/profile.ts';
import type { ModelSettings } from '../../machines/config/settings.ts';
import type { Servers } from '../mcp/servers.ts';
import { mainFile } from '../system/package-files.ts';

interface RunnerPorts {
  readonly paths: HomePaths;
  readonly openSocket: RunFilesSettings['openSocket'];
  readonly servers: () => Pick<Servers, 'registry' | 'calls' | 'approvals' | 'settled'>;
  readonly redact: (text: string) => string;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly log: Logger;
}

export interface Runners {
  of(profile: LoadedProfile): AgentRunner;
  /** Removes the files of runs that a killed daemon left behind. */
  sweep(): Promise<void>;
}

/** How long a run waits for servers that have never been connected yet. */
const arrivalMs = 10_000;

type LoadModelRunner = (profile: LoadedProfile, model: ModelSettings, ports: RunnerPorts) => Promise<ModelRunner>;

/** @param load loads the model code, with the first run that needs it */
export function createRunners(ports: RunnerPorts, load: LoadModelRunner = loadModelRunner): Runners {
  const { paths, openSocket } = ports;
  const files: RunFilesSettings = {
    folder: `${paths.state}/runs`,
    program: [process.execPath, mainFile],
    openSocket,
  };

  return {
    sweep: () => sweepRunFiles(files.folder),
    of(profile) {
      const { agent } = profile.settings;
      switch (agent.runner) {
        case 'command':
          return createCommandRunner({
            command: agent.command,
            cwd: agent.cwd ?? profile.paths.home,
            env: agent.env,
            files,
          });
        case 'echo':
          return echoRunner;
        case 'model':
          return agent.model === undefined ? noModel : modelRunner(profile, agent.model);
      }
    },
  };

  function modelRunner(profile: LoadedProfile, model: ModelSettings): AgentRunner {
    let loading: Promise<ModelRunner> | undefined;
    return async (request, signal) => {
      loading ??= load(profile, model, ports).catch((thrown: unknown) => {
        // A file that could not be opened for lack of descriptors can be opened later.
        loading = undefined;
        throw thrown;
      });
      return (await loading)(request, signal);
    };
  }
}

const noModel: AgentRunner = () =>
  Promise.resolve({ kind: 'failed', reason: 'agent.runner is "model" but there is no agent.model' });

async function loadModelRunner(
  { name, settings }: LoadedProfile,
  model: ModelSettings,
  { servers, redact, nowMs, random, log }: RunnerPorts,
): Promise<ModelRunner> {
  const [{ createModelRunner }, { createLendTools }] = await Promise.all([
    import('../../actors/agent/run-model.ts'),
    import('./lend-tools.ts'),
  ]);
  const { search } = settings.agent;
  const lend = createLendTools({
    registry: () => servers().registry(name),
    calls: servers().calls,
    approvals: servers().approvals,
    ...(search === undefined ? {} : { search }),
    nowMs,
    random,
    log,
  });
  const toolsOf = ({ profile, route, toolsets, runId, traceparent }: AgentRunRequest, asked: ModelSettings) =>
    lend({
      profile,
      model: asked,
      toolsets,
      who: `a run of route "${route}"`,
      caller: 'run',
      run: runId,
      ...(traceparent === undefined ? {} : { traceparent }),
    });
  const run = createModelRunner(model, { toolsOf, redact, nowMs, random });
  return async (request, signal) => {
    await servers().settled(name, arrivalMs, signal);
    return run(request, signal);
  };
}
