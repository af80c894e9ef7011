//! Each rule of the language by example: pattern, matching names, other names.

use super::super::Pattern;

const EXAMPLES: &[(&str, &[&str], &[&str])] = &[
    // Wildcards, and characters that are themselves.
    ("*", &["", "a", "管控平台", "a\nb"], &[]),
    (
        "gse_*",
        &["gse_", "gse_agent"],
        &["gse", "xgse_", "GSE_agent"],
    ),
    ("*agent", &["agent", "gse_agent"], &["agents"]),
    ("a?c", &["abc", "a台c", "a?c"], &["ac", "abbc"]),
    ("a.b,c!d+e{f}", &["a.b,c!d+e{f}"], &["axb,c!d+e{f}"]),
    ("a]b-c", &["a]b-c"], &["ab-c"]),
    ("Ab", &["Ab"], &["ab", "AB", "Abc", "xAb", ""]),
    ("  gse  ", &["gse"], &["  gse  "]),
    // Lists.
    (
        "4[6, 8, 9]",
        &["46", "48", "49"],
        &["4", "47", "468", "4[6, 8, 9]"],
    ),
    (
        "[管控平台, PaaS平台]",
        &["管控平台", "PaaS平台"],
        &["管控", "平台", "管控平台, PaaS平台"],
    ),
    (
        "[1-3, 7-9, x]",
        &["1", "2", "3", "7", "9", "x"],
        &["4", "10", "1-3", ""],
    ),
    ("[a*, b?]", &["a", "abc", "bc"], &["b", "bcd", "c"]),
    (
        "gse[,_agent]",
        &["gse", "gse_agent"],
        &["gse_", "gse,_agent"],
    ),
    ("[a，b、c]", &["a", "b", "c"], &["a，b、c", "，"]),
    (
        "[4,5][6,7]",
        &["46", "47", "56", "57"],
        &["4", "6", "45", "467"],
    ),
    ("[a, !b]", &["a", "c"], &["b", "", "cc"]),
    (
        "string[1-100].[集群1, 集群2].server.word[a-z]-[1.1, 1.2]*",
        &[
            "string1.集群1.server.worda-1.1.111",
            "string100.集群2.server.worda-1.2A",
        ],
        &[
            "string0.集群1.server.worda-1.1",
            "string101.集群1.server.worda-1.1",
            "string1.集群3.server.worda-1.1",
        ],
    ),
    // Ranges.
    (
        "[1-100]",
        &["1", "42", "100"],
        &["0", "101", "042", "01", "1a", ""],
    ),
    (
        "[8-12]",
        &["8", "9", "10", "11", "12"],
        &["7", "13", "1", "2", "08"],
    ),
    (
        "proc[a-c]",
        &["proca", "procb", "procc"],
        &["procd", "procA", "proc", "procab"],
    ),
    ("[1-3]5", &["15", "25", "35"], &["5", "45", "1", "115"]),
    (
        "[8-12]0",
        &["80", "90", "100", "110", "120"],
        &["8", "70", "130", "10"],
    ),
    (
        "[1-12][1-12]",
        &["11", "111", "1212"],
        &["1", "13130", "10"],
    ),
    ("[1-3]*", &["1", "15", "3x"], &["4", "x1"]),
    ("[0-2]", &["0", "1", "2"], &["00", "01", "3"]),
    ("[5-5]", &["5"], &["5-5", "4"]),
    ("[a-a]", &["a"], &["a-a", "b"]),
    ("[1 - 3]", &["1", "2", "3"], &["1 - 3"]),
    ("[ 8 -12 , a- c ]", &["8", "12", "b"], &["d", "13"]),
    (
        "[1-1000000]",
        &["1", "999999", "1000000"],
        &["0", "1000001"],
    ),
    (
        "zone[01-12]",
        &["zone01", "zone1", "zone12", "zone09", "zone9"],
        &["zone0", "zone00", "zone13", "zone001", "zone"],
    ),
    (
        "[001-100]",
        &["001", "1", "100", "099", "99"],
        &["01", "0001", "000"],
    ),
    ("[08-120]", &["08", "8", "100", "120"], &["008", "121"]),
    ("[一-三]", &["一", "丁", "三"], &["四", "一-三"]),
    // Exclusions.
    (
        "proc[!2]",
        &["proc1", "procx", "proc!"],
        &["proc2", "proc", "proc11"],
    ),
    ("[!abc]", &["d", "台"], &["a", "b", "c", "", "de"]),
    ("[!1-3]", &["0", "4", "-"], &["1", "2", "3"]),
    ("[!1,2]", &["3"], &["1", "2", ","]),
    ("[!a-]", &["b"], &["a", "-"]),
    // Words.
    ("[abc]", &["abc"], &["a", "b", "[abc]"]),
    ("[1-3-5]", &["1-3-5"], &["1", "2", "3-5"]),
    ("[aa-cc]", &["aa-cc"], &["bb", "aa"]),
    ("[my-proc]", &["my-proc"], &["m", "proc"]),
    ("[a-Z]", &["a-Z"], &["b", "Z"]),
    ("[1-c]", &["1-c"], &["1", "c"]),
    ("[-1]", &["-1"], &["1"]),
    ("x[]y", &["xy"], &["x[]y"]),
    ("[a*]", &["a", "abc"], &["b"]),
    ("[a:b]", &["a:b"], &["a"]),
    // Escapes.
    (r"a\*b", &["a*b"], &["ab", "axb"]),
    (r"\[a\]", &["[a]"], &["a"]),
    (r"[a\,b, c]", &["a,b", "c"], &["a", "b"]),
    (r"[1\-3]", &["1-3"], &["1", "2"]),
    (r"[\!a]", &["!a"], &["b"]),
    (r"[!\]]", &["a"], &["]"]),
    (r"[a\]b]", &["a]b"], &["a"]),
    (r"a\\b", &[r"a\b"], &["ab"]),
    (r"\ a\ ", &[" a "], &["a"]),
    (r"\a", &["a"], &[r"\a"]),
];

