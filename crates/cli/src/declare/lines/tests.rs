use super::*;

#[test]
fn lines_of_block_yaml_are_found() {
    let text = "# top\nprocesses:\n- name: a   # first\n  hosts: [x,\n    y]\n  env:\n    \"A:B\": 1\n    text: |\n      no: key\n      - no item\n    after: 'it''s\n      more: x'\n- name: b\n  list:\n    - - deep\n      - k: v\ngroups: {a: {b: 1}, c: [1, 2]}\n";
    let lines = Lines::of_yaml(text);
    for (path, line) in [
        ("processes", 2),
        ("processes[0]", 3),
        ("processes[0].name", 3),
        ("processes[0].hosts[1]", 5),
        ("processes[0].env.A:B", 7),
        ("processes[0].env.text", 8),
        ("processes[0].env.after", 11),
        ("processes[1].name", 13),
        ("processes[1].list[0][1].k", 16),
        ("groups.a.b", 17),
        ("groups.c[1]", 17),
        ("processes[1].nothing.here", 13),
        ("unknown", 1),
    ] {
        assert_eq!(lines.line(path), line, "{path}: {lines:?}");
    }
    assert!(lines.repeated.is_empty(), "{lines:?}");
}

#[test]
fn lines_of_json_are_found_and_repeated_keys_too() {
    let text = "{\n \"apps\": [\n  {\"name\": \"a\",\n   \"env\": {\"X\": 1,\n \"X\": 2}}\n ]\n}";
    let lines = Lines::of_json(text);
    assert_eq!(lines.line("apps[0].env.X"), 4);
    assert_eq!(lines.repeated, [("apps[0].env.X".to_owned(), 5)]);
}

#[test]
fn lines_of_toml_are_found() {
    let text =
        "[[processes]]\nname = 'a'\n[processes.identity]\nuser = 'x'\n[[processes]]\nname = 'b'\n";
    let lines = Lines::of_toml(text);
    assert_eq!(lines.line("processes[0].identity.user"), 4);
    assert_eq!(lines.line("processes[1].name"), 6);
}
