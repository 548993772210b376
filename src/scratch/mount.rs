pub fn unmount(_path: &std::path::Path, _source: &str) -> anyhow::Result<()> {
    unimplemented!()
}