#[test]
fn patterns_match_their_examples() {
    for (text, fitting, others) in EXAMPLES {
        let pattern = Pattern::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        for name in *fitting {
            assert!(pattern.matches(name), "{text} on {name:?}");
        }
        for name in *others {
            assert!(!pattern.matches(name), "{text} on {name:?}");
        }
    }
}

#[test]
fn a_blank_pattern_matches_everything() {
    for text in ["", "   ", "\t", "　"] {
        let pattern = Pattern::parse(text).unwrap();
        assert_eq!(
            (pattern.as_str(), pattern.is_any()),
            ("*", true),
            "{text:?}"
        );
    }
    assert!(!Pattern::parse("[]").unwrap().is_any());
}

#[test]
fn exact_names_are_listed_for_index_lookups() {
    let exact = |text: &str| Pattern::parse(text).unwrap().exact_names(12);
    let names = |names: &[&str]| {
        Some(
            names
                .iter()
                .map(|name| name.to_string())
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(exact("gse_agent"), names(&["gse_agent"]));
    assert_eq!(exact("4[6, 8, 9]"), names(&["46", "48", "49"]));
    assert_eq!(
        exact("[4,5][a-b][01-1]"),
        names(&["4a01", "4a1", "4b01", "4b1", "5a01", "5a1", "5b01", "5b1"])
    );
    assert_eq!(exact("[a, a, a]"), names(&["a"]));
    for text in [
        "*",
        "a?",
        "[!a]",
        "[a*, b]",
        "[1-13]",
        "[1-1000000]",
        "[1-4][1-4]",
        "[一-龥]",
    ] {
        assert_eq!(exact(text), None, "{text}");
    }
    assert_eq!(Pattern::parse("[abc]d").unwrap().literal(), Some("abcd"));
    assert_eq!(Pattern::parse("[a, a]").unwrap().literal(), None);
}

#[test]
fn lists_and_ranges_expand_to_shell_patterns() {
    let styles = |text: &str| {
        Pattern::parse(text)
            .unwrap()
            .to_shell_patterns(1_000)
            .unwrap()
    };
    assert_eq!(
        styles("module[1-3].proc[a-c].[1-100]"),
        [
            "module[1-3].proc[a-c].[1-9]",
            "module[1-3].proc[a-c].[1-9][0-9]",
            "module[1-3].proc[a-c].100",
        ]
    );
    assert_eq!(styles("[1-3, 1-3]x"), ["[1-3]x"], "each once");
    assert_eq!(styles("[4,5][6,7]"), ["46", "47", "56", "57"]);
    assert_eq!(styles("proc[!2]*?"), ["proc[!2]*?"]);
    assert_eq!(styles("[a*, !b-c]"), ["a*", "[!b-c]"]);
    assert_eq!(styles(r"[a\[1\]\*, \?]"), ["a[[]1][*]", "[?]"]);
    assert_eq!(styles(r"[!a\-\]]"), ["[!]a-]"]);
    let all = styles("string[1-100].[集群1, 集群2].server.word[a-z]-[1.1, 1.2]*");
    assert_eq!(all.len(), 12);
    assert!(all.contains(&"string[1-9][0-9].集群2.server.word[a-z]-1.2*".to_owned()));

    let many = Pattern::parse(&"[a,b]".repeat(20)).unwrap();
    let error = many.to_shell_patterns(1_000).unwrap_err();
    assert!(error.to_string().contains("more than 1000"), "{error}");
    let long = format!(
        "{}[1,2,3,4,5,6,7,8,9][1,2,3,4,5,6,7,8,9]",
        "x".repeat(125_000)
    );
    Pattern::parse(&long)
        .unwrap()
        .to_shell_patterns(1_000)
        .unwrap_err();
}
