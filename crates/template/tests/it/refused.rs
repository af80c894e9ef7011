//! Refused templates: kind and line of their errors.

use serde_json::json;
use template::{Context, ErrorKind, Template};

use crate::{problem, render};

#[test]
fn forbidden_constructs_are_refused_with_their_line() {
    for (text, line) in [
        ("a\n<%! import os %>\n", 2),
        ("a\n<%!\n    x = 1\n%>\n", 2),
        ("<%\n    x = 1\n    import os\n%>\n", 3),
        ("<% from os import path %>", 1),
        ("a\n\n<%namespace name=\"n\" file=\"x\"/>\n", 3),
        ("<%inherit file=\"base.html\"/>", 1),
        ("a\n<%include file=\"x\"/>", 2),
        ("<%page args=\"x\"/>", 1),
        ("<%block name=\"b\">x</%block>", 1),
        ("<%call expr=\"f()\">x</%call>", 1),
        ("x\n<%self:thing/>", 2),
        ("a\n% while True:\n% endwhile\n", 2),
        ("% try:\n% except:\n% endtry\n", 1),
        ("% with x as y:\n% endwith\n", 1),
        ("<%\nx = 1\nwhile x:\n    pass\n%>", 3),
        ("<%\ntry:\n    x = 1\nexcept:\n    pass\n%>", 2),
        ("<%\nclass A:\n    pass\n%>", 2),
        ("<%\nwith x: pass\n%>", 2),
        ("<% raise x %>", 1),
        ("<%\ndef f():\n    global x\n%>", 3),
        ("<%\ndef f():\n    yield 1\n%>", 3),
        ("<% assert 1 %>", 1),
        ("<%\n@f\ndef g(): pass\n%>", 2),
        ("<% x: int = 1 %>", 1),
        ("<% a, *b = 1, 2 %>", 1),
        ("<% x.y = 1 %>", 1),
        ("<%\n\nl = [1]\nl[0:1] = [2] %>", 4),
        ("\n${''.__class__}", 2),
        ("${__import__('os')}", 1),
        ("${x.__dict__}", 1),
        ("<% __builtins__ = 1 %>", 1),
        ("${'{0.__class__}'.format('')}", 1),
        ("${getattr('', '__class__')}", 1),
        ("${hasattr('', '_x')}", 1),
        ("\n\n${open('/etc/passwd')}", 3),
        ("${eval('1')}", 1),
        ("${exec('1')}", 1),
        ("${print(1)}", 1),
        ("${globals()}", 1),
        ("${self}", 1),
        ("${(x := 1)}", 1),
        ("${b'x'}", 1),
        ("${(x for x in [])}", 1),
        ("${1 @ 2}", 1),
        ("${...}", 1),
        ("${'x' | entity}", 1),
        ("${'x' | a or b}", 1),
        ("<%text filter=\"h\">x</%text>", 1),
        ("<%def name=\"f()\" buffered=\"True\">x</%def>", 1),
        ("<%def name=\"f()\">\n<%def name=\"g()\">x</%def></%def>", 2),
        ("<%def name=\"f(x=[])\">x</%def>", 1),
        ("${f'{1=}'}", 1),
    ] {
        assert_eq!(problem(text), (ErrorKind::Forbidden, line), "{text:?}");
    }
}

