//! Replaces `os` by `fake_os`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cfg=fake_os");
}
