//! Puts `fake_os` in the place of `os`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cfg=fake_os");
}
