import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Rows } from '../table/rows';
import type { ViewProcess } from './api';
import { escapeName, selectionState, toExpression, toViewFilter, VIEW_SPEC, viewState } from './filter';
import { Lines, lineKey } from './lines';

const process = (id: number, instances: number) =>
  ({
    id,
    instances: Array.from({ length: instances }, (_, index) => ({ local_inst_id: index + 1 })),
  }) as unknown as ViewProcess;

test('instances stand below their process, and nothing else moves', async () => {
  const all = [process(1, 2), process(2, 1), process(3, 3), process(4, 1)];
  const rows = new Rows<ViewProcess>(
    async () => ({ count: all.length, rows: all }),
    row => String(row.id),
  );
  rows.show(0, 4);
  await new Promise(resolve => setTimeout(resolve, 5));
  const lines = new Lines(rows);
  const keys = () => Array.from({ length: lines.count.value ?? 0 }, (_, index) => lineKey(lines.row(index)!));
  assert.deepEqual(keys(), ['1', '2', '3', '4']);
  lines.expand(['3', '1']);
  assert.deepEqual(keys(), ['1', '1/1', '1/2', '2', '3', '3/1', '3/2', '3/3', '4']);
  assert.deepEqual(lines.keys(0, 99), ['1', '2', '3', '4']);
  assert.equal(lines.row(5), lines.row(5));
  lines.expand([]);
  assert.deepEqual(keys(), ['1', '2', '3', '4']);
});

test('an expression takes the place of the parts, and a part ends an expression', () => {
  const state = viewState.read('?set=1&expr=zone-*&env=test&q=a');
  assert.deepEqual(toViewFilter(state), { env: 'test', expr: 'zone-*', search: 'a' });
  assert.deepEqual(VIEW_SPEC.add(state, 'module', '7'), { expr: '', module: ['7'] });
  assert.deepEqual(VIEW_SPEC.add(state, 'expr', 'x').set, []);
  assert.equal(selectionState.write(state), '?env=test&set=1&expr=zone-*&q=a');
});

test('names become an expression', () => {
  assert.equal(escapeName('10.0.0.1_[a]'), '10\\.0\\.0\\.1_\\[a\\]');
  assert.equal(toExpression({ set: ['a', 'b'], module: [], service: [], name: ['p'], id: [] }), '[a,b].*.*.p');
  assert.equal(toExpression({ set: [], module: [], service: [], name: [], id: [] }), '*');
});

test('pasted addresses become a filter of addresses', () => {
  const state = viewState.read('?ip=10.0.0.1');
  const pasted = VIEW_SPEC.addresses(state, '10.0.0.2\n0:10.0.0.3; 10.0.0.1');
  assert.deepEqual(pasted?.patch, { ip: ['10.0.0.1', '10.0.0.2', '10.0.0.3'] });
  assert.equal(VIEW_SPEC.addresses(state, 'login'), null);
});