#[test]
fn broken_templates_are_refused_with_their_line() {
    for (text, line) in [
        ("a\n${1 +}\n", 2),
        ("a\n${x\n", 2),
        ("a\n${f(}\n", 2),
        ("${1 2}", 1),
        ("${1,2}", 1),
        ("${x = 1}", 1),
        ("${x\n +\n *}", 3),
        ("a\n% if x\n% endif\n", 2),
        ("\n\n% if x:\nb\n", 3),
        ("% for x in y:\n", 1),
        ("% if 1:\n% endfor\n", 2),
        ("% endif\n", 1),
        ("a\n% else:\n", 2),
        ("% if 1:\n% else:\n% else:\n% endif\n", 3),
        ("% if 1:\n% else\n% endif\n", 2),
        ("% for in x:\n% endfor\n", 1),
        ("% for x of y:\n% endfor\n", 1),
        ("% if 1: x = 2\n% endif\n", 1),
        ("a\n% hello\n", 2),
        ("% 50 percent\n", 1),
        ("%\n", 1),
        ("<% x = %>", 1),
        ("<%\n    x = 1\n      y = 2\n%>", 3),
        ("<%\nif 1:\nx = 2\n%>", 3),
        ("<%\n  if 1:\n      x = 1\n    y = 2\n%>", 4),
        ("<% x = 'a\n %>", 1),
        ("a\n<% x = 1", 2),
        ("<% break %>", 1),
        ("<% def f(): continue %>", 1),
        ("<%text>x", 1),
        ("</%text>", 1),
        ("<%def>x</%def>", 1),
        ("<%def name=\"f(\">x</%def>", 1),
        ("<%def name=\"f()\">x", 1),
        ("<%def name=\"f()\">x</%def><%def name=\"f()\">x</%def>", 1),
        ("<%nosuch>x</%nosuch>", 1),
        ("</% x", 1),
        ("<% loop = 1 %>", 1),
        ("% for context in []:\n% endfor\n", 1),
        ("<% f(x) = 1 %>", 1),
        ("<% 1 += 1 %>", 1),
        ("${f'{'}", 1),
        ("${f'}'}", 1),
        ("${0123}", 1),
        ("${'\\x4'}", 1),
        ("${lambda x, x: 1}", 1),
        ("${f(a=1, 2)}", 1),
        ("${1 if 2}", 1),
        ("${[1, 2}", 1),
        ("${[x for]}", 1),
        ("${not}", 1),
        ("${x.}", 1),
        ("${x[]}", 1),
        ("% if 1:\n<%def name=\"f()\">\n% endif\n</%def>", 3),
    ] {
        assert_eq!(problem(text), (ErrorKind::Syntax, line), "{text:?}");
    }
}

#[test]
fn an_undefined_variable_is_an_error_on_its_line() {
    for (text, line) in [
        ("a\nb ${port}\n", 2),
        ("\n% if port:\n% endif\n", 2),
        ("\n\n% for x in ports:\n% endfor\n", 3),
        ("<%\n    x = 1\n    y = z\n%>", 3),
        ("${[x for y in [1]]}", 1),
        ("% if 0:\n<% x = 1 %>\n% endif\n${x}\n", 4),
        ("<% x = x + 1 %>", 1),
        ("<%\ndef f():\n    return later\n%>\n${f()}\n", 3),
        ("<%\ndef f():\n    x = x + 1\n%>\n${f()}\n", 3),
        ("${cc.find('.//Set')}", 1),
    ] {
        assert_eq!(problem(text), (ErrorKind::Undefined, line), "{text:?}");
    }
}

#[test]
fn errors_have_their_column() {
    for (text, line, column) in [
        ("a\nb ${port}\n", 2, Some(5)),
        ("端口 ${1 + port}", 1, Some(10)),
        ("${1 +}", 1, Some(6)),
        ("${x |\n  nosuch}", 2, Some(3)),
        ("${x\n +\n *}", 3, Some(2)),
        ("a\n  %  if port:\n% endif\n", 2, Some(9)),
        ("  % nosuch\n", 1, Some(5)),
        ("% if 1 \\\n  or or:\n% endif\n", 2, Some(6)),
        ("a <% x = port %>", 1, Some(10)),
        ("<%\n    x = 1\n    y = port\n%>", 3, Some(9)),
        ("<%\n    s = '''\n  '''; y = port\n%>", 3, Some(12)),
        ("<%\n\tx = port\n%>", 2, None),
        ("a ${f'{port}'}", 1, None),
        ("a <%include file='x'/>", 1, Some(3)),
        ("<%def name=\"f(\">x</%def>", 1, None),
        ("ab\n<%text>", 2, Some(1)),
        ("a ${x", 1, Some(3)),
        ("${'\\x4'}", 1, Some(3)),
    ] {
        let mut context = Context::new();
        context.insert("x", 1);
        let error = render(text, &context).unwrap_err();
        assert_eq!(
            (error.line, error.column),
            (line, column),
            "{text:?}: {error}"
        );
    }
}

