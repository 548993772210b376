//! Generates the typed skeletons of the BPF objects. The objects are those of `object/`, so that nobody needs a BPF compiler,
//! unless a source has changed since they were compiled, or `CLANG` names a compiler, or `IOSCHED_BPF_WERROR=1` wants its
//! warnings to be errors.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use libbpf_cargo::SkeletonBuilder;

const NAMES: [&str; 2] = ["iosched", "sync"];
const ARGUMENTS: [&str; 7] = [
    "-I.",
    // The lines of the sources are in the object, without the directory of this machine.
    "-ffile-compilation-dir=.",
    "-mcpu=v3",
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
    "-Wno-missing-declarations",
];

/// Names of clang in the distributions, newest first.
fn installed_clang() -> Option<String> {
    let path = env::var_os("PATH")?;
    let versions = (14..=22).rev().map(|version| format!("clang-{version}"));
    versions
        .chain(["clang".to_owned()])
        .find(|name| env::split_paths(&path).any(|directory| directory.join(name).is_file()))
}

/// All C sources, by name.
fn sources() -> io::Result<Vec<PathBuf>> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(".")? {
        let name = PathBuf::from(entry?.file_name());
        if name.extension().is_some_and(|end| end == "h" || end == "c") {
            sources.push(name);
        }
    }
    sources.sort();
    Ok(sources)
}

/// Differs if a source or an argument does: FNV-1a, 64 bits, in hexadecimal.
fn fingerprint(sources: &[PathBuf]) -> io::Result<String> {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        // The end of each part counts, too.
        for byte in bytes.iter().chain(&[0]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for text in ARGUMENTS {
        add(text.as_bytes());
    }
    for source in sources {
        add(source.as_os_str().as_encoded_bytes());
        add(&fs::read(source)?);
    }
    Ok(format!("{hash:016x}\n"))
}

/// The same compiler makes the same bytes, wherever the sources are.
fn compile(name: &str, clang: &str, is_strict: bool, object: &Path) {
    let source = format!("{name}.bpf.c");
    let strict: &[&str] = if is_strict { &["-Werror"] } else { &[] };
    let mut builder = SkeletonBuilder::new();
    builder.source(&source).obj(object);
    builder
        .clang(clang)
        .clang_args(ARGUMENTS.iter().chain(strict));
    if let Err(error) = builder.build() {
        panic!("compiling bpf/{source} failed (it needs clang 14 or later): {error:#}");
    }
}

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let sources = sources().expect("the sources can be listed");
    let now = fingerprint(&sources).expect("the sources can be read");
    fs::write(out.join("sources"), &now).expect("OUT_DIR can be written");
    let clang = env::var("CLANG").ok();
    let is_strict = env::var_os("IOSCHED_BPF_WERROR").is_some_and(|value| value == "1");
    let is_current = fs::read_to_string("object/sources").is_ok_and(|kept| kept == now);
    let is_kept = is_current && clang.is_none() && !is_strict;
    let clang = clang.or_else(installed_clang);
    for name in NAMES {
        let object = out.join(format!("{name}.o"));
        if is_kept {
            fs::copy(format!("object/{name}.o"), &object).expect("the object can be copied");
        } else {
            compile(
                name,
                clang.as_deref().unwrap_or("clang"),
                is_strict,
                &object,
            );
        }
        // The bytes stay in a file of their own: as text they are slow to compile.
        let mut skeleton = SkeletonBuilder::new();
        skeleton.obj(&object).reference_obj(true);
        if let Err(error) = skeleton.generate(out.join(format!("{name}.skel.rs"))) {
            panic!("generating the skeleton of bpf/{name}.bpf.c failed: {error:#}");
        }
    }
    for path in &sources {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    println!("cargo:rerun-if-changed=object");
    println!("cargo:rerun-if-env-changed=CLANG");
    println!("cargo:rerun-if-env-changed=IOSCHED_BPF_WERROR");
    // The test of `object/` runs this program once more.
    let this = env::current_exe().expect("the path of this program");
    println!("cargo:rustc-env=IOSCHED_BPF_BUILD={}", this.display());
}
