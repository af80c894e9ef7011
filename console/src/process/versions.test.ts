import assert from 'node:assert/strict';
import { test } from 'node:test';
import { versionsText } from './versions';

test('the most frequent version comes first', () => {
  const text = versionsText([
    { spec_version: 6, hosts: 2, has: 'old' },
    { spec_version: 7, hosts: 38, has: 'new' },
  ]);
  assert.equal(text, '38 of 40 hosts: version 7 (new), 2: version 6 (old)');
});

test('a version that is no longer kept has no number', () => {
  assert.equal(versionsText([{ spec_version: null, hosts: 1 }]), '1 of 1 hosts: a version that is not kept');
});
