pub fn detach(_device: &str, _backing_file: &str) -> anyhow::Result<()> {
    unimplemented!()
}