#[test]
fn frequent_errors_have_a_code_and_parameters() {
    for (text, code, params) in [
        ("${port}", "undefined", &[("name", "port")][..]),
        ("<% x = x + 1 %>", "read_too_early", &[("name", "x")]),
        (
            "${1 2}",
            "unexpected",
            &[("wanted", "the end"), ("found", "2")],
        ),
        (
            "% if 1:\n",
            "unclosed",
            &[("opened", "\"% if\""), ("missing", "\"% endif\"")],
        ),
        ("${1", "unclosed", &[("missing", "}")]),
        ("% endif\n", "unopened", &[("what", "\"% endif\"")]),
        (
            "% if 1:\n% endfor\n",
            "misplaced",
            &[("found", "% endfor"), ("wanted", "% endif")],
        ),
        ("<% import os %>", "unavailable", &[("what", "\"import\"")]),
        ("${open('x')}", "unavailable", &[("what", "\"open\"")]),
        (
            "<%include file='x'/>",
            "unavailable",
            &[("what", "<%include>")],
        ),
        ("${{}['a']}", "no_key", &[("key", "'a'")]),
        ("${1 / 0}", "division_by_zero", &[]),
        ("${[].pop()}", "failed", &[]),
    ] {
        let error = render(text, &Context::new()).unwrap_err();
        let found = error.params.iter();
        let found: Vec<(&str, &str)> = found.map(|(name, value)| (*name, &**value)).collect();
        assert_eq!((error.code, &*found), (code, params), "{text:?}: {error}");
    }
}

#[test]
fn the_message_names_template_line_and_variable() {
    let template = Template::parse("nginx.conf", "\n\nlisten ${port};\n").unwrap();
    let error = template.render(
        &Context::new(),
        &template::Limits::default(),
        &template::NoIncludes,
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "nginx.conf line 3: unknown variable \"port\""
    );
}

#[test]
fn expressions_that_fail_in_python_fail_with_their_line() {
    let mut context = Context::new();
    context.insert("n", 1);
    context.insert("s", "text");
    context.insert("none", json!(null));
    context.insert("d", json!({"k": 1}));
    for (text, line) in [
        ("a\n${1 / 0}", 2),
        ("${1 % 0}", 1),
        ("${s + n}", 1),
        ("${n + s}", 1),
        ("${'a' * 'b'}", 1),
        ("${s < n}", 1),
        ("${none + 1}", 1),
        ("${none.x}", 1),
        ("${d.k}", 1),
        ("${d['x']}", 1),
        ("${s[10]}", 1),
        ("${[][0]}", 1),
        ("${len(1)}", 1),
        ("${int('x')}", 1),
        ("${int('1.5')}", 1),
        ("${','.join([1, 2])}", 1),
        ("${sorted([1, 'a'])}", 1),
        ("${max([])}", 1),
        ("${'%d' % 'x'}", 1),
        ("${'%s %s' % 1}", 1),
        ("${'%s' % (1, 2)}", 1),
        ("${'{}'.format()}", 1),
        ("${'{x}'.format(y=1)}", 1),
        ("${'{:d}'.format('x')}", 1),
        ("${n()}", 1),
        ("${s.nosuch()}", 1),
        ("${s.upper(1)}", 1),
        ("${{[]: 1}}", 1),
        ("\n% for x in 1:\n% endfor\n", 2),
        ("% for a, b in [1]:\n% endfor\n", 1),
        ("<%\na, b = 1, 2, 3\n%>", 2),
        ("<%\ndef f(x):\n    return x.y\n%>\n\n${f(1)}", 3),
        ("<%\ndef f(x): return x\n%>\n${f()}", 4),
        ("${loop.index}", 1),
        ("% for x in enumerate([1]):\n${loop.last}\n% endfor\n", 2),
        ("${5 | n}", 1),
        (
            "<%\nd2 = {'a': 1}\nfor k in d2:\n    d2[k + 'x'] = 1\n%>",
            3,
        ),
    ] {
        let error = render(text, &context).expect_err(text);
        assert_eq!(
            (error.kind, error.line),
            (ErrorKind::Failed, line),
            "{text:?}: {error}"
        );
    }
}

#[test]
fn expressions_that_would_render_differently_are_refused() {
    for text in [
        "${{3, 1, 2}}",
        "% for x in {3, 1}:\n% endfor\n",
        "${list(set([1, 2]))}",
        "${len}",
        "${[].append}",
        "${map(str, [])}",
        "${1 is 1}",
        "${'a' is 'a'}",
        "${(2**60) / 3}",
        "${'é'.isalpha()}",
        "${'é'.title()}",
        "${'{:010,}'.format(5)}",
        "${repr('\\u200b')}",
    ] {
        assert_eq!(problem(text).0, ErrorKind::Failed, "{text:?}");
    }
}
