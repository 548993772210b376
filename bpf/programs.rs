//! The kernel's information about the loaded programs.

use std::os::fd::{AsFd, AsRawFd};

use anyhow::{Result, ensure};
use libbpf_rs::libbpf_sys;

use crate::Tracer;

impl Tracer {
    /// Run time of the programs so far, counted while `kernel.bpf_stats_enabled` was on.
    pub fn run_time_ns(&self) -> Result<u64> {
        Ok(self
            .program_infos()?
            .iter()
            .map(|(_, info)| info.run_time_ns)
            .sum())
    }

    /// Runs of our programs that the kernel skipped because a program had interrupted itself (`recursion_misses`,
    /// observed on 7.x kernels).
    pub fn skipped(&self) -> Result<u64> {
        Ok(self
            .program_infos()?
            .iter()
            .map(|(_, info)| info.recursion_misses)
            .sum())
    }

    /// The programs in use, with the kernel's information about them.
    fn program_infos(&self) -> Result<Vec<(String, libbpf_sys::bpf_prog_info)>> {
        let programs = libbpf_rs::skel::Skel::object(&self.skeleton).progs();
        let in_use = programs.filter(|program| program.as_fd().as_raw_fd() >= 0);
        in_use
            .map(|program| {
                let mut info = libbpf_sys::bpf_prog_info::default();
                let mut length = size_of::<libbpf_sys::bpf_prog_info>() as u32;
                // SAFETY: the descriptor is a live program's, the buffer has the length that is passed.
                let status = unsafe {
                    libbpf_sys::bpf_obj_get_info_by_fd(
                        program.as_fd().as_raw_fd(),
                        (&raw mut info).cast(),
                        &raw mut length,
                    )
                };
                ensure!(
                    status == 0,
                    "reading the information about a BPF program failed with error {}",
                    -status
                );
                Ok((program.name().to_string_lossy().into_owned(), info))
            })
            .collect()
    }
}
