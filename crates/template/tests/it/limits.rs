//! Limits of time, memory, output and nesting.

use std::time::{Duration, Instant};

use template::{Context, ErrorKind, Limits, NoIncludes};

use crate::{problem, render, render_within};

/// Far beyond every limit, so that a template that ignores its limits is noticed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Renders with small limits and returns the kind of the error.
#[track_caller]
fn stopped(text: &str) -> ErrorKind {
    let limits = Limits {
        deadline: Duration::from_millis(200),
        memory_bytes: 16 << 20,
        ..Limits::default()
    };
    let begin = Instant::now();
    let result = render_within(text, &Context::new(), &limits, &NoIncludes);
    assert!(
        begin.elapsed() < PATIENCE,
        "{text:?} took {:?}",
        begin.elapsed()
    );
    match result {
        Ok(rendered) => panic!("{text:?} was rendered, {} bytes", rendered.len()),
        Err(error) => error.kind,
    }
}

#[test]
fn loops_stop_at_the_deadline() {
    for text in [
        "% for i in range(10**12):\n% endfor\n",
        "<%\nfor i in range(10**6):\n    for j in range(10**6):\n        pass\n%>",
        "${sum(i for i in range(3) for j in range(10**12) if False)}",
        "${any(x < 0 for x in range(3) for y in range(10**9) if y < 0)}",
        "${max(range(10**12))}${sorted(range(5))}",
        "${len([1 for i in range(10**9) if i < 0])}",
        "${(10**12) in map(lambda x: 0, range(10**12))}",
        "<%\ndef f(n):\n    return 0 if n == 0 else f(n - 1) + f(n - 1)\n%>${f(40)}",
        "<%\nd = {}\nfor i in range(10**9):\n    d['k'] = i\n%>",
        "<%\ns = ''\nfor i in range(10**9):\n    s = str(i)\n%>",
        "<%\nl = [0] * 1000\nfor i in range(10**9):\n    l.sort()\n%>",
        "<%\ns = 'x' * 1000000\nfor i in range(10**9):\n    s.replace('x', 'y')\n%>",
        "<%\ns = 'x' * 1000000\nfor i in range(10**9):\n    'y' in s\n%>",
    ] {
        let kind = stopped(text);
        assert!(
            matches!(kind, ErrorKind::TooLong | ErrorKind::TooLarge),
            "{text:?}: {kind:?}"
        );
    }
}

#[test]
fn values_stay_within_the_memory_limit() {
    for text in [
        "${'x' * 10**9}",
        "${len('x' * 10**18)}",
        "${len([0] * 10**12)}",
        "${len((0,) * 10**12)}",
        "${len(list(range(10**12)))}",
        "${len([i for i in range(10**12)])}",
        "${len({i for i in range(10**12)})}",
        "${len({i: i for i in range(10**12)})}",
        "${'%1000000000d' % 1}",
        "${'{:1000000000}'.format(1)}",
        "${f'{1:1000000000}'}",
        "${'a'.center(10**10)}",
        "${'a'.zfill(10**10)}",
        "${'\\t'.expandtabs(10**10)}",
        "${len(('x' * 10**6).replace('x', 'y' * 10**6))}",
        "${len(('x' * 10**6).join(['y'] * 10**5))}",
        "<%\ns = 'x'\nfor i in range(100):\n    s += s\n%>",
        "<%\nl = [1]\nfor i in range(100):\n    l += l\n%>",
        "<%\nl = []\nfor i in range(10**9):\n    l.append('x' * 100)\n%>",
        "<%\nl = [1]\nfor i in range(60):\n    l = [l, l]\n%>${len(str(l))}",
        "<%\nl = []\nfor i in range(10**7):\n    l.append(lambda: i)\n%>",
    ] {
        let kind = stopped(text);
        assert!(
            matches!(kind, ErrorKind::TooLarge | ErrorKind::TooLong),
            "{text:?}: {kind:?}"
        );
    }
}

#[test]
fn the_output_stays_within_its_limit() {
    let limits = Limits {
        output_bytes: 1000,
        ..Limits::default()
    };
    let error = |text: &str| {
        let result = render_within(text, &Context::new(), &limits, &NoIncludes);
        result.unwrap_err().kind
    };
    assert_eq!(error(&"x".repeat(1001)), ErrorKind::TooLarge);
    assert_eq!(
        error("% for i in range(2000):\nx\n% endfor\n"),
        ErrorKind::TooLarge
    );
    assert_eq!(error("${'x' * 1001}"), ErrorKind::TooLarge);
    assert_eq!(
        error("<%def name=\"f()\">${'x' * 1001}</%def>${len(capture(f))}"),
        ErrorKind::TooLarge
    );
    let fits = render_within(&"x".repeat(1000), &Context::new(), &limits, &NoIncludes);
    assert_eq!(fits.unwrap().len(), 1000);
}

#[test]
fn a_template_text_stays_within_its_limit() {
    let limits = Limits {
        source_bytes: 100,
        ..Limits::default()
    };
    for text in [
        "x".repeat(101),
        "# Ginclude \"x\"\n".to_owned() + &"x".repeat(101),
    ] {
        struct Empty;
        impl template::Includes for Empty {
            fn text(&self, _name: &str) -> Option<String> {
                Some(String::new())
            }
        }
        let result = render_within(&text, &Context::new(), &limits, &Empty);
        assert_eq!(result.unwrap_err().kind, ErrorKind::TooLarge);
    }
}

