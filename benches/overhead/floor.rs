//! The floor: programs that only read the clock, held by a separate process like any tracer.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, anyhow, ensure};
use libbpf_rs::ObjectBuilder;

/// Compiles, loads and attaches the programs, and waits for a signal.
pub fn hold() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let object = directory.path().join("floor.o");
    compile(&object)?;
    let loaded = ObjectBuilder::default()
        .open_file(&object)
        .and_then(libbpf_rs::OpenObject::load)
        .context("loading the floor's programs")?;
    let links = loaded
        .progs_mut()
        .map(|program| program.attach())
        .collect::<Result<Vec<_>, _>>()
        .context("attaching the floor's programs")?;
    ensure!(links.len() == 4, "{} programs of 4", links.len());
    loop {
        std::thread::park();
    }
}

fn compile(object: &Path) -> Result<()> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/overhead/floor.bpf.c");
    let chosen = std::env::var("CLANG").ok();
    let names = chosen.into_iter().chain(
        (14..=22)
            .rev()
            .map(|version| format!("clang-{version}"))
            .chain(["clang".to_owned()]),
    );
    for name in names {
        let output = Command::new(&name)
            .args(["-g", "-O2", "-target", "bpf", "-c"])
            .arg(&source)
            .arg("-o")
            .arg(object)
            .output();
        match output {
            Err(_) => {}
            Ok(output) if output.status.success() => return Ok(()),
            Ok(output) => {
                return Err(anyhow!(
                    "{name}: {}",
                    String::from_utf8_lossy(&output.stderr)
                ));
            }
        }
    }
    Err(anyhow!("no clang was found"))
}
