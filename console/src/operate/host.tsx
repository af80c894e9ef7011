/** Opens the confirmation of an operation from anywhere. The dialog itself is loaded when it is first needed. */
import { signal } from '@preact/signals';
import { lazy } from 'preact-iso';
import type { Operation } from '../api/types';
import type { OperateTarget } from './target';

const OperateDialog = lazy(() => import('./dialog'));

interface Asked {
  op: Operation;
  target: OperateTarget;
  /** After it was accepted. */
  onDone?: (() => void) | undefined;
}

const asked = signal<Asked | null>(null);

export function askOperation(op: Operation, target: OperateTarget, onDone?: () => void) {
  asked.value = { op, target, onDone };
}

export function OperateHost() {
  if (!asked.value) return null;
  const close = () => {
    asked.value = null;
  };
  return <OperateDialog {...asked.value} onClose={close} />;
}
