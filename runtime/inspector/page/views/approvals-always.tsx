/**
 * Confirms a rule that lets a tool run without a question: shows what it covers, and how to remove it.
 * @see TRU-3 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { isJsonObject, type JsonObject } from '../../../../machines/base/json.ts';
import { inQuotes } from '../../../../machines/base/shown-json.ts';
import type { ApprovalDetail } from '../../../control/contract.ts';
import { Button } from '../parts/button.tsx';
import { Check } from '../parts/choice.tsx';
import { Dialog } from '../parts/dialog.tsx';

export interface AlwaysProps {
  readonly row: ApprovalDetail;
  readonly busy: boolean;
  readonly onYes: (where: JsonObject) => void;
  readonly onClose: () => void;
}

export function AlwaysDialog({ row, busy, onYes, onClose }: AlwaysProps): JSX.Element {
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const values = Object.entries(isJsonObject(row.detail) ? row.detail : {}).filter(([, value]) =>
    ['string', 'number', 'boolean'].includes(typeof value),
  );
  const needsLimit = row.hints?.destructive === true && chosen.length === 0;
  const where = Object.fromEntries(values.filter(([name]) => chosen.includes(name)));
  return (
    <Dialog title="Always approve this tool?" keepsText onClose={onClose}>
      <div class="pad stack">
        <p>
          A rule is written to the entry of mcp server {row.server} in config.yaml. From then on calls of{' '}
          <code>{row.tool}</code> run without a question, in every run and for every caller. To take it back, remove the
          rule under <code>approvals</code>.
        </p>
        {values.length === 0 ? null : <p>Only with these arguments:</p>}
        {values.map(([name, value]) => (
          <Check
            key={name}
            checked={chosen.includes(name)}
            onChange={(isOn) => setChosen(isOn ? [...chosen, name] : chosen.filter((one) => one !== name))}
          >
            <code>{inQuotes(name)}</code> is {inQuotes(String(value))}
          </Check>
        ))}
        {needsLimit ? <p class="hint fault">The tool is marked as destructive: choose at least one argument.</p> : null}
        <div class="btns">
          <Button data-first onClick={onClose}>
            Cancel
          </Button>
          <Button class="danger" disabled={busy || needsLimit} onClick={() => onYes(where)}>
            {busy ? 'Writing the rule…' : 'Write the rule'}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
