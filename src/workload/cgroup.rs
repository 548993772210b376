pub fn end(_path: &std::path::Path) -> anyhow::Result<()> {
    unimplemented!()
}
