use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = iosched::workload::launch::run_if_asked() {
        return code;
    }
    match iosched::guardian::run_if_asked() {
        None | Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(_)) => ExitCode::FAILURE,
    }
}