#[test]
fn a_template_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>(value: T) -> T {
        value
    }
    let template = shared(template::Template::parse("t", "${n * 2}").unwrap());
    std::thread::scope(|scope| {
        for n in 0..4 {
            let template = &template;
            scope.spawn(move || {
                let mut context = Context::new();
                context.insert("n", n);
                let rendered = template.render(&context, &Limits::default(), &NoIncludes);
                assert_eq!(rendered.unwrap(), (n * 2).to_string());
            });
        }
    });
}

#[test]
fn ints_beyond_128_bits_are_refused() {
    for text in [
        "${10 ** 100}",
        "${2 ** 10**9}",
        "${1 << 10**9}",
        "${int('9' * 60)}",
        "${2.0 ** 5000}",
        "${10**38 * 10**38}",
    ] {
        assert_eq!(problem(text).0, ErrorKind::Failed, "{text:?}");
    }
}

#[test]
fn the_nesting_of_calls_and_values_is_limited() {
    for text in [
        "<%\ndef f(n):\n    return f(n + 1)\n%>${f(0)}",
        "<%def name=\"f()\">${f()}</%def>${f()}",
        "<%\nf = lambda n: f(n)\nf(1)\n%>",
        "<%\nl = []\nfor i in range(10**5):\n    l = [l]\n%>",
        "<%\nl = ()\nfor i in range(10**5):\n    l = (l,)\n%>",
        "<%\nd = {}\nfor i in range(10**5):\n    d = {'d': d}\n%>",
        "<%\ni = [1]\nfor n in range(10**5):\n    i = map(str, i)\n%>",
        "<%\nf = None\nfor n in range(10**5):\n    f = lambda g=f: g\n%>",
        "<%\nm = []\nfor n in range(10**5):\n    m = [m].append\n%>",
        &format!(
            "<%\ndef f(n):\n    return {}f(n){}\n%>${{f(0)}}",
            "[".repeat(35),
            "]".repeat(35)
        ),
        &format!(
            "<%\ndef f(n):\n    return f(n){}\n%>${{f(0)}}",
            " + 1".repeat(150)
        ),
        "<%\na = []\na.append(a)\n%>${a}",
        "<%\na = []; b = []\na.append(a); b.append(b)\n%>${a == b}",
    ] {
        assert_eq!(problem(text).0, ErrorKind::TooDeep, "{text:?}");
    }
}

#[test]
fn long_chains_of_values_are_dropped_without_recursion() {
    // Each list is appended to the previous one after that was created, so no list has a large depth.
    let text = "<%\nfirst = []\nlast = first\nfor i in range(50000):\n    new = []\n    last.append(new)\n    last = new\nfirst = None\n%>done";
    let limits = Limits {
        deadline: PATIENCE,
        ..Limits::default()
    };
    let rendered = render_within(text, &Context::new(), &limits, &NoIncludes);
    assert_eq!(rendered.unwrap(), "done");
}

#[test]
fn deeply_nested_source_is_refused_instead_of_overflowing_the_stack() {
    let deep =
        |open: &str, close: &str, n: usize| format!("${{{}1{}}}", open.repeat(n), close.repeat(n));
    for text in [
        deep("(", ")", 20_000),
        deep("[", "]", 20_000),
        deep("not ", "", 20_000),
        deep("-", "", 20_000),
        deep("f(", ")", 20_000),
        deep("1 if 1 else ", "", 20_000),
        deep("lambda: ", "", 20_000),
        format!("${{1{}}}", " + 1".repeat(20_000)),
        format!("${{a{}}}", ".b".repeat(20_000)),
        format!("${{2{}}}", "**2".repeat(20_000)),
        "% if 1:\n".repeat(20_000),
        format!(
            "<%\n{}%>",
            (0..10_000)
                .map(|n| format!("{}if 1:\n", " ".repeat(n.min(300))))
                .collect::<String>()
        ),
    ] {
        assert_eq!(problem(&text).0, ErrorKind::Syntax, "{:?}", &text[..40]);
    }
}

#[test]
fn a_stack_of_1_mib_is_enough_to_parse() {
    let text = format!("${{{}1{}}}", "[(".repeat(19), ",)]".repeat(19));
    let small = std::thread::Builder::new().stack_size(1 << 20);
    let parsed = small.spawn(move || render(&text, &Context::new())).unwrap();
    assert!(parsed.join().unwrap().is_ok());
}

#[test]
fn dropped_values_release_their_memory() {
    // Allocates far more than the limit in total, but little at a time.
    let text = "<%\nfor i in range(2000):\n    s = 'x' * 100000\n    l = [s] * 100\n%>${len(s)}";
    let limits = Limits {
        deadline: PATIENCE,
        memory_bytes: 1 << 20,
        ..Limits::default()
    };
    let rendered = render_within(text, &Context::new(), &limits, &NoIncludes);
    assert_eq!(rendered.unwrap(), "100000");
}
