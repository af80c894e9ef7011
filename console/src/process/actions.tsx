/** The operations on one process of one host. What cannot be done stays visible and says why. */
import type { Operation, Process } from '../api/types';
import { Button } from '../components/button';
import type { IconName } from '../components/icon';
import { Menu } from '../components/menu';
import { t as common, opWord, reasonWord } from '../i18n/common';
import { askOperation } from '../operate/host';
import { processKey } from '../operate/target';

export const OPERATIONS: { op: Operation; icon: IconName; main: boolean }[] = [
  { op: 'start', icon: 'start', main: true },
  { op: 'stop', icon: 'stop', main: true },
  { op: 'restart', icon: 'restart', main: true },
  { op: 'reload', icon: 'reload', main: false },
  { op: 'kill', icon: 'kill', main: false },
  { op: 'manage', icon: 'manage', main: false },
  { op: 'unmanage', icon: 'unmanage', main: false },
];

/** Why an operation cannot be asked for, or null. The server says for each row whether the role allows it. */
export function blockedReason(row: Process, op: Operation): string | null {
  const reason = row.blocked?.[op];
  if (reason) return reasonWord(reason);
  if (!row.connected) return reasonWord('agent_away');
  return null;
}

export function ProcessActions({ row }: { row: Process }) {
  const ask = (op: Operation) => askOperation(op, { kind: 'keys', keys: [processKey(row)] });
  return (
    <div class="line">
      {OPERATIONS.filter(one => one.main).map(({ op, icon }) => (
        <Button key={op} size="small" icon={icon} blocked={blockedReason(row, op)} onClick={() => ask(op)}>
          {opWord(op)}
        </Button>
      ))}
      <Menu
        size="small"
        side="right"
        items={OPERATIONS.filter(one => !one.main).map(({ op, icon }) => ({
          label: opWord(op),
          icon,
          blocked: blockedReason(row, op),
          onSelect: () => ask(op),
        }))}
      >
        {common().more}
      </Menu>
    </div>
  );
}
