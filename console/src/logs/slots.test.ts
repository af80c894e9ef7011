import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FollowSlots } from './slots';

function slots() {
  const told: string[] = [];
  const all = new FollowSlots<string>((key, state) => told.push(`${key} ${state}`));
  return { all, said: () => told.splice(0) };
}

test('a third follow waits, and goes on when one of the others ends', () => {
  const { all, said } = slots();
  for (const key of ['a', 'b', 'c', 'd']) all.ask(key);
  assert.deepEqual(said(), ['a granted', 'b granted', 'c full', 'd full']);
  all.leave('a');
  assert.deepEqual(said(), ['c granted']);
  all.leave('d');
  all.leave('b');
  assert.deepEqual(said(), []);
});

test('a third that takes a place pauses the oldest, which waits in turn', () => {
  const { all, said } = slots();
  for (const key of ['a', 'b', 'c']) all.ask(key);
  said();
  all.take('c');
  assert.deepEqual(said(), ['a taken', 'c granted']);
  all.take('a');
  assert.deepEqual(said(), ['b taken', 'a granted']);
  all.leave('c');
  assert.deepEqual(said(), ['b granted']);
});

test('asking or taking again changes nothing', () => {
  const { all, said } = slots();
  all.ask('a');
  all.ask('a');
  all.take('a');
  all.take('b');
  assert.deepEqual(said(), ['a granted', 'b granted']);
  all.leave('c');
  all.leave('a');
  all.leave('a');
  all.ask('c');
  assert.deepEqual(said(), ['c granted']);
});
