// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are config templates
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StringStream } from '@codemirror/language';
import { templateParser } from './language';

/** What is coloured, as `style:text`, of all lines. */
function coloured(text: string): string[] {
  const state = templateParser.startState!(4);
  const found: string[] = [];
  for (const line of text.split('\n')) {
    if (line === '') templateParser.blankLine?.(state, 4);
    const stream = new StringStream(line, 4, 4);
    while (!stream.eol()) {
      stream.start = stream.pos;
      const style = templateParser.token(stream, state);
      assert.ok(stream.pos > stream.start, `no progress in ${JSON.stringify(line)} at ${stream.pos}`);
      if (style) found.push(`${style}:${stream.current()}`);
    }
  }
  return found;
}

test('an expression is Python up to its closing brace', () => {
  assert.deepEqual(coloured('port = ${base["}"] + len({1: x})}; # 1'), [
    'meta:${',
    'variableName:base',
    'operator:[',
    'string:"}"',
    'operator:]',
    'operator:+',
    'variableName.standard:len',
    'operator:(',
    'operator:{',
    'number:1',
    'operator::',
    'variableName:x',
    'operator:}',
    'operator:)',
    'meta:}',
  ]);
  assert.deepEqual(coloured('${name.lower()\n| h}text'), [
    'meta:${',
    'variableName:name',
    'operator:.',
    'propertyName:lower',
    'operator:(',
    'operator:)',
    'operator:|',
    'variableName:h',
    'meta:}',
  ]);
});

test('a control line ends with its line, or goes on after a backslash', () => {
  assert.deepEqual(coloured('  % if a: # why\nif 1\n% endif'), [
    'meta:  %',
    'keyword:if',
    'variableName:a',
    'operator::',
    'comment:# why',
    'meta:%',
    'keyword:endif',
  ]);
  assert.deepEqual(coloured('% if a \\\nor b:\ntext'), [
    'meta:%',
    'keyword:if',
    'variableName:a',
    'operator:\\',
    'keyword:or',
    'variableName:b',
    'operator::',
  ]);
  assert.deepEqual(coloured('% if a:\n\n50 % of 2'), ['meta:%', 'keyword:if', 'variableName:a', 'operator::']);
  assert.deepEqual(coloured('%% 5\n10 % 5'), []);
});

test('comments, literal text, tags and statements', () => {
  assert.deepEqual(coloured(' ## a ${b}\n# a'), ['comment: ## a ${b}']);
  assert.deepEqual(coloured('<%doc>a\n${b}</%doc>${c}'), [
    'comment:<%doc>',
    'comment:a',
    'comment:${b}',
    'comment:</%doc>',
    'meta:${',
    'variableName:c',
    'meta:}',
  ]);
  assert.deepEqual(coloured('<%text>${a}\n% if\n</%text>'), ['tagName:<%text>', 'tagName:</%text>']);
  assert.deepEqual(coloured('<%def name="row(a)">\n</%def>'), ['tagName:<%def name="row(a)">', 'tagName:</%def>']);
  assert.deepEqual(coloured('<%\nx = """a\nb"""\n%>y'), [
    'meta:<%',
    'variableName:x',
    'operator:=',
    'string:"""a',
    'string:b"""',
    'meta:%>',
  ]);
  assert.deepEqual(coloured('# Ginclude "base"\n # Ginclude "base"'), ['meta:# Ginclude "base"']);
});
